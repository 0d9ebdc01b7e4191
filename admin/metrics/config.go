package metrics

import "time"

// Config is the section "metrics": bounds for what /metrics of the admin
// listener shows.
type Config struct {
	// LagSeriesMax is the most series of consumer lag, one for each partition
	// that a group has committed offsets of (default 10000). Groups beyond it, by
	// name, are left out and counted. Zero shows no lag.
	LagSeriesMax int `koanf:"lag_series_max"`
	// LagInterval is how old the lag in a scrape may be, so that frequent scrapes
	// cost the store nothing (default 10s).
	LagInterval time.Duration `koanf:"lag_interval"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{LagSeriesMax: 10_000, LagInterval: 10 * time.Second} }
