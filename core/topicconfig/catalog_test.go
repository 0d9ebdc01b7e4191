package topicconfig

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func catalog(t testing.TB, defaults map[string]string) *Catalog {
	t.Helper()
	c, err := NewCatalog(defaults)
	require.NoError(t, err)
	return c
}

// lines returns the lines of a golden file that are not comments.
func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return slices.DeleteFunc(all, func(l string) bool { return strings.HasPrefix(l, "#") })
}

// The list is the one that a Kafka 4.4 broker describes, in the same words.
func TestDefinitionsAreKafkas(t *testing.T) {
	t.Parallel()
	var got []string
	defs := catalog(t, nil).Definitions()
	for _, d := range defs {
		line := fmt.Sprintf("%s %d %s %s", d.Name, d.Type, orDash(d.Default), orDash(d.Broker))
		if d.BrokerDefault {
			line += " *"
		}
		got = append(got, line)
		require.NotEmpty(t, d.Documentation, d.Name)
		require.False(t, d.Set, d.Name)
	}
	require.Equal(t, lines(t, "testdata/kafka-4.4.txt"), got)
	require.True(t, slices.IsSortedFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) }))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Each value is judged as a Kafka 4.4 broker judges it, with its message.
func TestValuesAreKafkas(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	for _, line := range lines(t, "testdata/values.txt") {
		name, rest, _ := strings.Cut(line, " ")
		quoted, err := strconv.QuotedPrefix(rest)
		require.NoError(t, err, line)
		value, err := strconv.Unquote(quoted)
		require.NoError(t, err, line)
		want := strings.TrimPrefix(rest, quoted+" ")
		got := "ok"
		if err := c.ValidateAll(map[string]string{name: value}); err != nil {
			require.IsType(t, Error(""), err)
			got = err.Error()
		}
		require.Equal(t, want, got, line)
	}
}

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	for _, d := range c.Definitions() {
		require.NoError(t, c.Validate(d.Name, d.Default), d.Name)
	}
}

func TestDefaultsOfTheGateway(t *testing.T) {
	t.Parallel()
	c := catalog(t, map[string]string{MaxMessageBytes: "2000000"})
	d, ok := c.Lookup(MaxMessageBytes)
	require.True(t, ok)
	require.Equal(t, "2000000", d.Default)
	require.Equal(t, "1048588", d.KafkaDefault)
	require.True(t, d.Set)
	require.EqualValues(t, 2000000, c.Resolve(nil).MaxMessageBytes)
	require.EqualValues(t, 5, c.Resolve(map[string]string{MaxMessageBytes: "5"}).MaxMessageBytes)
	// One catalog does not change the next.
	require.EqualValues(t, 1048588, catalog(t, nil).Resolve(nil).MaxMessageBytes)
}

// Every fault is reported, in the order of the names.
func TestDefaultsRefused(t *testing.T) {
	t.Parallel()
	_, err := NewCatalog(map[string]string{"retention.ms": "x", "nope": "1", MaxMessageBytes: "7"})
	require.EqualError(t, err, "defaults of topic configs: Unknown topic config name: nope\n"+
		"Invalid value x for configuration retention.ms: Not a number of type LONG")
	_, ok := catalog(t, nil).Lookup("nope")
	require.False(t, ok)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	plain := Config{
		Delete: true, RetentionMs: 604800000, RetentionBytes: -1, MaxMessageBytes: 1048588,
		MaxDecompressedBytes: 2147483639, TimestampAfterMaxMs: 3600000,
		TimestampBeforeMaxMs: 1<<63 - 1, SegmentBytes: 1 << 30, SegmentMs: 604800000,
		DeleteRetentionMs: 86400000, MaxCompactionLagMs: 1<<63 - 1, MinCleanableRatio: 0.5,
	}
	require.Equal(t, plain, c.Resolve(nil))
	require.Equal(t, plain, c.Resolve(map[string]string{}))

	all := plain
	all.Delete, all.Compact, all.LogAppendTime = false, true, true
	all.RetentionMs, all.RetentionBytes, all.MaxMessageBytes, all.MaxDecompressedBytes = -1, 7, 8, 9
	all.TimestampAfterMaxMs, all.TimestampBeforeMaxMs, all.SegmentBytes, all.SegmentMs = 1, 2, 1048576, 3
	all.DeleteRetentionMs, all.MinCompactionLagMs, all.MaxCompactionLagMs, all.MinCleanableRatio = 4, 5, 6, 0.25
	require.Equal(t, all, c.Resolve(map[string]string{
		"cleanup.policy": " compact ", "message.timestamp.type": "LogAppendTime", "retention.ms": " -1",
		"retention.bytes": "7", "max.message.bytes": "+8", "max.decompressed.message.bytes": "9",
		"message.timestamp.after.max.ms": "1", "message.timestamp.before.max.ms": "2",
		"segment.bytes": "1048576", "segment.ms": "3", "delete.retention.ms": "4",
		"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "6", "min.cleanable.dirty.ratio": "0.25",
	}))
	require.EqualValues(t, -1, c.Resolve(map[string]string{"retention.bytes": "-77"}).RetentionBytes)
	require.Equal(t, plain, c.Resolve(map[string]string{"retention.ms": "x", "nope": "1"}))

	none := c.Resolve(map[string]string{"cleanup.policy": ""})
	require.False(t, none.Delete)
	require.False(t, none.Compact)
}

// Blanks do not count for a number, and are kept and shown all the same.
func TestValuesAreBounded(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	number := func(length int) map[string]string {
		return map[string]string{"retention.ms": strings.Repeat(" ", length-1) + "1"}
	}
	require.NoError(t, c.ValidateAll(number(32767)))
	require.EqualError(t, c.ValidateAll(number(32768)),
		"The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.")
	_, err := c.Apply(nil, []Change{{Name: "zz", Value: strings.Repeat("z", 32768)}})
	require.ErrorIs(t, err, errTooLong)
}

// Only configs that there are can be set, each once: with the longest values that are
// allowed they are the most that a topic can have, some 1.2 MB. No step adds to that.
func TestTopicsAreBounded(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	longest, size := map[string]string{}, 0
	for _, d := range c.Definitions() {
		value := d.Default
		if d.Name == "leader.replication.throttled.replicas" || d.Name == "follower.replication.throttled.replicas" {
			value = "0:1"
		}
		longest[d.Name] = strings.Repeat(" ", MaxValue-len(value)) + value
		size += len(d.Name) + MaxValue
	}
	require.NoError(t, c.ValidateAll(longest))
	require.Less(t, size, 1_250_000)
	for _, change := range []Change{
		{Name: "zz", Op: kmsg.IncrementalAlterConfigOpSet, Value: "1"},
		{Name: "Retention.ms", Op: kmsg.IncrementalAlterConfigOpSet, Value: "1"},
		{Name: " retention.ms", Op: kmsg.IncrementalAlterConfigOpSet, Value: "1"},
		{Name: "retention.ms", Op: kmsg.IncrementalAlterConfigOpSet, Value: " " + longest["retention.ms"]},
		{Name: "zz", Op: kmsg.IncrementalAlterConfigOpAppend, Value: "1"},
	} {
		_, err := c.Apply(longest, []Change{change})
		require.ErrorAs(t, err, new(Error), "%.20q", change)
	}
}

// What no single value shows: an order between two, and which fault counts.
func TestValidateAll(t *testing.T) {
	t.Parallel()
	c := catalog(t, nil)
	require.NoError(t, c.ValidateAll(nil))
	require.EqualError(t, c.ValidateAll(map[string]string{"retention.ms": "x", "zzz": "1"}), "Unknown topic config name: zzz")
	require.EqualError(t, c.ValidateAll(map[string]string{minCompactionLag: "6", "max.compaction.lag.ms": "5"}),
		"conflict topic config setting min.compaction.lag.ms (6) > max.compaction.lag.ms (5)")
	require.NoError(t, c.ValidateAll(map[string]string{minCompactionLag: "5", "max.compaction.lag.ms": "5"}))
}
