package iggy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func (f *fakes) commitAt(group string, topic backend.Topic, index int32, at time.Time) {
	f.Helper()
	require.NoError(f, f.CommitOffsets(context.Background(), group, []backend.Commit{{
		Partition:       backend.Partition{Topic: topic.ID, Index: index},
		CommittedOffset: backend.CommittedOffset{Offset: 1, LeaderEpoch: -1, CommitTime: at},
	}}))
}

// An offset that is committed after it was found to be old, and before it is
// removed, stays.
func TestExpireAndCommit(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 3)
	old, now := time.UnixMilli(1000), time.UnixMilli(5000)
	for i := range int32(3) {
		f.commitAt("g", topic, i, old)
	}
	left, err := f.ExpireOffsets(t.Context(), "g", now, func(string) bool {
		f.commitAt("g", topic, 1, old.Add(time.Millisecond)) // once more, and as old
		f.commitAt("g", topic, 2, now)
		return false
	})
	require.NoError(t, err)
	require.Equal(t, 2, left)
	got, err := f.FetchOffsets(t.Context(), "g", nil)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.NotContains(t, got, backend.Partition{Topic: topic.ID})
}

// A group may have more than one commit holds; a name may be long.
func TestExpireMany(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	const partitions = 2500
	topic := f.create("t", partitions)
	group := strings.Repeat("g", 10_000)
	var all []backend.Commit
	for i := range int32(partitions) {
		all = append(all, backend.Commit{Partition: backend.Partition{Topic: topic.ID, Index: i}})
	}
	require.NoError(t, f.CommitOffsets(t.Context(), group, all))
	commits := 0
	f.ledger.before = func(changes []journal.Change) {
		commits++
		size := 0
		for _, c := range changes {
			size += len(c.Key)
		}
		require.LessOrEqual(t, len(changes), maxChanges)
		require.LessOrEqual(t, size, maxChangeBytes)
	}
	left, err := f.ExpireOffsets(t.Context(), group, time.Now(), nil)
	require.NoError(t, err)
	require.Zero(t, left)
	require.Greater(t, commits, 2)
	require.Zero(t, f.ledger.keys(keyOffset))
}

// While the ledger refuses, states and offsets stay as they are, and are read from
// memory.
func TestGroupsWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	require.NoError(t, f.SaveGroup(t.Context(), "g", []byte("state")))
	f.commitAt("g", topic, 0, time.UnixMilli(1))
	f.ledger.fail(backend.ErrUnavailable)
	f.server.set(func() { f.server.err = backend.ErrUnavailable })
	require.ErrorIs(t, f.SaveGroup(t.Context(), "g", []byte("other")), backend.ErrUnavailable)
	require.ErrorIs(t, f.SaveGroup(t.Context(), "g", nil), backend.ErrUnavailable)
	_, err := f.ExpireOffsets(t.Context(), "g", time.UnixMilli(2), nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	left, err := f.ExpireOffsets(t.Context(), "g", time.UnixMilli(1), nil)
	require.NoError(t, err, "nothing to write")
	require.Equal(t, 1, left)
	var got []string
	require.NoError(t, f.EachGroup(t.Context(), func(group string, state []byte) error {
		got = append(got, group+":"+string(state))
		return nil
	}))
	require.Equal(t, []string{"g:state"}, got)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.EachGroup(ctx, func(string, []byte) error { return nil }), context.Canceled)
}

// Groups that are forgotten while others are told of are left out.
func TestGroupForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	for _, g := range []string{"a", "b", "c"} {
		require.NoError(t, f.SaveGroup(t.Context(), g, []byte(g)))
	}
	var got []string
	require.NoError(t, f.EachGroup(t.Context(), func(group string, _ []byte) error {
		got = append(got, group)
		return f.SaveGroup(t.Context(), "b", nil)
	}))
	require.Equal(t, []string{"a", "c"}, got)
}

// States, offsets and starts outlive the turn of generations, and a kill after it.
func TestToolsOutliveGenerations(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		b := newPatientBox(t, start(t, iggytest.NoFsync()), time.Minute)
		ctx := t.Context()
		topic, err := b.store.CreateTopic(ctx, backend.NewTopic{Name: "t", Partitions: 1})
		require.NoError(t, err)
		p := backend.Partition{Topic: topic.ID}
		for i := range 4 {
			out := b.store.Append(ctx, []backend.Append{{Partition: p, Batch: recordtest.Values(fmt.Sprint(i)).Batch(t)}})
			require.NoError(t, out[0].Err)
		}
		_, err = b.store.DeleteRecords(ctx, p, 3)
		require.NoError(t, err)
		require.NoError(t, b.store.SaveGroup(ctx, "kept", []byte("state")))
		before := generations(t, b)
		large := []byte(strings.Repeat("x", 4<<20))
		for i := range 12 {
			large[0] = byte(i)
			require.NoError(t, b.store.SaveGroup(ctx, "large", large))
		}
		require.Eventually(t, func() bool { return generations(t, b) != before }, time.Minute, 10*time.Millisecond)
		b.killGateway()
		bounds, err := b.store.Bounds(ctx, p)
		require.NoError(t, err)
		require.Equal(t, backend.Bounds{Start: 3, End: 4}, bounds)
		sizes := map[string]int{}
		require.NoError(t, b.store.EachGroup(ctx, func(group string, state []byte) error {
			sizes[group] = len(state)
			return nil
		}))
		require.Equal(t, map[string]int{"kept": 5, "large": len(large)}, sizes)
	})
}

// generations names the topics of the internal stream.
func generations(t *testing.T, b *box) string {
	t.Helper()
	topics, err := b.store.server.Topics(t.Context(), b.cfg.InternalStream)
	require.NoError(t, err)
	var names []string
	for _, topic := range topics {
		names = append(names, topic.Name)
	}
	return strings.Join(names, ",")
}
