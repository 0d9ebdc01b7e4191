package backendtest

import (
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func ids(h *harness) {
	ctx := h.Context()
	cluster, err := h.Backend.ClusterID(ctx)
	require.NoError(h, err)
	require.Regexp(h, regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`), cluster)
	seen := map[int64]bool{}
	var mu sync.Mutex
	draw := func(n int) {
		for range n {
			id, err := h.Backend.NewProducerID(ctx)
			mu.Lock()
			if err != nil || id < 0 || seen[id] {
				h.Errorf("producer id %d (seen %v): %v", id, seen[id], err)
			}
			seen[id] = true
			mu.Unlock()
		}
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() { draw(400) })
	}
	work.Wait()
	for _, again := range []func() backend.Backend{h.Reopen, h.Crash} {
		if again == nil {
			continue
		}
		h.Backend = again()
		draw(10)
		got, err := h.Backend.ClusterID(ctx)
		require.NoError(h, err)
		require.Equal(h, cluster, got)
	}
}

func restart(h *harness) {
	if h.Reopen == nil {
		h.Skip("this backend cannot be reopened")
	}
	survive(h, h.Reopen)
}

func crash(h *harness) {
	if h.Crash == nil {
		h.Skip("this backend cannot be crashed")
	}
	survive(h, h.Crash)
}

// survive fills a backend, ends it, and expects everything to be there; then
// once more, so that what was brought up to date is checked too.
func survive(h *harness, again func() backend.Backend) {
	ctx, topic := h.Context(), h.create("t", 3, "retention.ms", "-1")
	gone := h.create("gone", 1)
	require.NoError(h, h.Backend.GrowTopic(ctx, topic.ID, 4))
	require.NoError(h, h.Backend.DeleteTopic(ctx, gone.ID))
	at := func(i int32) backend.Partition { return backend.Partition{Topic: topic.ID, Index: i} }
	producer, err := h.Backend.NewProducerID(ctx)
	require.NoError(h, err)
	var want []string
	n := int32(0)
	for round := range 3 {
		for range 10 {
			v := fmt.Sprint("value ", n)
			got := h.append(at(0), recordtest.Values(v).From(producer, 0, n))
			require.NoError(h, got.Err)
			require.EqualValues(h, n, got.BaseOffset)
			want = append(want, v)
			n++
		}
		h.store(at(3), recordtest.Values("a", "b"))
		require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{commit(at(0), int64(n), fmt.Sprint("round ", round))}))

		h.Backend = again()
		got, err := h.Backend.Topic(ctx, "t")
		require.NoError(h, err)
		require.Equal(h, topic.ID, got.ID)
		require.EqualValues(h, 4, got.Partitions)
		require.Equal(h, map[string]string{"retention.ms": "-1"}, got.Overrides)
		_, err = h.Backend.Topic(ctx, "gone")
		require.ErrorIs(h, err, backend.ErrUnknownTopic)
		require.Equal(h, want, values(h.readAll(at(0))))
		require.Equal(h, backend.Bounds{}, h.bounds(at(1)))
		require.Equal(h, backend.Bounds{End: int64(2 * (round + 1))}, h.bounds(at(3)))
		require.Equal(h, map[backend.Partition]backend.CommittedOffset{
			at(0): commit(at(0), int64(n), fmt.Sprint("round ", round)).CommittedOffset,
		}, h.committed("g"))
		found, err := h.Backend.FindTime(ctx, at(0), 0)
		require.NoError(h, err)
		require.Equal(h, backend.Found{Offset: 0, Timestamp: recordtest.Time}, found)
		if h.KeepsProducers {
			require.Equal(h, backend.Appended{BaseOffset: int64(n - 1), AppendTime: -1, Duplicate: true},
				h.append(at(0), recordtest.Values(want[n-1]).From(producer, 0, n-1)), "a batch sent again after the restart")
			require.ErrorIs(h, h.append(at(0), recordtest.Values("gap").From(producer, 0, n+1)).Err, backend.ErrOutOfOrderSequence)
		}
	}
}

func retentionBytes(h *harness) {
	if h.Retain == nil {
		h.Skip("retention cannot be applied at will")
	}
	// Every batch is larger than half a segment.
	p := h.log("t", "segment.bytes", "1048576", "retention.bytes", "2097152")
	value := string(make([]byte, 700_000))
	for range 6 {
		h.store(p, recordtest.Values(value).At(time.Now().UnixMilli()))
	}
	h.Retain()
	bounds := h.bounds(p)
	require.EqualValues(h, 6, bounds.End)
	require.Positive(h, bounds.Start)
	require.LessOrEqual(h, bounds.Start, int64(3), "no more goes than has to")
	_, got, err := h.Backend.Read(h.Context(), backend.Read{Partition: p, Offset: bounds.Start - 1, MaxBytes: 1})
	require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
	require.Equal(h, bounds, got)
	require.Len(h, h.readAll(p), int(bounds.End-bounds.Start))
	require.Equal(h, bounds.Start, h.append(p, recordtest.Values("x")).LogStart)
}

func retentionMs(h *harness) {
	if h.Retain == nil {
		h.Skip("retention cannot be applied at will")
	}
	ctx := h.Context()
	old, kept, compacted := h.log("old", "retention.ms", "1000"), h.log("kept", "retention.ms", "-1"), h.log("compacted", "retention.ms", "1000", "cleanup.policy", "compact")
	b := recordtest.New(recordtest.Record{Key: []byte("k"), Value: []byte("v")})
	for _, p := range []backend.Partition{old, kept, compacted} {
		h.store(p, b)
	}
	h.Retain()
	require.Equal(h, backend.Bounds{Start: 1, End: 1}, h.bounds(old), "offsets go on when all records are gone")
	require.Equal(h, backend.Bounds{End: 1}, h.bounds(kept))
	require.Equal(h, backend.Bounds{End: 1}, h.bounds(compacted), "retention does not apply to compact alone")
	_, _, err := h.Backend.Read(ctx, backend.Read{Partition: old, MaxBytes: 100})
	require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
	if h.Reopen != nil {
		h.Backend = h.Reopen()
		require.Equal(h, backend.Bounds{Start: 1, End: 1}, h.bounds(old))
	}
	require.EqualValues(h, 1, h.store(old, b.At(time.Now().UnixMilli())))
	require.Len(h, h.readAll(old), 1)
}
