package iggy

import (
	"maps"
	"math"
	"strconv"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// The topic configs that Iggy itself holds.
const (
	retentionMs    = "retention.ms"
	retentionBytes = "retention.bytes"
	cleanupPolicy  = "cleanup.policy"
)

const (
	// unlimited is the max_topic_size of a topic that may grow without end. 0 is
	// never sent: it stands for the server's default and, in an update, for a topic
	// that keeps nothing.
	unlimited = math.MaxUint64
	// largestSize is the largest max_topic_size that is sent: Iggy 0.8.0 multiplies
	// it by nine, in 64 bits, and would begin to delete.
	largestSize = 1 << 60
	// longestExpiry is the longest expiry that is sent, in ms: Iggy adds it to times
	// in µs, in 64 bits.
	longestExpiry = math.MaxInt64 / 1000
)

// settings are the two settings of a topic in Iggy that Kafka clients can change.
type settings struct {
	expiry iggcon.Duration // µs; iggcon.IggyExpiryNeverExpire
	size   uint64          // bytes, of all partitions together; unlimited
}

// settingsOf translates the effective config of a topic. Without "delete" in its
// cleanup.policy nothing is deleted.
func settingsOf(c topicconfig.Config, partitions int32) settings {
	s := settings{iggcon.IggyExpiryNeverExpire, unlimited}
	if !c.Delete {
		return s
	}
	if ms := c.RetentionMs; ms >= 0 && ms <= longestExpiry {
		s.expiry = max(iggcon.Duration(ms)*iggcon.Millisecond, iggcon.Microsecond)
	}
	n := max(int64(partitions), 1)
	if bytes := c.RetentionBytes; bytes >= 0 && bytes <= largestSize/n {
		s.size = max(uint64(bytes)*uint64(n), 1)
	}
	return s
}

// refuseCompaction returns the refusal of a topic that is to be compacted: the records
// of an Iggy topic cannot be rewritten or removed one by one, so that such a topic
// would grow for ever, and clients that read it whole would take ever longer. present
// are the overrides that the topic has: what an earlier release accepted stays, and
// does not stand in the way of other changes.
func refuseCompaction(configs Resolver, present, wanted map[string]string) error {
	if !configs.Resolve(wanted).Compact || configs.Resolve(present).Compact && present[cleanupPolicy] == wanted[cleanupPolicy] {
		return nil
	}
	return &backend.ConfigError{Name: cleanupPolicy, Reason: "the Iggy server cannot compact a topic; set it to delete, or keep such topics in a gateway with storage.backend: embedded"}
}

// shownOverrides returns the overrides of a topic as clients see them: those that
// the gateway keeps, but retention as Iggy has it, also when that was changed with
// Iggy's own tools or the topic was made with them.
func shownOverrides(configs Resolver, kept map[string]string, partitions int32, has settings) map[string]string {
	want := settingsOf(configs.Resolve(kept), partitions)
	shown := maps.Clone(kept)
	if shown == nil {
		shown = map[string]string{}
	}
	if want.same(has) {
		return shown
	}
	config := configs.Resolve(kept)
	if !config.Delete {
		// It does delete.
		shown[cleanupPolicy] = "delete"
		if config.Compact {
			shown[cleanupPolicy] = "compact,delete"
		}
	}
	if !want.sameExpiry(has) || !config.Delete {
		override(configs, shown, retentionMs, has.ms(), func(c topicconfig.Config) int64 { return c.RetentionMs })
	}
	if want.size != has.size || !config.Delete {
		override(configs, shown, retentionBytes, has.bytes(partitions), func(c topicconfig.Config) int64 { return c.RetentionBytes })
	}
	return shown
}

// override sets a config, or takes it out when its effective value is that anyway.
func override(configs Resolver, shown map[string]string, name string, value int64, effective func(topicconfig.Config) int64) {
	delete(shown, name)
	if effective(configs.Resolve(shown)) != value {
		shown[name] = strconv.FormatInt(value, 10)
	}
}

func (s settings) same(other settings) bool { return s.sameExpiry(other) && s.size == other.size }

// sameExpiry knows the two ways of Iggy to say that nothing expires: after a
// restart a topic that was made with the server's default has 0.
func (s settings) sameExpiry(other settings) bool {
	return s.expiry == other.expiry || s.ms() == -1 && other.ms() == -1
}

// ms is retention.ms; a part of a ms counts as one, except that 1 µs is what
// stands for 0.
func (s settings) ms() int64 {
	switch {
	case s.expiry == iggcon.IggyExpiryServerDefault, s.expiry > longestExpiry*iggcon.Millisecond:
		return -1
	case s.expiry == iggcon.Microsecond:
		return 0
	}
	return int64((s.expiry + iggcon.Millisecond - 1) / iggcon.Millisecond)
}

// bytes is retention.bytes.
func (s settings) bytes(partitions int32) int64 {
	if s.size > math.MaxInt64 {
		return -1
	}
	return int64(s.size) / max(int64(partitions), 1)
}
