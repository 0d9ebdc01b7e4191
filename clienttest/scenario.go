package clienttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scenarioTime bounds one scenario. The slowest need a few rebalances of about three seconds.
const scenarioTime = 2 * time.Minute

// Run runs every scenario with the library that open adapts, against each Storage. open is called for each
// scenario, since they run at the same time, and gets the bootstrap address.
func Run(t *testing.T, traits Traits, open func(t *testing.T, addr string) Client) {
	Each(t, func(t *testing.T, s Storage, addr string) { runScenarios(t, traits, s, addr, open) })
}

func runScenarios(t *testing.T, traits Traits, s Storage, addr string, open func(t *testing.T, addr string) Client) {
	scenario := func(name string, play func(*run)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), scenarioTime)
			defer cancel()
			r := &run{T: t, ctx: ctx, traits: traits, storage: s, open: open, Observer: NewObserver(t, addr)}
			r.skipIfLacking(name)
			r.client = open(t, addr)
			t.Cleanup(func() { require.NoError(t, r.client.Close()) })
			play(r)
		})
	}
	scenario("topic", topicScenario)
	scenario("records", recordsScenario)
	scenario("seek", seekScenario)
	scenario("groups", groupsScenario)
	scenario("resume", resumeScenario)
	scenario("restart", restartScenario)
}

// run is one scenario being run: the client under test beside an observer that is known to work.
type run struct {
	*testing.T
	ctx     context.Context
	traits  Traits
	storage Storage
	open    func(t *testing.T, addr string) Client
	client  Client
	Observer
}

// skipIfLacking skips what the library cannot do, and says why.
func (r *run) skipIfLacking(what string) {
	if why, lacks := r.traits.Lacks[what]; lacks {
		r.Skip("the library cannot: " + why)
	}
}

// Unique makes a topic or group name that no other run has, so that tests may share a broker.
func Unique(t testing.TB, what string) string {
	return fmt.Sprintf("%s-%s-%08x", strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-"), what, rand.Uint32())
}

// topic makes a topic with three partitions by the client under test and waits until the broker shows it.
func (r *run) topic(what string) string {
	name := Unique(r, what)
	require.NoError(r, r.client.CreateTopic(r.ctx, name, 3), "create topic")
	r.AwaitPartitions(r, name, 3)
	return name
}

// topicScenario creates a topic with three partitions and deletes it.
func topicScenario(r *run) {
	name := r.topic("made")
	require.Error(r, r.client.CreateTopic(r.ctx, name, 3), "creating a topic twice")
	require.NoError(r, r.client.DeleteTopic(r.ctx, name), "delete topic")
	r.AwaitPartitions(r, name, 0)
}

// recordsScenario writes 1,000 records with each codec. The client must read back what it wrote, the
// observer must read the same, and the stored batches, if batches are stored, must be compressed and idempotent
// as asked.
func recordsScenario(r *run) {
	for _, codec := range Codecs() {
		r.Run(codec, func(t *testing.T) {
			r := *r
			r.T = t
			r.skipIfLacking(codec)
			name, sent := r.topic(codec), records(start())
			require.NoError(t, r.client.Produce(r.ctx, name, codec, sent), "produce")

			got, err := r.client.Read(r.ctx, name, Offsets{0: 0, 1: 0, 2: 0}, len(sent))
			require.NoError(t, err, "read")
			requireRecords(t, sent, got, r.traits)

			stored, facts := r.Read(t, name, len(sent))
			requireRecords(t, sent, stored, Traits{UnorderedHeaders: r.traits.UnorderedHeaders})
			if r.storage.KeepsBatches() {
				require.Contains(t, facts.Codecs, codec, "codecs of the stored batches")
				require.Subset(t, []string{codec, "none"}, facts.Codecs, "some libraries leave a small batch as it is")
				require.Equal(t, !r.traits.NotIdempotent, facts.Idempotent, "all stored batches carry a producer id")
			}
			require.NoError(t, r.client.DeleteTopic(r.ctx, name), "delete topic")
		})
	}
}

// seekScenario looks offsets up by time and reads from there.
func seekScenario(r *run) {
	name, from := r.topic("seek"), start()
	sent := records(from)
	require.NoError(r, r.client.Produce(r.ctx, name, "none", sent), "produce")
	const middle = 600
	at, err := r.client.OffsetsAt(r.ctx, name, from+middle)
	require.NoError(r, err, "offsets at a time")
	require.Len(r, at, 3)

	all, _ := r.Read(r, name, len(sent))
	want := Offsets{}
	for _, record := range all { // in offset order within a partition
		if _, found := want[record.Partition]; !found && record.index() >= middle {
			want[record.Partition] = record.Offset
		}
	}
	require.Equal(r, want, at, "first offsets at or after the time")

	got, err := r.client.Read(r.ctx, name, at, len(sent)-middle)
	require.NoError(r, err, "read from the found offsets")
	requireRecords(r, sent[middle:], got, r.traits)
}

// resumeScenario commits in the middle of each partition, stops, and starts again in the same group: the
// second member must get exactly what was not committed.
func resumeScenario(r *run) {
	name, group, sent := r.topic("resume"), Unique(r, "group"), records(start())
	require.NoError(r, r.client.Produce(r.ctx, name, "none", sent), "produce")

	first := r.join(group, name)
	got := first.poll(r, len(sent))
	requireRecords(r, sent, got, r.traits)
	counts := Offsets{}
	for _, record := range got {
		counts[record.Partition]++
	}
	half := Offsets{}
	for partition, count := range counts {
		half[partition] = count / 2
	}
	require.NoError(r, first.Commit(r.ctx, name, half), "commit")
	require.NoError(r, first.Close(), "close")
	require.Equal(r, half, r.Committed(r, group, name), "offsets that the broker keeps")

	rest := slices.DeleteFunc(slices.Clone(got), func(record Record) bool { return record.Offset < half[record.Partition] })
	want := make([]Record, 0, len(rest))
	for _, record := range rest {
		want = append(want, sent[record.index()])
	}
	second := r.join(group, name)
	requireRecords(r, want, second.poll(r, len(want)), r.traits)
	require.NoError(r, second.Close(), "close")
}

// requireRecords demands exactly the sent records, each once, in any order.
func requireRecords(t require.TestingT, sent, got []Record, traits Traits) {
	byIndex := map[int]Record{}
	for _, record := range got {
		_, twice := byIndex[record.index()]
		require.False(t, twice, "record %d came twice", record.index())
		byIndex[record.index()] = record
	}
	for _, record := range sent {
		received, found := byIndex[record.index()]
		require.True(t, found, "record %d is missing", record.index())
		require.Empty(t, difference(record, received, traits), "record %d", record.index())
	}
	require.Len(t, got, len(sent))
}
