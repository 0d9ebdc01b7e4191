package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
}

// All faults come at once, each with the name of its key.
func TestValidate(t *testing.T) {
	t.Parallel()
	err := Config{Listen: "9092", Advertise: "0.0.0.0:9092", ShutdownDrain: -1, BudgetWait: -1}.Validate()
	require.EqualError(t, err, `listen: "9092" is not host:port
advertise: "0.0.0.0:9092" is no address that a client can connect to
max_frame_size: 0 is outside 1024 to 2147483647 bytes
max_connections: 0 is not positive
first_request_timeout: 0s is not positive
idle_timeout: 0s is not positive
read_timeout: 0s is not positive
write_timeout: 0s is not positive
shutdown_drain: -1ns is negative
budget_wait: -1ns is negative
request_memory: 0 is not positive`)
}

func TestValidateOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Config)
		want   string // "" = valid
	}{
		{func(c *Config) { c.Listen = "0.0.0.0:9092" }, `listen: "0.0.0.0:9092" names no single address that clients could be told; set advertise to the host:port they reach`},
		{func(c *Config) { c.Listen = "[::]:9092" }, `listen: "[::]:9092" names no single address that clients could be told; set advertise to the host:port they reach`},
		{func(c *Config) { c.Listen = ":9092" }, `listen: ":9092" names no single address that clients could be told; set advertise to the host:port they reach`},
		{func(c *Config) { c.Listen, c.Advertise = ":9092", "kafka:9092" }, ""},
		{func(c *Config) { c.Listen = "localhost:0" }, ""},
		{func(c *Config) { c.Listen = "[::1]:9092" }, ""},
		{func(c *Config) { c.Listen = "localhost:65536" }, `listen: "localhost:65536": the port is not a number from 0 to 65535`},
		{func(c *Config) { c.Listen = "localhost:kafka" }, `listen: "localhost:kafka": the port is not a number from 0 to 65535`},
		{func(c *Config) { c.Advertise = "kafka:0" }, `advertise: "kafka:0": the port is not a number from 1 to 65535`},
		{func(c *Config) { c.Advertise = ":9092" }, `advertise: ":9092" is no address that a client can connect to`},
		{func(c *Config) { c.Advertise = "[::]" }, `advertise: "[::]" is no address that a client can connect to`},
		{func(c *Config) { c.Advertise = "http://kafka:9092" }, `advertise: "http://kafka:9092" is not a host or host:port`},
		{func(c *Config) { c.Advertise = "a:9092,b:9092" }, `advertise: "a:9092,b:9092" is not a host or host:port`},
		{func(c *Config) { c.MaxFrameSize = 1 << 31; c.MemoryBudget = 1 << 40 }, "max_frame_size: 2147483648 is outside 1024 to 2147483647 bytes"},
		{func(c *Config) { c.MemoryBudget = 164 << 20 }, ""},
		{func(c *Config) { c.MemoryBudget = 164<<20 - 1 }, "memory_budget: 171966463 is below max_frame_size + request_memory, 171966464, so that one legal request could never be served"},
		{func(c *Config) { c.ShutdownDrain, c.BudgetWait = 0, 0 }, ""},
		{func(c *Config) { c.IdleTimeout = -time.Second }, "idle_timeout: -1s is not positive"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}
