package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config holds the keys of the configuration file's top level that concern
// connections and requests. No zero means "without limit": every limit holds
// against hostile clients, so those that are zero are refused, except where
// said.
type Config struct {
	// Listen is the address to listen on, host:port (default 127.0.0.1:9092).
	// Port 0 picks a free one. It and the three keys that follow are the listener
	// named "default"; with "" there are only those of the section listeners.
	Listen string `koanf:"listen"`
	// Advertise is the address that clients are told to connect to, host or
	// host:port (default "": the address that listen got). It is needed when
	// listen names no single address, as 0.0.0.0:9092 does.
	Advertise string `koanf:"advertise"`
	// Protocol says how connections are secured: PLAINTEXT, SSL, SASL_PLAINTEXT or
	// SASL_SSL (default PLAINTEXT).
	Protocol string `koanf:"protocol"`
	// Mechanisms lists the ways to log in by SASL, of those in sasl.mechanisms
	// (default "": all of them).
	Mechanisms []string `koanf:"mechanisms"`
	// MaxFrameSize is the largest request and the largest answer, in bytes
	// (default 104857600). A client that sends more is disconnected.
	MaxFrameSize int `koanf:"max_frame_size"`
	// MaxConnections is the number of connections served at once, on all listeners
	// (default 10000). One more takes the place of the oldest that has made no
	// request for 5 s, or is closed as soon as it is made.
	MaxConnections int `koanf:"max_connections"`
	// MaxConnectionsPerAddress is the number of connections that one address may
	// have at once, an IPv6 network of 64 bits counting as one address (default 0:
	// any). One more is closed as soon as it is made.
	MaxConnectionsPerAddress int `koanf:"max_connections_per_address"`
	// ConnectionRate is the number of connections a second that are taken, on all
	// listeners, after as many at once (default 0: any). The others wait. Those of
	// one address are bounded by quotas.connection_creation_rate.
	ConnectionRate float64 `koanf:"connection_rate"`
	// FirstRequestTimeout closes a connection that has not sent a complete
	// request this long after it was made, or, where it has to, not agreed on TLS
	// and logged in (default 30s).
	FirstRequestTimeout time.Duration `koanf:"first_request_timeout"`
	// IdleTimeout closes a connection that has no request in work and has begun
	// none for this long (default 10m).
	IdleTimeout time.Duration `koanf:"idle_timeout"`
	// ReadTimeout closes a connection whose request does not arrive within this
	// time of its first byte, plus 1s for each MiB of its length (default 15s).
	ReadTimeout time.Duration `koanf:"read_timeout"`
	// WriteTimeout closes a connection that does not take an answer within this
	// time, plus 1s for each MiB of its length (default 10s).
	WriteTimeout time.Duration `koanf:"write_timeout"`
	// ShutdownDrain is how long requests in work may go on when the gateway
	// stops (default 25s). Zero abandons them at once.
	ShutdownDrain time.Duration `koanf:"shutdown_drain"`
	// MemoryBudget is what all requests in work hold together of large frames,
	// decoded bodies and priced answers, in bytes (default 536870912). The first
	// 64 KiB of a request are not counted. An eighth of it, or what the largest
	// request and the largest answer leave, is for requests that are read while
	// the ones before them are in work.
	MemoryBudget int64 `koanf:"memory_budget"`
	// BudgetWait is how long a request waits for its share of a spent budget
	// before its connection is closed (default 5s). Zero does not wait.
	BudgetWait time.Duration `koanf:"budget_wait"`
	// RequestMemory is what the body of one request may decode to, in bytes
	// (default 67108864). A body that decodes to more is a bad request.
	RequestMemory int64 `koanf:"request_memory"`
	// Listeners are further listeners, each a section with a name of its own.
	Listeners map[string]ListenerConfig `koanf:"listeners"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Listen:              "127.0.0.1:9092",
		Protocol:            Plaintext,
		MaxFrameSize:        100 << 20,
		MaxConnections:      10_000,
		FirstRequestTimeout: 30 * time.Second,
		IdleTimeout:         10 * time.Minute,
		ReadTimeout:         15 * time.Second,
		WriteTimeout:        10 * time.Second,
		ShutdownDrain:       25 * time.Second,
		MemoryBudget:        512 << 20,
		BudgetWait:          5 * time.Second,
		RequestMemory:       64 << 20,
	}
}

// minFrameSize is the smallest max_frame_size: room for the answers without
// which no client gets started.
const minFrameSize = 1 << 10

// Validate returns all faults of the configuration as one error, each with the
// name of its key; nil when there is none.
func (c Config) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	c.checkListeners(fault)
	if c.MaxFrameSize < minFrameSize || int64(c.MaxFrameSize) > math.MaxInt32 {
		fault("max_frame_size: %d is outside %d to %d bytes", c.MaxFrameSize, minFrameSize, math.MaxInt32)
	}
	if c.MaxConnections < 1 {
		fault("max_connections: %d is not positive", c.MaxConnections)
	}
	if c.MaxConnectionsPerAddress < 0 {
		fault("max_connections_per_address: %d is negative", c.MaxConnectionsPerAddress)
	}
	checkRate(fault, "connection_rate", c.ConnectionRate)
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"first_request_timeout", c.FirstRequestTimeout}, {"idle_timeout", c.IdleTimeout},
		{"read_timeout", c.ReadTimeout}, {"write_timeout", c.WriteTimeout},
	} {
		if d.value <= 0 {
			fault("%s: %v is not positive", d.key, d.value)
		}
	}
	if c.ShutdownDrain < 0 {
		fault("shutdown_drain: %v is negative", c.ShutdownDrain)
	}
	if c.BudgetWait < 0 {
		fault("budget_wait: %v is negative", c.BudgetWait)
	}
	if c.RequestMemory < 1 {
		fault("request_memory: %d is not positive", c.RequestMemory)
	}
	if least := int64(c.MaxFrameSize) + c.RequestMemory; c.MemoryBudget < least {
		fault("memory_budget: %d is below max_frame_size + request_memory, %d, so that one legal request could never be served",
			c.MemoryBudget, least)
	}
	return errors.Join(errs...)
}

// maxHostName is the longest name that DNS has, in bytes.
const maxHostName = 253

// splitAddress parses host:port with a port of at least min.
func splitAddress(s string, min int) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port", s)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < min || port > math.MaxUint16 {
		return "", 0, fmt.Errorf("%q: the port is not a number from %d to %d", s, min, math.MaxUint16)
	}
	return host, port, nil
}

// parseAdvertise parses host or host:port; the port is 0 when there is none.
func parseAdvertise(s string) (host string, port int, err error) {
	host = s
	if _, _, err := net.SplitHostPort(s); err == nil {
		if host, port, err = splitAddress(s, 1); err != nil {
			return "", 0, err
		}
	} else if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		host = s[1 : len(s)-1]
	}
	if wildcard(host) {
		return "", 0, fmt.Errorf("%q is no address that a client can connect to", s)
	}
	address, _, _ := strings.Cut(host, "%") // without the zone of an IPv6 address
	if strings.ContainsAny(host, "/ []") || len(host) > maxHostName || strings.Contains(host, ":") && net.ParseIP(address) == nil {
		return "", 0, fmt.Errorf("%q is not a host or host:port", s)
	}
	return host, port, nil
}

// wildcard reports whether a host stands for all addresses of the machine.
func wildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}
