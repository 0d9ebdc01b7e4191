package produce_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/produce"
)

func TestBackendErrors(t *testing.T) {
	for err, code := range map[error]int16{
		backend.ErrOutOfOrderSequence: 45, backend.ErrInvalidProducerEpoch: 47, backend.ErrTooLarge: 10,
		backend.ErrUnavailable:    6,
		backend.ErrOutcomeUnknown: 7, context.DeadlineExceeded: 7, backend.ErrStorage: 56, errors.New("odd"): -1,
	} {
		f := store()
		f.answer = func(a backend.Append) backend.Appended {
			if a.Partition.Index == 1 {
				return backend.Appended{Err: err, BaseOffset: 3, LogStart: 4, AppendTime: 5}
			}
			return backend.Appended{BaseOffset: 8, LogStart: 1, AppendTime: 99}
		}
		ps := answer(t, f, request(9, 1, topic("plain", part(0, recordtest.Values("v").Bytes()), part(1, recordtest.Values("v").Bytes())))).Topics[0].Partitions
		require.Equal(t, []int64{0, 8, 99, 1}, []int64{int64(ps[0].ErrorCode), ps[0].BaseOffset, ps[0].LogAppendTime, ps[0].LogStartOffset})
		require.Equal(t, []int64{int64(code), -1, -1, -1}, []int64{int64(ps[1].ErrorCode), ps[1].BaseOffset, ps[1].LogAppendTime, ps[1].LogStartOffset})
		require.Nil(t, ps[1].ErrorMessage, "a backend's own words stay inside")
	}
}

// Every error answer can be read at every version, whatever failed.
func TestFailingBackend(t *testing.T) {
	for _, err := range []error{backend.ErrUnavailable, backend.ErrOutcomeUnknown, backend.ErrStorage, errors.New("odd")} {
		for version := int16(3); version <= 13; version++ {
			top := topic("plain", part(0, recordtest.Values("v").Bytes()), part(1, nil))
			if version >= 13 {
				top.Topic, top.TopicID = "", uuid.New()
			}
			resp := answer(t, backendtest.Failing(nil, err), request(version, -1, top))
			require.Len(t, resp.Topics[0].Partitions, 2)
			for _, p := range resp.Topics[0].Partitions {
				require.NotZero(t, p.ErrorCode)
			}
		}
	}
}

func TestAcksZero(t *testing.T) {
	good, bad := recordtest.Values("v").Bytes(), []byte("bad")
	for name, c := range map[string]struct {
		req    *kmsg.ProduceRequest
		failed string
		fault  bool // of the gateway, or of its store
	}{
		"all well":       {request(9, 0, topic("plain", part(0, good), part(1, good))), "", false},
		"nothing to do":  {request(9, 0), "", false},
		"one bad batch":  {request(9, 0, topic("plain", part(0, good), part(1, bad))), "partition 1", false},
		"unknown topic":  {request(9, 0, topic("nobody", part(0, good))), "UNKNOWN_TOPIC_OR_PARTITION", false},
		"failing append": {request(9, 0, topic("small", part(1, good))), backend.ErrStorage.Error(), true},
		"both":           {request(9, 0, topic("nobody", part(0, good)), topic("small", part(1, good))), backend.ErrStorage.Error(), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := store()
			f.answer = func(a backend.Append) backend.Appended {
				if a.Partition.Topic == f.topics[1].ID {
					return backend.Appended{Err: backend.ErrStorage}
				}
				return backend.Appended{}
			}
			resp, err := produce.New(f).Handle(context.Background(), handler.Call{}, c.req)
			require.Nil(t, resp)
			if c.failed == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.failed)
			var refusal *handler.Refusal
			require.Equal(t, !c.fault, errors.As(err, &refusal))
		})
	}
}

func TestNothingToAppend(t *testing.T) {
	f := store()
	require.Empty(t, answer(t, f, request(9, 1)).Topics)
	require.Empty(t, answer(t, f, request(9, 1, topic("plain"))).Topics)
	require.Empty(t, f.appended)
}

// A producer that goes away, or has gone, does not stop the append; only the
// request's own deadline does.
func TestDeadline(t *testing.T) {
	for ask, want := range map[int32]time.Duration{
		1000: time.Second, 60_000: 30 * time.Second, 0: 30 * time.Second, -1: 30 * time.Second, math.MinInt32: 30 * time.Second,
	} {
		f := store()
		req := request(9, 1, topic("plain", part(0, recordtest.Values("v").Compressed(record.Gzip).Bytes())))
		req.TimeoutMillis = ask
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		before := time.Now()
		resp, err := produce.New(f).Handle(ctx, handler.Call{}, req)
		require.NoError(t, err)
		require.Zero(t, resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		at, ok := f.ctx.Deadline()
		require.True(t, ok)
		require.WithinDuration(t, before.Add(want), at, 500*time.Millisecond)
	}
}

// Decoders are charged for before they start: once for each size.
func TestDecodersAreCharged(t *testing.T) {
	plain, gzip := recordtest.Values("v").Bytes(), recordtest.Values("v").Compressed(record.Gzip).Batch(t)
	zstd := recordtest.Values("v").Compressed(record.Zstd).Batch(t)
	var charged handlertest.Charges
	req := request(9, 1, topic("plain", part(0, plain), part(1, bytes.Clone(gzip.Bytes))),
		topic("small", part(0, bytes.Clone(gzip.Bytes))), topic("stamped", part(0, zstd.Bytes), part(1, bytes.Clone(gzip.Bytes))))
	_, err := produce.New(store()).Handle(context.Background(), handler.Call{Memory: &charged}, req)
	require.NoError(t, err)
	require.Equal(t, handlertest.Charges{gzip.DecoderMemory(), zstd.DecoderMemory() - gzip.DecoderMemory()}, charged)

	f := store()
	handlertest.Spent(t, produce.New(f), req)
	require.Empty(t, f.appended)
}

// 10,000 partitions in one request pass, with one look-up a topic and one append.
func TestManyPartitions(t *testing.T) {
	f := store()
	f.topics[0].Partitions = 10_000
	good := recordtest.Values("v").Bytes()
	top := topic("plain")
	for i := range int32(10_000) {
		top.Partitions = append(top.Partitions, part(i, good))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp := answer(t, f, request(9, 1, top))
	runtime.ReadMemStats(&after)
	require.Len(t, resp.Topics[0].Partitions, 10_000)
	require.Len(t, f.appended, 1)
	require.Len(t, f.appended[0], 10_000)
	require.Equal(t, 1, f.lookups)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20))
}

// discard is a store that keeps nothing.
type discard struct{ *fake }

func (d discard) Append(_ context.Context, batches []backend.Append) []backend.Appended {
	return make([]backend.Appended, len(batches))
}
