package topicconfig

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each step was put to a Kafka 4.4 broker, which showed the same values.
func TestApplyToLists(t *testing.T) {
	t.Parallel()
	const (
		set, del   = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
		add, minus = kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
		policy     = "cleanup.policy"
		throttled  = "leader.replication.throttled.replicas"
	)
	c := catalog(t, nil)
	overrides := map[string]string{}
	for i, step := range []struct {
		name   string
		op     kmsg.IncrementalAlterConfigOp
		value  string
		want   string
		source kmsg.ConfigSource
	}{
		{policy, del, "", "delete", 5},
		{policy, minus, "nothing", "delete", 1},
		{policy, del, "ignored", "delete", 5},
		{policy, add, "compact,delete,compact", "delete,compact", 1},
		{policy, minus, "delete,foo", "compact", 1},
		{policy, minus, "compact", "", 1},
		{policy, add, "delete", "delete", 1},
		{policy, set, " compact , delete ", "compact,delete", 1},
		{policy, add, " delete , compact", "compact,delete", 1},
		{policy, set, "delete,delete", "delete", 1},
		{policy, add, "delete", "delete", 1},
		{policy, minus, "delete", "delete", 1},
		{throttled, set, "0:1,0:1", "0:1,0:1", 1},
		{throttled, add, "0:1", "0:1,0:1", 1},
		{throttled, minus, "0:1", "0:1", 1},
		{throttled, minus, "0:1", "", 1},
		{throttled, add, "", "", 1},
		{throttled, add, "0:1", "0:1", 1},
		{"preallocate", set, " TRUE ", "true", 1},
		{"min.cleanable.dirty.ratio", set, "0.50f", "0.5", 1},
		{"min.cleanable.dirty.ratio", set, "1", "1.0", 1},
		{"retention.ms", set, "+7", "7", 1},
		{"retention.ms", del, "+7", "604800000", 5},
		{"no.such.key", del, "", "", 0},
	} {
		before := maps.Clone(overrides)
		after, err := c.Apply(overrides, []Change{{Name: step.name, Op: step.op, Value: step.value}})
		require.NoError(t, err, i)
		require.Equal(t, before, overrides, "Apply must not change its argument")
		overrides = after
		for _, e := range c.Entries(overrides) {
			if e.Name == step.name {
				require.Equal(t, step.want, e.Value, i)
				require.Equal(t, step.source, e.Source, i)
			}
		}
	}
}

// Long lists are changed in linear time.
func TestApplyToLongLists(t *testing.T) {
	t.Parallel()
	const throttled = "follower.replication.throttled.replicas"
	var a, b strings.Builder
	for i := range 2000 { // as long as a value may be
		fmt.Fprintf(&a, "%d:1,", i)
		fmt.Fprintf(&b, "%d:2,", i)
	}
	present := map[string]string{throttled: strings.TrimSuffix(a.String(), ",")}
	more := strings.TrimSuffix(b.String(), ",")
	c := catalog(t, nil)
	longer, err := c.Apply(present, []Change{{throttled, kmsg.IncrementalAlterConfigOpAppend, more}})
	require.NoError(t, err)
	require.Equal(t, present[throttled]+","+more, longer[throttled])
	again, err := c.Apply(longer, []Change{{throttled, kmsg.IncrementalAlterConfigOpSubtract, more}})
	require.NoError(t, err)
	require.Equal(t, present, again)
	_, err = c.Apply(longer, []Change{{throttled, kmsg.IncrementalAlterConfigOpAppend, strings.Replace(b.String(), ":2,", ":3,", -1) + "0:4"}})
	require.ErrorIs(t, err, errTooLong)
}

// One fault refuses all changes.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	for want, changes := range map[string][]Change{
		"Can't APPEND to key retention.ms because its type is not LIST.": {{"retention.ms", kmsg.IncrementalAlterConfigOpAppend, "9"}},
		"Can't SUBTRACT to key zz because its type is not LIST.":         {{"zz", kmsg.IncrementalAlterConfigOpSubtract, "9"}},
		"Invalid value bogus for configuration cleanup.policy: String must be one of: compact, delete": {
			{"retention.ms", kmsg.IncrementalAlterConfigOpSet, "9"}, {"cleanup.policy", kmsg.IncrementalAlterConfigOpAppend, "bogus"}},
		"Unknown topic config name: zz": {{"zz", kmsg.IncrementalAlterConfigOpSet, "9"}},
	} {
		after, err := c.Apply(map[string]string{"segment.ms": "9"}, changes)
		require.EqualError(t, err, want)
		require.IsType(t, Error(""), err)
		require.Nil(t, after)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	c := catalog(t, map[string]string{MaxMessageBytes: "77", "retention.ms": "88"})
	find := func(overrides map[string]string, name string) Entry {
		for _, e := range c.Entries(overrides) {
			if e.Name == name {
				e.Documentation = ""
				return e
			}
		}
		t.Fatalf("no entry %s", name)
		return Entry{}
	}
	const topic, gateway, kafka = kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigSourceDefaultConfig

	require.Equal(t, Entry{Name: MaxMessageBytes, Value: "77", Type: int32s, Source: gateway, Synonyms: []Synonym{
		{"message.max.bytes", "77", gateway}, {"message.max.bytes", "1048588", kafka}}}, find(nil, MaxMessageBytes))
	require.Equal(t, Entry{Name: MaxMessageBytes, Value: "5", Type: int32s, Source: topic, Synonyms: []Synonym{
		{MaxMessageBytes, "5", topic}, {"message.max.bytes", "77", gateway}, {"message.max.bytes", "1048588", kafka}}},
		find(map[string]string{MaxMessageBytes: "5"}, MaxMessageBytes))
	require.Equal(t, Entry{Name: "retention.ms", Value: "88", Type: int64s, Source: gateway, Synonyms: []Synonym{
		{"log.retention.ms", "88", gateway}}}, find(nil, "retention.ms"))
	require.Equal(t, Entry{Name: "segment.ms", Value: "604800000", Type: int64s, Source: kafka}, find(nil, "segment.ms"))
	require.Equal(t, Entry{Name: "preallocate", Value: "false", Type: boolean, Source: kafka, Synonyms: []Synonym{
		{"log.preallocate", "false", kafka}}}, find(map[string]string{"nope": "1"}, "preallocate"))
	require.Len(t, c.Entries(nil), len(c.Definitions()))
	require.Equal(t, "x", find(map[string]string{"retention.ms": "x"}, "retention.ms").Value)
}
