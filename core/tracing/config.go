package tracing

import (
	"errors"
	"fmt"
	"net/url"
)

// Config is the section "tracing".
type Config struct {
	// Endpoint is the URL of an OpenTelemetry collector that takes OTLP over
	// HTTP, such as http://127.0.0.1:4318 (default "": nothing is traced). A URL
	// without a path gets /v1/traces.
	Endpoint string `koanf:"endpoint"`
	// SampleRatio is the share of requests that are traced, from 0 to 1 (default
	// 0.01: one in a hundred).
	SampleRatio float64 `koanf:"sample_ratio"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{SampleRatio: 0.01} }

// Validate returns all faults of the configuration as one error, each with the
// name of its key; nil when there is none.
func (c Config) Validate() error {
	var errs []error
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		const remedy = "write http://host:port or https://host:port"
		switch {
		case err != nil || u.Opaque != "": // which may hold a password
			errs = append(errs, fmt.Errorf("tracing.endpoint: is not a URL; %s", remedy))
		case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			errs = append(errs, fmt.Errorf("tracing.endpoint: %q is not a URL of HTTP; %s", u.Redacted(), remedy))
		}
	}
	if !(c.SampleRatio >= 0 && c.SampleRatio <= 1) { // so that NaN is none
		errs = append(errs, fmt.Errorf("tracing.sample_ratio: %v is not from 0 to 1", c.SampleRatio))
	}
	return errors.Join(errs...)
}
