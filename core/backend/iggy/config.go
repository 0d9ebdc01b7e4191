package iggy

import (
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
	// consumers at the end of a log are served (default 64MiB).
	CacheBytes int64 `koanf:"cache_bytes"`
	// FetchCompression compresses batches that are made from stored messages:
	// none, gzip, snappy, lz4 or zstd (default none).
	FetchCompression string `koanf:"fetch_compression"`
	// PollInterval is the longest time between two looks for records of native
	// Iggy clients in a partition that consumers wait for (default 100ms).
	PollInterval time.Duration `koanf:"poll_interval"`
	// AcceptTruncation serves partitions whose log ends before what the gateway
	// has seen of it, as after a server that lost acknowledged records; otherwise
	// they refuse everything (default false).
	AcceptTruncation bool `koanf:"accept_truncation"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Config: client.DefaultConfig(), Stream: "kafka", InternalStream: "kafka-gateway",
		SendBytes: 4 << 20, CacheBytes: 64 << 20, FetchCompression: "none", PollInterval: 100 * time.Millisecond,
	}
}
