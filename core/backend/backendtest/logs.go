package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func appendAndRead(h *harness) {
	ctx, topic := h.Context(), h.create("t", 3)
	zero, one := backend.Partition{Topic: topic.ID}, backend.Partition{Topic: topic.ID, Index: 1}
	require.Equal(h, backend.Bounds{}, h.bounds(zero))
	require.Empty(h, h.read(zero, 0), "an empty log")

	full := recordtest.New(
		recordtest.Record{Key: []byte("k"), Value: []byte("v"), Timestamp: 1_600_000_000_001, Headers: []kmsg.Header{
			{Key: "z", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "z", Value: []byte("2")},
		}},
		recordtest.Record{},
	)
	batches := []recordtest.Batch{recordtest.Values("a", "b"), full, recordtest.Values("c")}
	out := h.Backend.Append(ctx, []backend.Append{
		{Partition: zero, Batch: batches[0].Batch(h)},
		{Partition: one, Batch: batches[1].Batch(h)},
		{Partition: zero, Batch: batches[2].Batch(h)},
	})
	require.Equal(h, []backend.Appended{
		{BaseOffset: 0, AppendTime: -1}, {BaseOffset: 0, AppendTime: -1}, {BaseOffset: 2, AppendTime: -1},
	}, out)
	require.Equal(h, backend.Bounds{End: 3}, h.bounds(zero))
	require.Equal(h, []string{"a", "b", "c"}, values(h.readAll(zero)))
	require.Equal(h, []Record{
		{
			Offset: 0, Timestamp: 1_600_000_000_001, Key: []byte("k"), Value: []byte("v"),
			Headers: []kmsg.Header{{Key: "z", Value: []byte("1")}, {Key: "a"}, {Key: "z", Value: []byte("2")}},
		},
		{Offset: 1, Timestamp: recordtest.Time},
	}, h.readAll(one))
	require.Empty(h, h.readAll(backend.Partition{Topic: topic.ID, Index: 2}))

	if h.Verbatim {
		b, _, err := h.Backend.Read(ctx, backend.Read{Partition: zero, MaxBytes: 1 << 20})
		require.NoError(h, err)
		first, last := batches[0].Batch(h), batches[2].Batch(h)
		first.SetLeaderEpoch(0)
		last.SetBaseOffset(2)
		last.SetLeaderEpoch(0)
		require.Equal(h, append(first.Bytes, last.Bytes...), b)
	}
}

func readLimits(h *harness) {
	ctx, p := h.Context(), h.log("t")
	for range 5 {
		h.store(p, recordtest.Values(strings.Repeat("x", 400), strings.Repeat("y", 400)))
	}
	b, _, err := h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 1 << 20})
	require.NoError(h, err)
	whole := split(h, b)
	require.NotEmpty(h, whole)
	size := len(whole[0].Bytes)
	for _, limit := range []int{-1, 0, 1, size - 1} {
		got, bounds, err := h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: limit})
		require.NoError(h, err)
		require.Empty(h, got, "limit %d", limit)
		require.Equal(h, backend.Bounds{End: 10}, bounds)
		got, _, err = h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: limit, AtLeastOne: true})
		require.NoError(h, err)
		require.Len(h, split(h, got), 1, "limit %d (KIP-74)", limit)
	}
	got, _, err := h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: size})
	require.NoError(h, err)
	require.Len(h, got, size, "a limit that fits exactly")
	if len(whole) > 1 {
		got, _, err = h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 2*size + size/2})
		require.NoError(h, err)
		require.LessOrEqual(h, len(got), 2*size+size/2)
		require.NotEmpty(h, split(h, got))
	}
}

func readRange(h *harness) {
	ctx, p := h.Context(), h.log("t")
	for i := range 4 {
		h.store(p, recordtest.Values(fmt.Sprint(3*i), fmt.Sprint(3*i+1), fmt.Sprint(3*i+2)))
	}
	want := backend.Bounds{End: 12}
	for _, offset := range []int64{-1, 13, 1 << 60} {
		b, bounds, err := h.Backend.Read(ctx, backend.Read{Partition: p, Offset: offset, MaxBytes: 1000})
		require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
		require.Equal(h, want, bounds, "bounds come with the error")
		require.Empty(h, b)
		_, bounds, err = h.Backend.Available(ctx, p, offset, 1000)
		require.ErrorIs(h, err, backend.ErrOffsetOutOfRange)
		require.Equal(h, want, bounds)
	}
	b, bounds, err := h.Backend.Read(ctx, backend.Read{Partition: p, Offset: 12, MaxBytes: 1000, AtLeastOne: true})
	require.NoError(h, err)
	require.Empty(h, b)
	require.Equal(h, want, bounds)
	for offset := range int64(12) {
		got := h.read(p, offset)
		require.LessOrEqual(h, got[0].Offset, offset, "the batch that holds the offset comes whole")
		require.Greater(h, got[0].Offset+3, offset)
		require.EqualValues(h, 11, got[len(got)-1].Offset)
	}
}

func unknownPartitions(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	for p, want := range map[backend.Partition]error{
		{Topic: topic.ID, Index: -1}:      backend.ErrUnknownPartition,
		{Topic: topic.ID, Index: 2}:       backend.ErrUnknownPartition,
		{Topic: topic.ID, Index: 1 << 30}: backend.ErrUnknownPartition,
		{Topic: uuid.New()}:               backend.ErrUnknownTopic,
		{}:                                backend.ErrUnknownTopic,
	} {
		require.ErrorIs(h, h.append(p, recordtest.Values("x")).Err, want)
		_, _, err := h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 100})
		require.ErrorIs(h, err, want)
		_, _, err = h.Backend.Available(ctx, p, 0, 100)
		require.ErrorIs(h, err, want)
		_, err = h.Backend.Bounds(ctx, p)
		require.ErrorIs(h, err, want)
		_, err = h.Backend.FindTime(ctx, p, 0)
		require.ErrorIs(h, err, want)
		_, err = h.Backend.FindMaxTime(ctx, p)
		require.ErrorIs(h, err, want)
	}
	// One bad partition does not harm the others.
	good := backend.Partition{Topic: topic.ID}
	out := h.Backend.Append(ctx, []backend.Append{
		{Partition: backend.Partition{Topic: topic.ID, Index: 9}, Batch: recordtest.Values("x").Batch(h)},
		{Partition: good, Batch: recordtest.Values("y").Batch(h)},
	})
	require.ErrorIs(h, out[0].Err, backend.ErrUnknownPartition)
	require.NoError(h, out[1].Err)
	require.Equal(h, []string{"y"}, values(h.readAll(good)))
}

func ownership(h *harness) {
	ctx, p := h.Context(), h.log("t")
	b := recordtest.Values("precious").Batch(h)
	require.NoError(h, h.Backend.Append(ctx, []backend.Append{{Partition: p, Batch: b}})[0].Err)
	clear(b.Bytes)
	for range 2 {
		got, _, err := h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 1000})
		require.NoError(h, err)
		require.Equal(h, []string{"precious"}, values(Records(h, got)))
		clear(got)
		got = append(got, "more"...)
		clear(got)
	}
}

func readBuffer(h *harness) {
	ctx, p := h.Context(), h.log("t")
	for range 5 {
		h.store(p, recordtest.Values(strings.Repeat("x", 400)))
	}
	want := h.read(p, 0)
	for _, size := range []int{0, 1, 100, 1 << 20} {
		for _, first := range []backend.Read{{MaxBytes: 1 << 20}, {MaxBytes: 1, AtLeastOne: true}} {
			buf := bytes.Repeat([]byte("junk"), size)
			r := first
			r.Partition, r.Buf = p, buf[:size/2]
			got, _, err := h.Backend.Read(ctx, r)
			require.NoError(h, err)
			require.NotEmpty(h, got)
			records := Records(h, got)
			require.Equal(h, want[:len(records)], records, "a buffer of %d bytes", 4*size)
		}
	}
}

func codecs(h *harness) {
	p := h.log("t")
	var want []string
	for codec := record.None; codec <= record.Zstd; codec++ {
		v := strings.Repeat(fmt.Sprint(codec), 100)
		h.store(p, recordtest.Values(v, v+"!").Compressed(codec))
		want = append(want, v, v+"!")
	}
	require.Equal(h, want, values(h.readAll(p)))
}

func available(h *harness) {
	ctx, p := h.Context(), h.log("t")
	for i := range 20 {
		h.store(p, recordtest.Values(strings.Repeat("x", 50*i), "y"))
	}
	for offset := range int64(41) {
		got, bounds, err := h.Backend.Available(ctx, p, offset, 1<<30)
		require.NoError(h, err)
		require.Equal(h, backend.Bounds{End: 40}, bounds)
		b, _, err := h.Backend.Read(ctx, backend.Read{Partition: p, Offset: offset, MaxBytes: 1 << 20})
		require.NoError(h, err)
		if h.Verbatim {
			require.EqualValues(h, len(b), got, "offset %d", offset)
		} else {
			require.Equal(h, len(b) > 0, got > 0, "offset %d", offset)
		}
		few, _, err := h.Backend.Available(ctx, p, offset, 10)
		require.NoError(h, err)
		require.EqualValues(h, min(got, 10), few)
	}
}

func appendOrder(h *harness) {
	const writers, each = 4, 50
	p := h.log("t")
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			last := int64(-1)
			for i := range each {
				b := recordtest.Values(fmt.Sprintf("%d-%d", w, i))
				out := h.Backend.Append(h.Context(), []backend.Append{{Partition: p, Batch: b.Batch(h)}})
				if out[0].Err != nil || out[0].BaseOffset <= last {
					h.Errorf("writer %d, batch %d: %+v after %d", w, i, out[0], last)
				}
				last = out[0].BaseOffset
			}
		})
	}
	work.Wait()
	all := h.readAll(p)
	require.Len(h, all, writers*each)
	next := map[string]int{}
	for i, r := range all {
		require.EqualValues(h, i, r.Offset)
		w, n, _ := bytes.Cut(r.Value, []byte("-"))
		require.Equal(h, fmt.Sprint(next[string(w)]), string(n))
		next[string(w)]++
	}
}

// appendFirst has consumers look at each log just when its first records come: a start
// behind 0 would have them leave these out.
func appendFirst(h *harness) {
	const partitions = 50
	ctx, topic := h.Context(), h.create("t", partitions)
	for i := range int32(partitions) {
		p := backend.Partition{Topic: topic.ID, Index: i}
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() {
				for end := int64(0); end == 0 && !h.Failed(); {
					b, err := h.Backend.Bounds(ctx, p)
					if err == nil {
						end = b.End
						_, b, err = h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 1000})
					}
					if err != nil || b.Start != 0 {
						h.Errorf("partition %d: %+v, %v", i, b, err)
						return
					}
				}
			})
		}
		h.store(p, recordtest.Values("first"))
		work.Wait()
		require.Equal(h, []string{"first"}, values(h.readAll(p)))
	}
}

func appendEnded(h *harness) {
	p := h.log("t")
	ctx, cancel := context.WithCancel(h.Context())
	cancel()
	out := h.Backend.Append(ctx, []backend.Append{{Partition: p, Batch: recordtest.Values("x").Batch(h)}})
	require.ErrorIs(h, out[0].Err, context.Canceled)
}
