// Package topicconfig holds the topic configs of Kafka 4.4: names, types,
// ranges and defaults, and the effective values of those that the gateway acts
// on.
package topicconfig

// Config holds the effective values of the topic configs that take effect.
type Config struct {
	Delete               bool  // cleanup.policy holds "delete": retention applies
	Compact              bool  // cleanup.policy holds "compact": keys are required
	RetentionMs          int64 // retention.ms; −1 = without limit
	RetentionBytes       int64 // retention.bytes, a partition; −1 = without limit
	MaxMessageBytes      int32 // max.message.bytes, of a batch
	MaxDecompressedBytes int32 // max.decompressed.message.bytes, of a record
	LogAppendTime        bool  // message.timestamp.type is LogAppendTime
	TimestampAfterMaxMs  int64 // message.timestamp.after.max.ms
	TimestampBeforeMaxMs int64 // message.timestamp.before.max.ms
	SegmentBytes         int64 // segment.bytes
	SegmentMs            int64 // segment.ms
	DeleteRetentionMs    int64 // delete.retention.ms
	MinCompactionLagMs   int64 // min.compaction.lag.ms
	MaxCompactionLagMs   int64 // max.compaction.lag.ms
	// MinCleanableRatio is min.cleanable.dirty.ratio.
	MinCleanableRatio float64
}
