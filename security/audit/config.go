package audit

import (
	"errors"
	"fmt"
)

// Config is the section "audit".
type Config struct {
	// Enabled has the log tell of logins, operations and connections that were
	// refused, under the name audit (default true). They are counted in any case.
	Enabled bool `koanf:"enabled"`
	// RatePerSource is how many lines a minute one address may cause, of each kind
	// (default 10; 0 any number).
	RatePerSource int `koanf:"rate_per_source"`
	// Rate is how many lines a minute there may be of each kind (default 120; 0 any
	// number). The next line tells how many were left out.
	Rate int `koanf:"rate"`
}

// DefaultConfig returns the section as it is without being set.
func DefaultConfig() Config { return Config{Enabled: true, RatePerSource: 10, Rate: 120} }

// Validate reports everything that is wrong with the section, a line for each key.
func (c Config) Validate() error {
	var faults []error
	if c.RatePerSource < 0 {
		faults = append(faults, fmt.Errorf("audit.rate_per_source: %d is below 0", c.RatePerSource))
	}
	if c.Rate < 0 {
		faults = append(faults, fmt.Errorf("audit.rate: %d is below 0", c.Rate))
	}
	return errors.Join(faults...)
}
