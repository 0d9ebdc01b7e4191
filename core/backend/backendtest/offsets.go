package backendtest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// commit is a commit of an offset with all that belongs to it.
func commit(p backend.Partition, offset int64, metadata string) backend.Commit {
	return backend.Commit{Partition: p, CommittedOffset: backend.CommittedOffset{
		Offset: offset, LeaderEpoch: 3, Metadata: metadata, CommitTime: time.UnixMilli(recordTime),
	}}
}

const recordTime = 1_700_000_000_123

// committed asks for offsets and takes the zone out of their times.
func (h *harness) committed(group string, ps ...backend.Partition) map[backend.Partition]backend.CommittedOffset {
	h.Helper()
	got, err := h.Backend.FetchOffsets(h.Context(), group, ps)
	require.NoError(h, err)
	for p, c := range got {
		c.CommitTime = time.UnixMilli(c.CommitTime.UnixMilli())
		got[p] = c
	}
	return got
}

func offsets(h *harness) {
	ctx, topic := h.Context(), h.create("t", 3)
	at := func(i int32) backend.Partition { return backend.Partition{Topic: topic.ID, Index: i} }
	require.Empty(h, h.committed("g", at(0)))
	require.Empty(h, h.committed("g"))
	require.NotNil(h, h.committed("g"))
	one, two := commit(at(0), 5, "where I was ✓"), commit(at(2), 0, "")
	two.LeaderEpoch = -1
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{one, two}))
	all := map[backend.Partition]backend.CommittedOffset{at(0): one.CommittedOffset, at(2): two.CommittedOffset}
	require.Equal(h, all, h.committed("g"), "nil asks for all")
	require.Equal(h, all, h.committed("g", at(0), at(1), at(2), backend.Partition{Topic: uuid.New()}))
	none, err := h.Backend.FetchOffsets(ctx, "g", []backend.Partition{})
	require.NoError(h, err)
	require.Empty(h, none, "an empty list asks for nothing")

	// Newer commits replace, negative ones delete, others stay.
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{commit(at(0), 9, "x"), commit(at(2), -1, "")}))
	require.Equal(h, map[backend.Partition]backend.CommittedOffset{at(0): commit(at(0), 9, "x").CommittedOffset}, h.committed("g"))
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{commit(at(1), -1, "")}))

	// What no longer exists is dropped, and the rest is stored.
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{
		commit(backend.Partition{Topic: uuid.New()}, 1, ""), commit(at(1), 4, ""),
	}))
	require.Len(h, h.committed("g"), 2)
	require.NoError(h, h.Backend.DeleteOffsets(ctx, "g"))
	require.Empty(h, h.committed("g"))
	require.NoError(h, h.Backend.DeleteOffsets(ctx, "nobody"))
}

func offsetGroups(h *harness) {
	ctx, p := h.Context(), h.log("t")
	groups, err := h.Backend.OffsetGroups(ctx)
	require.NoError(h, err)
	require.Empty(h, groups)
	want := []string{"", "a", "a\x00b", "aa", "b", strings.Repeat("l", 32767), "é"}
	var work sync.WaitGroup
	for i, g := range want {
		work.Go(func() {
			if err := h.Backend.CommitOffsets(ctx, g, []backend.Commit{commit(p, int64(i), g[:min(len(g), 10)])}); err != nil {
				h.Errorf("group %.10q: %v", g, err)
			}
		})
	}
	work.Wait()
	groups, err = h.Backend.OffsetGroups(ctx)
	require.NoError(h, err)
	require.Equal(h, want, groups, "sorted")
	for i, g := range want {
		require.Equal(h, map[backend.Partition]backend.CommittedOffset{
			p: commit(p, int64(i), g[:min(len(g), 10)]).CommittedOffset,
		}, h.committed(g), "group %.10q", g)
	}
	require.NoError(h, h.Backend.DeleteOffsets(ctx, "a"))
	require.NoError(h, h.Backend.CommitOffsets(ctx, "b", []backend.Commit{commit(p, -1, "")}))
	groups, err = h.Backend.OffsetGroups(ctx)
	require.NoError(h, err)
	require.Equal(h, []string{"", "a\x00b", "aa", want[5], "é"}, groups)
}

func offsetsOfDeleted(h *harness) {
	ctx, keep := h.Context(), h.log("keep")
	topic := h.create("go", 2)
	gone := backend.Partition{Topic: topic.ID, Index: 1}
	for i := range 3 {
		g := fmt.Sprint("g", i)
		require.NoError(h, h.Backend.CommitOffsets(ctx, g, []backend.Commit{commit(gone, 1, "")}))
	}
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g1", []backend.Commit{commit(keep, 2, "")}))
	require.NoError(h, h.Backend.DeleteTopic(ctx, topic.ID))
	groups, err := h.Backend.OffsetGroups(ctx)
	require.NoError(h, err)
	require.Equal(h, []string{"g1"}, groups)
	require.Equal(h, map[backend.Partition]backend.CommittedOffset{keep: commit(keep, 2, "").CommittedOffset}, h.committed("g1"))
	again := backend.Partition{Topic: h.create("go", 2).ID, Index: 1}
	require.Empty(h, h.committed("g0", again))
}
