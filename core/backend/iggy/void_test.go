package iggy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// What is kept of ranges is what they were, and no bytes panic.
func TestVoidsAreKept(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	p := f.part(0)
	rapid.Check(t, func(rt *rapid.T) {
		var want []span
		at := int64(0)
		for range rapid.IntRange(0, 20).Draw(rt, "ranges") {
			first := at + rapid.Int64Range(1, 1<<40).Draw(rt, "distance")
			at = first + rapid.Int64Range(1, 1000).Draw(rt, "length")
			want = append(want, span{first, at})
		}
		got, err := parseVoids(voidChange(p, want).Value)
		require.NoError(rt, err)
		require.Equal(rt, want, got)
		if got, err = parseVoids(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")); err != nil {
			require.ErrorIs(rt, err, backend.ErrStorage)
		}
		for i, r := range got {
			require.Less(rt, r.first, r.next)
			require.True(rt, r.first >= 0 && (i == 0 || r.first >= got[i-1].next))
		}
	})
}

// Ranges are bounded, and forgotten when retention has passed them, when the log is
// taken to end before them, and with their topic.
func TestVoidsAreForgotten(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache, func(f *fakes) { f.cfg.AcceptTruncation = true })
	p, ctx := f.part(0), context.Background()
	voids := func() []span {
		ranges, err := parseVoids(f.ledger.pairs[partitionKey(keyVoid, f.id(0))])
		require.NoError(t, err)
		require.ElementsMatch(t, ranges, p.gaps.voids)
		return ranges
	}
	require.NoError(t, p.voids(ctx, span{2, 4}))
	require.NoError(t, p.voids(ctx, span{8, 9}, span{4, 5}))
	require.Equal(t, []span{{2, 5}, {8, 9}}, voids())
	p.mu.Lock()
	p.start = 5
	p.mu.Unlock()
	require.NoError(t, p.voids(ctx, span{10, 12}))
	require.Equal(t, []span{{8, 9}, {10, 12}}, voids())
	require.NoError(t, f.ledger.Commit(ctx, p.unvoid(11)))
	require.Equal(t, []span{{8, 9}, {10, 11}}, voids())
	require.Empty(t, p.unvoid(11))
	require.NoError(t, f.ledger.Commit(ctx, p.unvoid(3)))
	require.Empty(t, voids())
	for i := range int64(maxVoids + 10) {
		require.NoError(t, p.voids(ctx, span{2*i + 20, 2*i + 21}))
	}
	require.Len(t, voids(), maxVoids)
	require.Equal(t, 1, f.ledger.keys(keyVoid))
	require.NoError(t, f.DeleteTopic(ctx, f.topic.ID))
	require.Zero(t, f.ledger.keys(keyVoid))
}

// Ranges that cannot be read are said to be, and do no further harm.
func TestBrokenVoids(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("a")))
	f.ledger.pairs[partitionKey(keyVoid, f.id(0))] = []byte{0x80}
	f.again()
	require.Equal(t, map[int64]string{0: "a"}, f.consumed(0))
	require.Equal(t, 1, f.logs.FilterMessageSnippet("sent again").Len())
}
