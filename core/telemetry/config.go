package telemetry

import (
	"strings"
	"time"
)

// Config is the section "telemetry".
type Config struct {
	// Metrics lists the metrics that clients are asked for, by the beginnings of
	// their names, separated by commas, such as org.apache.kafka.consumer. (default
	// "": none, so that clients push nothing; *: all).
	Metrics string `koanf:"metrics"`
	// PushInterval is how often a client pushes, from 100ms on (default 5m).
	PushInterval time.Duration `koanf:"push_interval"`
	// MaxBytes is the largest push, compressed as it is, in bytes (default
	// 1048576). Decompressed it may have eight times as many.
	MaxBytes int32 `koanf:"max_bytes"`
	// MaxClients is how many clients are remembered (default 1000). For one more,
	// that which was not heard of for longest is forgotten, with its series.
	MaxClients int `koanf:"max_clients"`
	// MaxClientSeries is how many series one client may have (default 200).
	MaxClientSeries int `koanf:"max_client_series"`
	// MaxSeries is how many series all clients may have (default 10000).
	MaxSeries int `koanf:"max_series"`
}

// DefaultConfig returns the configuration that asks for no metrics.
func DefaultConfig() Config {
	return Config{PushInterval: 5 * time.Minute, MaxBytes: 1 << 20, MaxClients: 1000, MaxClientSeries: 200, MaxSeries: 10_000}
}

// prefixes returns the beginnings of names that are asked for: none for no
// metrics, a single "" for all.
func (c Config) prefixes() []string {
	var found []string
	for name := range strings.SplitSeq(c.Metrics, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "*":
			return []string{""}
		default:
			found = append(found, name)
		}
	}
	return found
}
