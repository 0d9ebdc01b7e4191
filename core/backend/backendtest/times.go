package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// at is a batch of records with the given timestamps.
func at(ms ...int64) recordtest.Batch {
	b := recordtest.New()
	for _, m := range ms {
		b.Records = append(b.Records, recordtest.Record{Value: []byte("v"), Timestamp: m})
	}
	return b
}

func findTime(h *harness) {
	ctx, p := h.Context(), h.log("t")
	none := backend.Found{Offset: -1, Timestamp: -1}
	got, err := h.Backend.FindTime(ctx, p, 0)
	require.NoError(h, err)
	require.Equal(h, none, got, "an empty log")

	h.store(p, at(100, 110))
	h.store(p, at(105, 130, 120).Compressed(record.Zstd))
	h.store(p, at(90).Compressed(record.LZ4))
	h.store(p, at(140, 150))
	for ms, want := range map[int64]backend.Found{
		0: {Offset: 0, Timestamp: 100}, 100: {Offset: 0, Timestamp: 100}, 101: {Offset: 1, Timestamp: 110},
		111: {Offset: 3, Timestamp: 130}, 130: {Offset: 3, Timestamp: 130}, 131: {Offset: 6, Timestamp: 140},
		150: {Offset: 7, Timestamp: 150}, 151: none,
	} {
		got, err := h.Backend.FindTime(ctx, p, ms)
		require.NoError(h, err)
		require.Equal(h, want, got, "at least %d", ms)
	}
}

func findMaxTime(h *harness) {
	ctx, p := h.Context(), h.log("t")
	want := func(offset, ms int64) {
		h.Helper()
		got, err := h.Backend.FindMaxTime(ctx, p)
		require.NoError(h, err)
		require.Equal(h, backend.Found{Offset: offset, Timestamp: ms}, got)
	}
	want(-1, -1)
	h.store(p, at(100))
	want(0, 100)
	h.store(p, at(90, 120, 110, 120).Compressed(record.Gzip))
	want(2, 120)
	h.store(p, at(120, 50))
	want(2, 120)
	h.store(p, at(121))
	want(7, 121)
}

func logAppendTime(h *harness) {
	ctx, p := h.Context(), h.log("t", "message.timestamp.type", "LogAppendTime")
	got := h.append(p, at(100, 200))
	require.NoError(h, got.Err)
	require.InDelta(h, time.Now().UnixMilli(), got.AppendTime, float64(time.Minute/time.Millisecond))
	for i, r := range h.readAll(p) {
		require.EqualValues(h, i, r.Offset)
		require.Equal(h, got.AppendTime, r.Timestamp)
	}
	found, err := h.Backend.FindTime(ctx, p, 201)
	require.NoError(h, err)
	require.Equal(h, backend.Found{Offset: 0, Timestamp: got.AppendTime}, found)
	found, err = h.Backend.FindTime(ctx, p, got.AppendTime+1)
	require.NoError(h, err)
	require.EqualValues(h, -1, found.Offset)
}
