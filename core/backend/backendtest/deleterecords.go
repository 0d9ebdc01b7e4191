package backendtest

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// deleteTo moves the start of a log, which must succeed, and returns it.
func (h *harness) deleteTo(p backend.Partition, before int64) int64 {
	h.Helper()
	start, err := h.Backend.DeleteRecords(h.Context(), p, before)
	require.NoError(h, err)
	return start
}

// outOfRange expects that no reader may begin at an offset.
func (h *harness) outOfRange(p backend.Partition, offset int64, want backend.Bounds) {
	h.Helper()
	b, bounds, err := h.Backend.Read(h.Context(), backend.Read{Partition: p, Offset: offset, MaxBytes: 1000, AtLeastOne: true})
	require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
	require.Equal(h, want, bounds, "bounds come with the error")
	require.Empty(h, b)
	_, bounds, err = h.Backend.Available(h.Context(), p, offset, 1000)
	require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
	require.Equal(h, want, bounds)
}

// numbered appends batches of one record each, whose values are their offsets.
func (h *harness) numbered(p backend.Partition, n int) {
	h.Helper()
	for range n {
		h.store(p, recordtest.Values(fmt.Sprint(h.bounds(p).End)))
	}
}

// onlyFrom expects the records of numbered from an offset on, and no others.
func (h *harness) onlyFrom(p backend.Partition, bounds backend.Bounds) {
	h.Helper()
	require.Equal(h, bounds, h.bounds(p))
	var want []string
	for at := bounds.Start; at < bounds.End; at++ {
		want = append(want, fmt.Sprint(at))
	}
	require.Equal(h, want, values(h.readAll(p)))
	if bounds.Start > 0 {
		h.outOfRange(p, bounds.Start-1, bounds)
		h.outOfRange(p, 0, bounds)
	}
	h.outOfRange(p, bounds.End+1, bounds)
}

func deleteRecords(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	p, other := backend.Partition{Topic: topic.ID}, backend.Partition{Topic: topic.ID, Index: 1}
	require.EqualValues(h, 0, h.deleteTo(p, 0), "an empty log")
	h.numbered(p, 10)
	h.numbered(other, 3)
	require.EqualValues(h, 0, h.deleteTo(p, 0))
	h.onlyFrom(p, backend.Bounds{End: 10})
	require.EqualValues(h, 4, h.deleteTo(p, 4))
	h.onlyFrom(p, backend.Bounds{Start: 4, End: 10})
	for _, below := range []int64{-5, -1, 0, 3, 4} {
		require.EqualValues(h, 4, h.deleteTo(p, below), "an offset at or below the start changes nothing")
	}
	for _, above := range []int64{11, 1 << 60} {
		_, err := h.Backend.DeleteRecords(ctx, p, above)
		require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
	}
	h.onlyFrom(p, backend.Bounds{Start: 4, End: 10})
	got := h.append(p, recordtest.Values("10"))
	require.NoError(h, got.Err)
	require.Equal(h, backend.Appended{BaseOffset: 10, LogStart: 4, AppendTime: -1}, got)
	h.onlyFrom(p, backend.Bounds{Start: 4, End: 11})
	h.onlyFrom(other, backend.Bounds{End: 3})
}

func deleteAllRecords(h *harness) {
	p := h.log("t")
	none := backend.Found{Offset: -1, Timestamp: -1}
	for _, end := range []int64{5, 8, 9} {
		h.numbered(p, int(end-h.bounds(p).End))
		require.Equal(h, end, h.deleteTo(p, end), "up to the end")
		h.onlyFrom(p, backend.Bounds{Start: end, End: end})
		require.Empty(h, h.read(p, end))
		most, _, err := h.Backend.Available(h.Context(), p, end, 1000)
		require.NoError(h, err)
		require.Zero(h, most)
		found, err := h.Backend.FindTime(h.Context(), p, 0)
		require.NoError(h, err)
		require.Equal(h, none, found)
		found, err = h.Backend.FindMaxTime(h.Context(), p)
		require.NoError(h, err)
		require.Equal(h, none, found)
	}
	require.EqualValues(h, 9, h.store(p, recordtest.Values("9")), "offsets go on")
	h.onlyFrom(p, backend.Bounds{Start: 9, End: 10})
}

// deleteWithinBatch: a batch that holds the new start may still come whole, and
// clients skip what lies below; look-ups by time do not see it.
func deleteWithinBatch(h *harness) {
	for codec := record.None; codec <= record.Zstd; codec++ {
		p := h.log(fmt.Sprint("codec", int(codec)))
		h.store(p, at(900, 100, 300, 200, 300).Compressed(codec))
		h.store(p, at(50, 400, 60).Compressed(codec))
		step := func(start int64, latest backend.Found, times map[int64]backend.Found) {
			h.Helper()
			if start > 0 {
				require.Equal(h, start, h.deleteTo(p, start))
				h.outOfRange(p, start-1, backend.Bounds{Start: start, End: 8})
			}
			require.Equal(h, backend.Bounds{Start: start, End: 8}, h.bounds(p))
			first := h.read(p, start)
			require.LessOrEqual(h, first[0].Offset, start)
			all := h.readAll(p)
			require.Len(h, all, int(8-start))
			require.Equal(h, start, all[0].Offset)
			found, err := h.Backend.FindMaxTime(h.Context(), p)
			require.NoError(h, err)
			require.Equal(h, latest, found, "the largest time from %d on, codec %d", start, codec)
			for ms, want := range times {
				found, err := h.Backend.FindTime(h.Context(), p, ms)
				require.NoError(h, err)
				require.Equal(h, want, found, "at least %d from %d on, codec %d", ms, start, codec)
			}
		}
		none := backend.Found{Offset: -1, Timestamp: -1}
		step(0, backend.Found{Offset: 0, Timestamp: 900}, map[int64]backend.Found{
			0: {Offset: 0, Timestamp: 900}, 900: {Offset: 0, Timestamp: 900}, 901: none})
		step(1, backend.Found{Offset: 6, Timestamp: 400}, map[int64]backend.Found{
			0: {Offset: 1, Timestamp: 100}, 101: {Offset: 2, Timestamp: 300}, 301: {Offset: 6, Timestamp: 400}, 401: none})
		step(3, backend.Found{Offset: 6, Timestamp: 400}, map[int64]backend.Found{
			0: {Offset: 3, Timestamp: 200}, 300: {Offset: 4, Timestamp: 300}, 400: {Offset: 6, Timestamp: 400}})
		step(5, backend.Found{Offset: 6, Timestamp: 400}, map[int64]backend.Found{0: {Offset: 5, Timestamp: 50}})
		step(7, backend.Found{Offset: 7, Timestamp: 60}, map[int64]backend.Found{0: {Offset: 7, Timestamp: 60}, 61: none})
	}
}

// deleteKeepsProducers: what a partition remembers of its producers does not
// depend on their records (KIP-360).
func deleteKeepsProducers(h *harness) {
	p := h.log("t")
	h.store(p, from(7, 0, 0, 3))
	h.store(p, from(7, 0, 3, 2))
	require.EqualValues(h, 5, h.deleteTo(p, 5))
	require.Equal(h, backend.Appended{BaseOffset: 3, LogStart: 5, AppendTime: -1, Duplicate: true}, h.append(p, from(7, 0, 3, 2)))
	require.ErrorIs(h, h.append(p, from(7, 0, 6, 1)).Err, backend.ErrOutOfOrderSequence)
	require.EqualValues(h, 5, h.store(p, from(7, 0, 5, 1)))
}

// deleteOutlives: the start is where it was after a restart and after a crash,
// and so are the ends of a log that has been emptied.
func deleteOutlives(h *harness) {
	ways := []func() backend.Backend{h.Reopen, h.Crash, h.Crash, h.Reopen}
	p, empty, inside := h.log("t"), h.log("empty"), h.log("inside")
	h.store(inside, recordtest.Values("0", "1", "2", "3", "4", "5"))
	h.numbered(p, 3)
	ended := false
	for i, again := range ways {
		if again == nil {
			continue
		}
		ended = true
		h.numbered(p, 4)
		h.numbered(empty, 2)
		end, start := h.bounds(empty).End, int64(i+1)
		require.Equal(h, end, h.deleteTo(empty, end))
		require.Equal(h, 2*start, h.deleteTo(p, 2*start))
		require.Equal(h, start, h.deleteTo(inside, start))
		h.Backend = again()
		h.onlyFrom(p, backend.Bounds{Start: 2 * start, End: h.bounds(p).End})
		h.onlyFrom(empty, backend.Bounds{Start: end, End: end})
		h.onlyFrom(inside, backend.Bounds{Start: start, End: 6})
	}
	if !ended {
		h.Skip("this backend can neither be reopened nor crashed")
	}
	h.numbered(empty, 2)
	end := h.bounds(empty).End
	h.onlyFrom(empty, backend.Bounds{Start: end - 2, End: end})
}

// deleteAndTopics: the start goes with the topic, and partitions that are added
// begin at 0.
func deleteAndTopics(h *harness) {
	ctx, topic := h.Context(), h.create("t", 1)
	p := backend.Partition{Topic: topic.ID}
	h.numbered(p, 4)
	require.NoError(h, h.Backend.CommitOffsets(ctx, "g", []backend.Commit{commit(p, 1, "below")}))
	require.EqualValues(h, 3, h.deleteTo(p, 3))
	require.Len(h, h.committed("g"), 1, "committed offsets stay where they are")
	require.NoError(h, h.Backend.GrowTopic(ctx, topic.ID, 2))
	h.onlyFrom(p, backend.Bounds{Start: 3, End: 4})
	h.numbered(backend.Partition{Topic: topic.ID, Index: 1}, 2)
	h.onlyFrom(backend.Partition{Topic: topic.ID, Index: 1}, backend.Bounds{End: 2})
	require.NoError(h, h.Backend.DeleteTopic(ctx, topic.ID))
	_, err := h.Backend.DeleteRecords(ctx, p, 4)
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	again := h.log("t")
	h.numbered(again, 2)
	h.onlyFrom(again, backend.Bounds{End: 2})
}

// deleteAndRetain: retention takes no more than it would have, and puts nothing
// back.
func deleteAndRetain(h *harness) {
	if h.Retain == nil {
		h.Skip("retention cannot be applied at will")
	}
	p := h.log("t", "segment.bytes", "1048576", "retention.bytes", "2097152", "retention.ms", "-1")
	kept := h.log("kept", "segment.bytes", "1048576", "retention.ms", "-1", "cleanup.policy", "compact")
	value := string(make([]byte, 700_000))
	for range 6 {
		h.store(p, recordtest.Values(value))
		h.store(kept, recordtest.New(recordtest.Record{Key: []byte("k"), Value: []byte(value)}))
	}
	for _, start := range []int64{1, 4, 5, 6} {
		require.Equal(h, start, h.deleteTo(kept, start))
		require.LessOrEqual(h, start, h.deleteTo(p, start))
		h.Retain()
		require.Equal(h, backend.Bounds{Start: start, End: 6}, h.bounds(kept))
		bounds := h.bounds(p)
		require.GreaterOrEqual(h, bounds.Start, start)
		require.LessOrEqual(h, bounds.Start, max(start, 3))
		require.Len(h, h.readAll(p), int(bounds.End-bounds.Start))
	}
	if h.Reopen != nil {
		h.Backend = h.Reopen()
		require.Equal(h, backend.Bounds{Start: 6, End: 6}, h.bounds(p))
		require.Equal(h, backend.Bounds{Start: 6, End: 6}, h.bounds(kept))
	}
}

// deleteTogether moves the start while others append and read.
func deleteTogether(h *harness) {
	const writers, each = 3, 60
	ctx, p := h.Context(), h.log("t")
	done := make(chan struct{})
	var writing, work sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				out := h.Backend.Append(ctx, []backend.Append{{Partition: p, Batch: recordtest.Values("a", "b").Batch(h)}})
				if out[0].Err != nil {
					h.Errorf("append: %v", out[0].Err)
				}
			}
		})
	}
	work.Go(func() {
		last := int64(0)
		for {
			bounds, err := h.Backend.Bounds(ctx, p)
			if err != nil || bounds.Start < last || bounds.End < bounds.Start {
				h.Errorf("bounds %+v after a start of %d: %v", bounds, last, err)
			}
			start, err := h.Backend.DeleteRecords(ctx, p, (bounds.Start+bounds.End+1)/2)
			if err != nil || start < last {
				h.Errorf("start %d after %d: %v", start, last, err)
			}
			last = start
			select {
			case <-done:
				return
			default:
			}
		}
	})
	work.Go(func() {
		for {
			bounds, err := h.Backend.Bounds(ctx, p)
			if err != nil {
				h.Errorf("bounds: %v", err)
			}
			_, got, err := h.Backend.Read(ctx, backend.Read{Partition: p, Offset: bounds.Start, MaxBytes: 1000, AtLeastOne: true})
			if err != nil && got.Start <= bounds.Start {
				h.Errorf("read at %d of %+v: %v", bounds.Start, got, err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writing.Wait()
	close(done)
	work.Wait()
	bounds := h.bounds(p)
	require.EqualValues(h, 2*writers*each, bounds.End)
	all := h.readAll(p)
	require.Len(h, all, int(bounds.End-bounds.Start))
	for i, r := range all {
		require.Equal(h, bounds.Start+int64(i), r.Offset)
	}
}

// deleteBeforeWaiting: who waits below the new start is told that it is gone.
func deleteBeforeWaiting(h *harness) {
	p := h.log("t")
	h.numbered(p, 3)
	grown, stop := h.Backend.Watch([]backend.Partition{p})
	defer stop()
	require.EqualValues(h, 2, h.deleteTo(p, 2))
	h.outOfRange(p, 1, backend.Bounds{Start: 2, End: 3})
	h.numbered(p, 1)
	wait(h, grown, "an append after the start has moved")
	h.onlyFrom(p, backend.Bounds{Start: 2, End: 4})
}

// describeProducers also finds out that the partition's memory of producers is
// what decides about their batches.
func describeProducers(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	p := backend.Partition{Topic: topic.ID}
	describe := func(p backend.Partition) []backend.ProducerState {
		h.Helper()
		got, err := h.Backend.DescribeProducers(ctx, p)
		require.NoError(h, err)
		for i := range got {
			if last := got[i].LastTimestamp; last != -1 {
				require.InDelta(h, time.Now().UnixMilli(), last, float64(time.Minute/time.Millisecond))
			}
			got[i].LastTimestamp = 0
		}
		return got
	}
	require.Empty(h, describe(p))
	h.store(p, recordtest.Values("nobody's"))
	require.Empty(h, describe(p), "only idempotent producers")
	h.store(p, from(9, 3, 0, 1))
	h.store(p, from(7, 0, 0, 3))
	h.store(p, from(7, 0, 3, 2))
	h.store(p, from(1<<40, 0, 40, 1))
	want := []backend.ProducerState{
		{ID: 7, Epoch: 0, LastSequence: 4}, {ID: 9, Epoch: 3, LastSequence: 0}, {ID: 1 << 40, Epoch: 0, LastSequence: 40},
	}
	require.Equal(h, want, describe(p), "by id")
	require.Empty(h, describe(backend.Partition{Topic: topic.ID, Index: 1}))
	require.True(h, h.append(p, from(7, 0, 3, 2)).Duplicate)
	require.Error(h, h.append(p, from(7, 0, 9, 1)).Err)
	require.Equal(h, want, describe(p), "neither duplicates nor refusals change it")
	h.store(p, from(9, 4, 0, 5))
	want[1] = backend.ProducerState{ID: 9, Epoch: 4, LastSequence: 4}
	require.Equal(h, want, describe(p))
	require.EqualValues(h, h.bounds(p).End, h.deleteTo(p, h.bounds(p).End))
	require.Equal(h, want, describe(p), "it does not depend on the records")
	for _, again := range []func() backend.Backend{h.Reopen, h.Crash} {
		if again != nil && h.KeepsProducers {
			h.Backend = again()
			require.Equal(h, want, describe(p))
		}
	}
}

// unknownForTools is unknownPartitions for the methods that tools need.
func unknownForTools(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	gone := h.create("gone", 1)
	require.NoError(h, h.Backend.DeleteTopic(ctx, gone.ID))
	for p, want := range map[backend.Partition]error{
		{Topic: topic.ID, Index: -1}:      backend.ErrUnknownPartition,
		{Topic: topic.ID, Index: 2}:       backend.ErrUnknownPartition,
		{Topic: topic.ID, Index: 1 << 30}: backend.ErrUnknownPartition,
		{Topic: gone.ID}:                  backend.ErrUnknownTopic,
		{}:                                backend.ErrUnknownTopic,
	} {
		name := strconv.Itoa(int(p.Index))
		_, err := h.Backend.DeleteRecords(ctx, p, 0)
		require.ErrorIs(h, err, want, name)
		_, err = h.Backend.DescribeProducers(ctx, p)
		require.ErrorIs(h, err, want, name)
		if want == backend.ErrUnknownTopic {
			_, err = h.Backend.Sizes(ctx, p.Topic)
			require.ErrorIs(h, err, want, name)
		}
	}
}
