package fetch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/fetch"
)

// waiting is a request that waits up to a minute for min bytes.
func waiting(min int32, asks ...ask) *kmsg.FetchRequest {
	req := request(asks...)
	req.MinBytes, req.MaxWaitMillis = min, 60_000
	return req
}

// Inside a bubble time stands still while anyone works, so what took no time
// did not wait, and what waited a minute waited exactly that.
func TestWaits(t *testing.T) {
	both := []ask{{"a", 0, 0, mib}, {"a", 1, 0, mib}}
	for name, c := range map[string]struct {
		change func(*kmsg.FetchRequest)
		at     map[time.Duration]func(*testing.T, *fake) // events
		took   time.Duration
		code   int16 // of partition 1
		bytes  int
	}{
		"nothing comes":     {took: time.Minute},
		"data comes":        {at: map[time.Duration]func(*testing.T, *fake){10 * time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 1, 100) }}, took: 10 * time.Second, bytes: 100},
		"too little comes":  {change: func(r *kmsg.FetchRequest) { r.MinBytes = 101 }, at: map[time.Duration]func(*testing.T, *fake){10 * time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 1, 100) }}, took: time.Minute, bytes: 100},
		"enough in the end": {change: func(r *kmsg.FetchRequest) { r.MinBytes = 250 }, at: map[time.Duration]func(*testing.T, *fake){1 * time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 0, 100) }, 2 * time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 1, 100) }, 3 * time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 0, 100) }}, took: 3 * time.Second, bytes: 300},
		"no wait":           {change: func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 0 }},
		"negative wait":     {change: func(r *kmsg.FetchRequest) { r.MaxWaitMillis = -1 }},
		"own limit":         {change: func(r *kmsg.FetchRequest) { r.MaxWaitMillis = 1 << 30 }, took: 5 * time.Minute},
		"min bytes 0":       {change: func(r *kmsg.FetchRequest) { r.MinBytes = 0 }},
		"negative min":      {change: func(r *kmsg.FetchRequest) { r.MinBytes = -7 }},
		"min above max": {change: func(r *kmsg.FetchRequest) { r.MinBytes, r.MaxBytes = mib, 100 },
			at: map[time.Duration]func(*testing.T, *fake){time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 1, 100) }}, took: time.Second, bytes: 100},
		"limit of the partition counts": {change: func(r *kmsg.FetchRequest) { r.MinBytes, r.Topics[0].Partitions[1].PartitionMaxBytes = 150, 100 },
			at: map[time.Duration]func(*testing.T, *fake){time.Second: func(t *testing.T, f *fake) { f.add(t, "a", 1, 100, 100) }}, took: time.Minute, bytes: 100},
		"unknown partition does not end the wait": {change: func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[1].Partition = 9 }, took: time.Minute, code: 3},
		"unknown topic does not end the wait": {change: func(r *kmsg.FetchRequest) {
			r.Topics = append(r.Topics, request(ask{"nobody", 0, 0, mib}).Topics...)
		}, took: time.Minute},
		"error ends it":         {change: func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[1].FetchOffset = 5 }, code: 1},
		"epoch ends it":         {change: func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[1].CurrentLeaderEpoch = 5 }, code: 75},
		"error during the wait": {at: map[time.Duration]func(*testing.T, *fake){time.Second: func(_ *testing.T, f *fake) { f.change("a", 1, func(l *partitionLog) { l.err = backend.ErrStorage }) }}, took: time.Second, code: 56},
		"one topic goes away": {at: map[time.Duration]func(*testing.T, *fake){time.Second: func(_ *testing.T, f *fake) {
			f.change("a", 1, func(l *partitionLog) { l.err = backend.ErrUnknownTopic })
		}}, took: time.Minute, code: 3},
		"all topics go away": {at: map[time.Duration]func(*testing.T, *fake){time.Second: func(_ *testing.T, f *fake) {
			for i := range int32(2) {
				f.change("a", i, func(l *partitionLog) { l.err = backend.ErrUnknownTopic })
			}
		}}, took: time.Second, code: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := store("a")
				for after, do := range c.at {
					time.AfterFunc(after, func() { do(t, f) })
				}
				req := waiting(1, both...)
				if c.change != nil {
					c.change(req)
				}
				began := time.Now()
				resp := answer(t, f, req)
				took := time.Since(began)
				require.GreaterOrEqual(t, took, c.took)
				require.LessOrEqual(t, took, c.took+10*time.Millisecond)
				bytes := 0
				for _, p := range parts(t, resp) {
					for _, b := range p.Batches {
						bytes += b
					}
					if p.Topic == "a" && p.Index != 0 {
						require.Equal(t, kerr.TypedErrorForCode(c.code), kerr.TypedErrorForCode(p.Code))
					}
				}
				require.Equal(t, c.bytes, bytes)
				require.Empty(t, f.watchers, "every watch is stopped")
			})
		})
	}
}

// Who waits looks at the logs twice, and not again before something happens.
func TestIdleWaitIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := store("a")
		answer(t, f, waiting(1, ask{"a", 0, 0, mib}))
		require.Equal(t, 3, f.looks, "before the watch, after it, and at the end")
		require.Empty(t, f.reads)
	})
}

// Many small appends do not make a request that waits for many bytes look at
// its partitions each time.
func TestBusyWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := store("a")
		go func() {
			for range 10_000 {
				time.Sleep(100 * time.Microsecond)
				f.change("a", 0, func(*partitionLog) {})
			}
		}()
		req := waiting(mib, ask{"a", 0, 0, mib})
		req.MaxWaitMillis = 1000
		answer(t, f, req)
		require.Less(t, f.looks, 2*1000/5+10)
		synctest.Wait()
	})
}

func TestClientGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := store("a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := fetch.New(f, limits).Handle(ctx, handler.Call{}, waiting(1, ask{"a", 0, 0, mib}))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(began))
		require.Empty(t, f.watchers)
	})
}

// At shut-down everyone gets what there is.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := store("a")
		f.add(t, "a", 0, 100)
		drain, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		resp := answerTo(t, t.Context(), handler.Call{Drain: drain}, f, waiting(1000, ask{"a", 0, 0, mib}))
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, []got{{"a", 0, 0, 0, 1, []int{100}}}, parts(t, resp))
	})
}

func TestMemoryIsCharged(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 1000, 1000)
	charge := func(req *kmsg.FetchRequest) int64 {
		var charged handlertest.Charges
		answerTo(t, context.Background(), handler.Call{Memory: &charged}, f, req)
		return charged.Sum()
	}
	require.Equal(t, int64(4000), charge(request(ask{"a", 0, 0, mib})), "the records twice: as lent, and what may be copied of them")
	require.Equal(t, int64(2000), charge(request(ask{"a", 0, 1, mib})), "not what the client would allow")
	require.Equal(t, int64(2000), charge(request(ask{"a", 0, 0, 1})), "a first batch above the limit")
	require.Zero(t, charge(request(ask{"a", 0, 2, mib}, ask{"a", 1, 0, mib})), "an empty poll costs nothing")

	f.reads = nil
	require.Equal(t, int64(4000), handlertest.Spent(t, fetch.New(f, limits), request(ask{"a", 0, 0, mib})))
	require.Empty(t, f.reads, "charged before it is read")
}

// Whoever holds a part of the budget must not wait for another part: large
// answers would wait for one another until all of them give up.
func TestMemoryIsChargedAtOnce(t *testing.T) {
	f := store("a", "b")
	f.add(t, "a", 0, 1000, 1000)
	f.add(t, "a", 1, 500, 500, 500)
	f.add(t, "b", 0, 700)
	var charged handlertest.Charges
	req := request(ask{"a", 0, 0, mib}, ask{"a", 1, 0, 1200}, ask{"b", 0, 0, mib})
	resp := answerTo(t, context.Background(), handler.Call{Memory: &charged}, f, req)
	require.Equal(t, []got{{"a", 0, 0, 0, 2, []int{1000, 1000}}, {"a", 1, 0, 0, 3, []int{500, 500}}, {"b", 0, 0, 0, 1, []int{700}}}, parts(t, resp))
	require.Equal(t, handlertest.Charges{2 * (2000 + 1200 + 700)}, charged)
}

// A first batch above its limit takes nothing from the other partitions.
func TestFirstBatchAboveItsLimit(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 1000)
	f.add(t, "a", 1, 500)
	var charged handlertest.Charges
	resp := answerTo(t, context.Background(), handler.Call{Memory: &charged}, f, request(ask{"a", 0, 0, 1}, ask{"a", 1, 0, mib}))
	require.Equal(t, []got{{"a", 0, 0, 0, 1, []int{1000}}, {"a", 1, 0, 0, 1, []int{500}}}, parts(t, resp))
	require.Equal(t, int64(2*1500), charged.Sum())
}
