package topicconfig

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Definition is one topic config of Kafka 4.4.
type Definition struct {
	Name string
	// Type is the type as DescribeConfigs v3+ writes it (KIP-569).
	Type kmsg.ConfigType
	// Default is the value of a topic that does not set the config: Kafka's
	// default, or the gateway's own when Set.
	Default string
	// KafkaDefault is the default of Kafka 4.4.
	KafkaDefault string
	// Set says that the gateway's configuration gives the default.
	Set bool
	// Broker is the broker config that gives the default, "" when none does.
	Broker string
	// BrokerDefault says that the broker config itself has a default, which
	// DescribeConfigs lists among the synonyms (KIP-226). log.retention.ms, for
	// one, has none: log.retention.hours stands in for it.
	BrokerDefault bool
	// Effective says that the gateway acts on the value. The others are kept
	// and shown.
	Effective bool
	// Documentation is one sentence.
	Documentation string

	check check
}

// The types, named as Kafka's documentation names them.
const (
	boolean = kmsg.ConfigTypeBoolean
	text    = kmsg.ConfigTypeString
	int32s  = kmsg.ConfigTypeInt
	int64s  = kmsg.ConfigTypeLong
	double  = kmsg.ConfigTypeDouble
	list    = kmsg.ConfigTypeList
)

const forever = "9223372036854775807"

// shownOnly ends the documentation of what does not take effect.
const shownOnly = " Kept and shown; the gateway does not act on it."

// kafka44 returns the topic configs of Kafka 4.4, sorted by name.
func kafka44() []Definition {
	defs := []Definition{
		define(cleanupPolicy, list, "delete", subsetOf("compact", "delete"), "log.cleanup.policy").
			effective("What removes old records: delete, by retention.ms and retention.bytes; compact, by key; both; or, when empty, nothing."),
		define("compression.gzip.level", int32s, "-1", gzipLevel, "compression.gzip.level").
			shown("Compression level for gzip."),
		define("compression.lz4.level", int32s, "9", between(1, 17), "compression.lz4.level").
			shown("Compression level for lz4."),
		define("compression.type", text, "producer", oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), "compression.type").
			shown("Codec of the stored batches; they stay as their producers compressed them."),
		define("compression.zstd.level", int32s, "3", between(-131072, 22), "compression.zstd.level").
			shown("Compression level for zstd."),
		define("delete.retention.ms", int64s, "86400000", atLeast(0), "log.cleaner.delete.retention.ms").
			effective("Time that delete markers of a compacted topic are kept after the compaction that found them, in the embedded store."),
		define("errors.deadletterqueue.group.enable", boolean, "false", nil, "").
			shown("Whether share groups may use the topic for undeliverable records."),
		define("file.delete.delay.ms", int64s, "60000", atLeast(0), "log.segment.delete.delay.ms").
			shown("Time to wait before a file is deleted."),
		define("flush.messages", int64s, forever, atLeast(1), "log.flush.interval.messages").
			shown("Number of records after which data is forced to disk; see storage.sync."),
		define("flush.ms", int64s, forever, atLeast(0), "log.flush.interval.ms").withoutBrokerDefault().
			shown("Time after which data is forced to disk; see storage.sync."),
		define("follower.replication.throttled.replicas", list, "", throttledReplicas, "").
			shown("Replicas whose replication is throttled on the follower."),
		define("index.interval.bytes", int32s, "4096", atLeast(0), "log.index.interval.bytes").
			shown("Bytes between two index entries."),
		define("leader.replication.throttled.replicas", list, "", throttledReplicas, "").
			shown("Replicas whose replication is throttled on the leader."),
		define("local.retention.bytes", int64s, "-2", atLeast(-2), "log.local.retention.bytes").
			shown("Bytes of a tiered partition kept locally."),
		define("local.retention.ms", int64s, "-2", atLeast(-2), "log.local.retention.ms").
			shown("Time that records of a tiered partition are kept locally."),
		define(maxCompactionLag, int64s, forever, atLeast(1), "log.cleaner.max.compaction.lag.ms").
			effective("Longest time that a record may stay uncompacted, in the embedded store; a segment file takes records for no longer."),
		define("max.decompressed.message.bytes", int32s, "2147483639", between(1, 2147483639), "max.decompressed.message.bytes").
			effective("Largest size of one record after decompression."),
		define(MaxMessageBytes, int32s, "1048588", atLeast(0), "message.max.bytes").
			effective("Largest size of a record batch, compressed as it was sent."),
		define("message.timestamp.after.max.ms", int64s, "3600000", atLeast(0), "log.message.timestamp.after.max.ms").
			effective("How far a record's time may lie ahead of the gateway's, on CreateTime topics."),
		define("message.timestamp.before.max.ms", int64s, forever, atLeast(0), "log.message.timestamp.before.max.ms").
			effective("How far a record's time may lie behind the gateway's, on CreateTime topics."),
		define("message.timestamp.type", text, "CreateTime", oneOf("CreateTime", "LogAppendTime"), "log.message.timestamp.type").
			effective("Whether a record keeps its producer's time or gets the time of its arrival."),
		define("min.cleanable.dirty.ratio", double, "0.5", between(0, 1), "log.cleaner.min.cleanable.ratio").
			effective("Share of data not compacted yet above which compaction starts, in the embedded store."),
		define(minCompactionLag, int64s, "0", atLeast(0), "log.cleaner.min.compaction.lag.ms").
			effective("Shortest time that a record stays uncompacted, in the embedded store."),
		define("min.insync.replicas", int32s, "1", atLeast(1), "min.insync.replicas").
			shown("Replicas that acks=all waits for; the gateway has one."),
		define("preallocate", boolean, "false", nil, "log.preallocate").
			shown("Whether segment files are allocated at full size."),
		define("remote.copy.lag.bytes", int64s, "-1", atLeast(-1), "log.remote.copy.lag.bytes").
			shown("Bytes a segment must lie behind the end before it is tiered."),
		define("remote.copy.lag.ms", int64s, "0", atLeast(-1), "log.remote.copy.lag.ms").
			shown("Age a segment must have before it is tiered."),
		define("remote.log.copy.disable", boolean, "false", nil, "").
			shown("Whether tiering of new segments is stopped."),
		define("remote.log.delete.on.disable", boolean, "false", nil, "").
			shown("Whether tiered segments are deleted when tiering is disabled."),
		define("remote.storage.enable", boolean, "false", nil, "").
			shown("Whether the topic is tiered; only false is accepted."),
		define("retention.bytes", int64s, "-1", between(math.MinInt64, math.MaxInt64), "log.retention.bytes").
			effective("Bytes of a partition that are kept; negative means without limit."),
		define("retention.ms", int64s, "604800000", atLeast(-1), "log.retention.ms").withoutBrokerDefault().
			effective("Time that records are kept; -1 means without limit."),
		define("segment.bytes", int32s, "1073741824", atLeast(1024*1024), "log.segment.bytes").
			effective("Size at which a new segment file begins, in the embedded store; retention removes whole segments."),
		define("segment.index.bytes", int32s, "10485760", atLeast(4), "log.index.size.max.bytes").
			shown("Largest size of an index file."),
		define("segment.jitter.ms", int64s, "0", atLeast(0), "log.roll.jitter.ms").withoutBrokerDefault().
			shown("Random time taken off segment.ms."),
		define("segment.ms", int64s, "604800000", atLeast(1), "log.roll.ms").withoutBrokerDefault().
			effective("Age at which a new segment file begins, in the embedded store."),
		define("unclean.leader.election.enable", boolean, "false", nil, "unclean.leader.election.enable").
			shown("Whether replicas behind the leader may become leader; the gateway has one."),
	}
	return defs
}

// The configs that code refers to by name.
const (
	MaxMessageBytes     = "max.message.bytes"
	cleanupPolicy       = "cleanup.policy"
	maxCompactionLag    = "max.compaction.lag.ms"
	minCompactionLag    = "min.compaction.lag.ms"
	remoteStorageEnable = "remote.storage.enable"
)

func define(name string, t kmsg.ConfigType, value string, c check, broker string) Definition {
	return Definition{
		Name: name, Type: t, Default: value, KafkaDefault: value, check: c,
		Broker: broker, BrokerDefault: broker != "",
	}
}

func (d Definition) withoutBrokerDefault() Definition { d.BrokerDefault = false; return d }

func (d Definition) effective(doc string) Definition {
	d.Effective, d.Documentation = true, doc
	return d
}

func (d Definition) shown(doc string) Definition {
	d.Documentation = doc + shownOnly
	return d
}
