package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// Config is the section "tracing".
type Config struct {
	// Endpoint is the URL of an OpenTelemetry collector that takes OTLP over
	// HTTP, such as http://127.0.0.1:4318 (default "": nothing is traced). A URL
	// without a path gets /v1/traces.
	Endpoint string `koanf:"endpoint"`
	// SampleRatio is the share of requests that are traced, from 0 to 1 (default
	// "0.01": one in a hundred).
	SampleRatio string `koanf:"sample_ratio"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{SampleRatio: "0.01"} }

// Validate returns all faults of the configuration as one error, each with the
// name of its key; nil when there is none.
func (c Config) Validate() error {
	var errs []error
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, fmt.Errorf("tracing.endpoint: %q is not a URL; write http://host:port or https://host:port", c.Endpoint))
		}
	}
	if _, err := c.ratio(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ratio returns SampleRatio as a number.
func (c Config) ratio() (float64, error) {
	ratio, err := strconv.ParseFloat(c.SampleRatio, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) { // so that NaN is none
		return 0, fmt.Errorf("tracing.sample_ratio: %q is not a number from 0 to 1", c.SampleRatio)
	}
	return ratio, nil
}
