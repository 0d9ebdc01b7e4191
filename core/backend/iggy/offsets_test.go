package iggy

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
)

// Groups are any bytes; their keys sort as they do and none begins another's.
func TestOffsetKeys(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 255, 'a'}), 0, 4, -1), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		p := backend.Partition{Topic: uuid.New(), Index: rapid.Int32Range(0, 1<<30).Draw(t, "index")}
		group, got, ok := splitOffset(offsetKey(a, p))
		require.True(t, ok)
		require.Equal(t, a, group)
		require.Equal(t, p, got)
		if a != b {
			require.Equal(t, a < b, offsetKey(a, p) < offsetKey(b, p))
			keys := []string{groupKey(a), groupKey(b)}
			slices.Sort(keys)
			require.NotEqual(t, keys[0], keys[1][:min(len(keys[0]), len(keys[1]))])
		}
	})
}

// Reads come from memory, so that consumers can go on while Iggy is away.
func TestOffsetsWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	p := backend.Partition{Topic: topic.ID}
	one := backend.Commit{Partition: p, CommittedOffset: backend.CommittedOffset{Offset: 3, LeaderEpoch: -1, Metadata: "\xff"}}
	require.NoError(t, f.CommitOffsets(t.Context(), "g\x00", []backend.Commit{one}))
	f.server.set(func() { f.server.err = backend.ErrUnavailable })
	f.ledger.fail(backend.ErrUnavailable)
	require.ErrorIs(t, f.CommitOffsets(t.Context(), "g", []backend.Commit{one}), backend.ErrUnavailable)
	got, err := f.FetchOffsets(t.Context(), "g\x00", []backend.Partition{p})
	require.NoError(t, err)
	require.Equal(t, "\xff", got[p].Metadata)
	groups, err := f.OffsetGroups(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"g\x00"}, groups)
}

// Offsets are in memory, and any name is one of a group: when there are enough, those
// that are there may be committed anew and deleted, and no others.
func TestOffsetsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) { f.opts.maxLedger = 2000 })
	topic := f.create("t", 2)
	annotate := func(group string, index int32, offset int64, metadata string) error {
		p := backend.Partition{Topic: topic.ID, Index: index}
		return f.CommitOffsets(t.Context(), group,
			[]backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{Offset: offset, Metadata: metadata}}})
	}
	commit := func(group string, index int32, offset int64) error { return annotate(group, index, offset, "") }
	require.NoError(t, annotate("noted", 0, 1, "four"))
	var err error
	groups := 0
	for ; err == nil; groups++ {
		require.Less(t, groups, 2000)
		err = commit(strconv.Itoa(groups), 0, 1)
	}
	require.ErrorIs(t, err, backend.ErrTooLarge)
	require.Greater(t, groups, 10)
	require.ErrorIs(t, commit("0", 1, 1), backend.ErrTooLarge, "another partition")
	size := f.ledger.Size()
	require.ErrorIs(t, annotate("0", 0, 2, "m"), backend.ErrTooLarge, "metadata where there was none")
	require.ErrorIs(t, annotate("noted", 0, 2, "fives"), backend.ErrTooLarge, "longer metadata")
	require.Equal(t, size, f.ledger.Size())
	require.NoError(t, annotate("noted", 0, 2, "for4"), "as much as there was")
	require.NoError(t, annotate("noted", 0, 3, "f"), "less")
	require.NoError(t, annotate("noted", 0, -1, ""), "one that deletes")
	require.NoError(t, commit("0", 0, 2))
	require.NoError(t, f.DeleteOffsets(t.Context(), "0"))
	require.NoError(t, commit("another", 1, 1))
}
