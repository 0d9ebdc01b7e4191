package iggy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// Config is the section "iggy" of the configuration file.
type Config struct {
	client.Config `koanf:",squash"`
	// Stream is the Iggy stream whose topics Kafka clients see; it is made when
	// missing (default kafka).
	Stream string `koanf:"stream"`
	// InternalStream is the Iggy stream in which the gateway keeps committed
	// offsets, topic configs and ids. One gateway owns it at a time (default
	// kafka-gateway).
	InternalStream string `koanf:"internal_stream"`
	// TopicMap points Kafka topic names at topics of any stream, as
	// name=stream/topic, separated by commas (default "": every topic is in iggy.stream).
	TopicMap string `koanf:"topic_map"`
	// SoleWriter says that nothing but this gateway writes to the topics: the
	// check of every base offset and the look for records of native Iggy
	// clients are left out (default false).
	SoleWriter bool `koanf:"sole_writer"`
	// SendBytes is about how much is sent to a partition in one request; what
	// waits beyond it goes in the next (default 4MiB).
	SendBytes int64 `koanf:"send_bytes"`
	// CacheBytes is the memory for recently produced batches, from which
	// consumers at the end of a log are served (default 64MiB; 0: none is kept).
	CacheBytes int64 `koanf:"cache_bytes"`
	// FetchCompression compresses batches that are made from stored messages:
	// none, gzip, snappy, lz4 or zstd (default none).
	FetchCompression string `koanf:"fetch_compression"`
	// PollInterval is the longest time between two looks for records of native
	// Iggy clients in a partition that consumers wait for (default 100ms).
	PollInterval time.Duration `koanf:"poll_interval"`
	// AcceptTruncation serves partitions whose log ends before what the gateway
	// has seen of it, as after a server that lost acknowledged records, and starts
	// over an internal stream that has lost some; otherwise such partitions refuse
	// everything, and the start fails (default false).
	AcceptTruncation bool `koanf:"accept_truncation"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Config: client.DefaultConfig(), Stream: "kafka", InternalStream: "kafka-gateway",
		SendBytes: 4 << 20, CacheBytes: 64 << 20, FetchCompression: "none", PollInterval: 100 * time.Millisecond,
	}
}

// What a configuration may say, at most and at least.
const (
	// minSendBytes is what even the smallest send should carry.
	minSendBytes = 1 << 10
	maxName      = 255 // bytes in the name of a stream or topic in Iggy
)

// compressions are the values of fetch_compression.
var compressions = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Validate reports all faults, one a line, each with the key's full name.
func (c Config) Validate() error {
	var faults []error
	fault := func(ok bool, key, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("iggy.%s: %s", key, fmt.Sprintf(format, args...)))
		}
	}
	if err := c.Config.Validate(); err != nil {
		faults = append(faults, err)
	}
	fault(c.PollInterval >= time.Millisecond, "poll_interval", "%v is too short; set at least 1ms", c.PollInterval)
	fault(c.SendBytes >= minSendBytes, "send_bytes", "%d is too small; set at least %d", c.SendBytes, minSendBytes)
	fault(c.CacheBytes >= 0, "cache_bytes", "%d is negative; 0 keeps nothing", c.CacheBytes)
	fault(slices.Contains(compressions, c.FetchCompression), "fetch_compression", "%q is none of %s", c.FetchCompression, strings.Join(compressions, ", "))
	streamNames(c, fault)
	if _, err := newNames(c); err != nil {
		for line := range strings.Lines(err.Error()) {
			fault(false, "topic_map", "%s", strings.TrimSpace(line))
		}
	}
	return errors.Join(faults...)
}

// streamNames checks the names of both streams.
func streamNames(c Config, fault func(ok bool, key, format string, args ...any)) {
	for _, of := range []struct{ key, name string }{{"stream", c.Stream}, {"internal_stream", c.InternalStream}} {
		fault(of.name != "" && len(of.name) <= maxName, of.key, "%q is not the name of a stream; it has 1 to %d bytes", of.name, maxName)
	}
	fault(c.Stream != c.InternalStream, "internal_stream", "%q is iggy.stream too; clients would see what the gateway keeps for itself", c.InternalStream)
}
