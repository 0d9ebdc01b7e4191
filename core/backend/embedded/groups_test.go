package embedded_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
)

// TestGroupsInOrder: names of all lengths, some the beginning of others, come in
// order from whichever place.
func TestGroupsInOrder(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00")), 0, 4, -1), rapid.StringN(0, 30, -1),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff}), 0, 3), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(rt *rapid.T) {
		b := newBox(t, nil, embedded.DefaultConfig())
		defer b.close()
		p := newTopic(b, "t")
		var want []string
		for _, g := range rapid.SliceOf(name).Draw(rt, "committed") {
			require.NoError(rt, b.store.CommitOffsets(t.Context(), g, []backend.Commit{{Partition: p}}))
			want = append(want, g)
		}
		for _, g := range rapid.SliceOf(name).Draw(rt, "saved") {
			require.NoError(rt, b.store.SaveGroup(t.Context(), g, []byte(g)))
			want = append(want, g)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		from := name.Draw(rt, "from")
		i, _ := slices.BinarySearch(want, from)
		got, err := b.store.GroupsFrom(from)
		require.NoError(rt, err)
		require.Equal(rt, len(want[i:]), len(got))
		for k, g := range want[i:] {
			require.Equal(rt, g, got[k])
		}
	})
}

// TestGroupsInPages: large states do not come all at once.
func TestGroupsInPages(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	for i := range 12 {
		require.NoError(t, b.store.SaveGroup(t.Context(), fmt.Sprintf("g%02d", i), make([]byte, 300_000)))
	}
	page, err := b.store.GroupsFrom("g03")
	require.NoError(t, err)
	require.Equal(t, []string{"g03", "g04", "g05", "g06"}, page)
	all := 0
	require.NoError(t, b.store.EachGroup(t.Context(), func(group string, state []byte) error {
		require.Equal(t, fmt.Sprintf("g%02d", all), group)
		require.Len(t, state, 300_000)
		all++
		return nil
	}))
	require.Equal(t, 12, all)
}

// TestGroupsWhileTheStoreCloses: who goes through the groups does not hold up the
// end of the store, and learns of it.
func TestGroupsWhileTheStoreCloses(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	s := b.store
	require.NoError(t, s.SaveGroup(t.Context(), "g", []byte("x")))
	err := s.EachGroup(t.Context(), func(string, []byte) error {
		b.close()
		return nil
	})
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, s.SaveGroup(t.Context(), "g", nil), backend.ErrUnavailable)
}

func TestLogDir(t *testing.T) {
	t.Parallel()
	dir, err := newBox(t, nil, embedded.DefaultConfig()).store.LogDir(t.Context())
	require.NoError(t, err)
	require.Equal(t, backend.LogDir{Path: "memory", Total: -1, Usable: -1}, dir)

	cfg := embedded.DefaultConfig()
	cfg.Dir = t.TempDir()
	dir, err = newBox(t, vfs.Default, cfg).store.LogDir(t.Context())
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(dir.Path))
	require.Equal(t, cfg.Dir, dir.Path)
	require.Positive(t, dir.Usable)
	require.GreaterOrEqual(t, dir.Total, dir.Usable)
}

// BenchmarkEachGroup goes through 100,000 groups, half of them with offsets alone,
// of names of one length or of fifty.
func BenchmarkEachGroup(b *testing.B) {
	const n = 100_000
	for name, lengths := range map[string]int{"one length": 1, "fifty lengths": 50} {
		b.Run(name, func(b *testing.B) {
			s := benchStore(b, false)
			p := benchTopic(b, s, 1)[0]
			for i := range n {
				g := fmt.Sprintf("group-%06d%s", i*7919%n, strings.Repeat("x", i%lengths))
				require.NoError(b, s.CommitOffsets(b.Context(), g, []backend.Commit{{Partition: p}}))
				if i%2 == 0 {
					require.NoError(b, s.SaveGroup(b.Context(), g, make([]byte, 200)))
				}
			}
			for b.Loop() {
				got := 0
				require.NoError(b, s.EachGroup(b.Context(), func(string, []byte) error { got++; return nil }))
				require.Equal(b, n, got)
			}
		})
	}
}
