package iggy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// A test with a server has a topic of one partition.
func (b *box) topic(name string) (backend.Partition, client.Topic) {
	b.Helper()
	topic, err := b.store.CreateTopic(context.Background(), backend.NewTopic{Name: name, Partitions: 1})
	require.NoError(b, err)
	return backend.Partition{Topic: topic.ID}, client.Topic{Stream: b.cfg.Stream, Name: name}
}

func (b *box) produce(id backend.Partition, batch recordtest.Batch) int64 {
	b.Helper()
	out := b.store.Append(context.Background(), []backend.Append{{Partition: id, Batch: batch.Batch(b)}})
	require.NoError(b, out[0].Err)
	return out[0].BaseOffset
}

// native sends as an Iggy client does.
func (b *box) native(at client.Topic, messages ...message.Message) {
	b.Helper()
	require.Eventually(b, func() bool {
		return b.store.data.Send(context.Background(), at, 0, messages) == nil
	}, soon, 10*time.Millisecond)
}

func (b *box) read(id backend.Partition, at int64, most int) ([]byte, backend.Bounds, error) {
	return b.store.Read(context.Background(), backend.Read{Partition: id, Offset: at, MaxBytes: most, AtLeastOne: true})
}

// consume reads to the end of the log, as a consumer does.
func (b *box) consume(id backend.Partition, at int64, most int) (all []backendtest.Record) {
	b.Helper()
	for stuck := time.Now(); ; {
		got, bounds, err := b.read(id, at, most)
		require.NoError(b, err)
		if at >= bounds.End {
			return all
		}
		before := at
		for len(got) > 0 {
			batch, rest, err := record.Parse(got)
			require.NoError(b, err)
			if !batch.Control() {
				for _, r := range backendtest.Records(b, batch.Bytes) {
					if r.Offset >= at {
						all = append(all, r)
					}
				}
			}
			at, got = batch.LastOffset()+1, rest
		}
		if at > before {
			stuck = time.Now()
		}
		require.Less(b, time.Since(stuck), soon, "no progress at %d of %+v", at, bounds)
	}
}

func values(rs []backendtest.Record) (all []string) {
	for _, r := range rs {
		all = append(all, string(r.Value))
	}
	return all
}

// Both kinds of writers on one partition: a reader sees every record once, in
// order, from the cache and from the server.
func TestBothKindsOfWriters(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		for _, budget := range []int64{64 << 20, 1000, 0} {
			name := fmt.Sprint("t", budget)
			b := newPatientBox(t, server, time.Minute, func(c *Config) { c.CacheBytes, c.InternalStream = budget, "internal-"+name })
			id, at := b.topic(name)
			var want []string
			for i := range 30 {
				v := fmt.Sprint("kafka ", i)
				require.EqualValues(t, len(want), b.produce(id, recordtest.Values(v, v).Compressed(record.Codec(i%5))))
				want = append(want, v, v)
				if i%3 == 0 {
					v := fmt.Sprint("native ", i)
					b.native(at, natives(v, v, v)...)
					want = append(want, v, v, v)
				}
			}
			require.Eventually(t, func() bool {
				_, bounds, err := b.read(id, 0, 1)
				return err == nil && bounds.End == int64(len(want))
			}, soon, time.Millisecond)
			for _, most := range []int{1, 100, 1000, 1 << 20} {
				for _, from := range []int64{0, 1, 17, 60, 89, 90} {
					require.Equal(t, slices.Clip(want[from:]), append([]string{}, values(b.consume(id, from, most))...), "%d bytes from %d", most, from)
				}
			}
			b.close()
		}
	})
}

// An offset that the server cannot read holds nobody up; the record that was
// acknowledged with it is not lost.
func TestTornOffset(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t)
		b := newPatientBox(t, server, time.Minute, func(c *Config) { c.CacheBytes = 0 })
		id, at := b.topic("t")
		b.produce(id, recordtest.Values("0", "1", "2"))
		server.Tear(at.Stream, at.Name, 0)
		b.native(at, natives("3", "4")...)
		b.native(at, natives("5", "6", "7")...)
		require.Eventually(t, func() bool {
			bounds, err := b.store.Bounds(context.Background(), id)
			return err == nil && bounds.End == 8
		}, soon, 10*time.Millisecond)
		got := b.consume(id, 0, 1<<20)
		t.Logf("read %v; left out: %d", values(got), b.store.skipped.Load())
		require.EqualValues(t, 8, int64(len(got))+b.store.skipped.Load())
		for _, r := range got {
			require.Equal(t, fmt.Sprint(r.Offset), string(r.Value))
		}
		require.Zero(t, b.store.skipped.Load())
		found, err := b.store.FindTime(context.Background(), id, recordtest.Time)
		require.NoError(t, err)
		require.Zero(t, found.Offset)
	})
}

// The largest message that Iggy stores.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		if testing.Short() {
			t.Skip("short")
		}
		t.Parallel()
		b := newBox(t, start(t, iggytest.NoFsync()), func(c *Config) { c.CacheBytes, c.RequestTimeout = 1<<20, time.Minute })
		id, at := b.topic("t")
		large := native("", 1_000_000)
		large.Payload = bytes.Repeat([]byte("x"), message.MaxPayload)
		large.Header.PayloadLength = message.MaxPayload
		b.native(at, natives("before")...)
		b.native(at, large)
		b.native(at, natives("after")...)
		for range 2 {
			got := b.consume(id, 0, 1<<20)
			require.Len(t, got, 3)
			require.Len(t, got[1].Value, message.MaxPayload)
			require.Equal(t, "after", string(got[2].Value))
		}
		require.LessOrEqual(t, b.store.cache.bytes, int64(1<<20))
	})
}

// Messages of one send have one time at the server: a look-up finds the first of
// them, on disk and in memory, and by the time that they carry.
func TestTimesOfRealServers(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		for _, save := range []string{"1", "1000"} {
			b := newPatientBox(t, start(t, iggytest.NoFsync(), iggytest.Env("IGGY_SYSTEM_PARTITION_MESSAGES_REQUIRED_TO_SAVE", save)), time.Minute)
			id, at := b.topic("t")
			for i := range 20 {
				b.native(at, natives(strings.Split(strings.Repeat(fmt.Sprint(i, " "), 9)+fmt.Sprint(i), " ")...)...)
			}
			b.native(at, native("late", 1_000_000), native("early", uint64(time.Now().Add(5*time.Second).UnixMicro())), native("plain", 0))
			all := b.consume(id, 0, 1<<20)
			require.Len(t, all, 203)
			most := all[0]
			for _, r := range all {
				if r.Timestamp > most.Timestamp {
					most = r
				}
				want := slices.IndexFunc(all, func(o backendtest.Record) bool { return o.Timestamp >= r.Timestamp })
				found, err := b.store.FindTime(context.Background(), id, r.Timestamp)
				require.NoError(t, err)
				require.EqualValues(t, want, found.Offset, "%d of record %d", r.Timestamp, r.Offset)
			}
			found, err := b.store.FindMaxTime(context.Background(), id)
			require.NoError(t, err)
			require.Equal(t, backend.Found{Offset: most.Offset, Timestamp: most.Timestamp}, found)
			require.Equal(t, "early", string(most.Value))
			b.close()
		}
	})
}

// A restart of the server: refused while it is away, unless the cache has it, and
// everything is there again afterwards.
func TestReadingOverARestart(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t)
		b := newBox(t, server)
		id, at := b.topic("t")
		b.native(at, natives("0", "1")...)
		b.produce(id, recordtest.Values("2"))
		require.Len(t, b.consume(id, 0, 1<<20), 3)
		grown, stop := b.store.Watch([]backend.Partition{id})
		defer stop()
		server.Kill()
		require.Eventually(t, func() bool {
			_, _, err := b.read(id, 0, 100)
			return err != nil
		}, soon, time.Millisecond)
		began := time.Now()
		for range 20 {
			_, _, err := b.read(id, 0, 100)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			got, _, err := b.read(id, 2, 100)
			require.NoError(t, err)
			require.Equal(t, []string{"2"}, values(backendtest.Records(t, got)))
		}
		require.Less(t, time.Since(began), 5*time.Second, "at once")
		for len(grown) > 0 {
			<-grown
		}
		server.Start()
		woken(t, grown)
		require.Equal(t, []string{"0", "1", "2"}, values(b.consume(id, 0, 1<<20)))
	})
}

// How long a consumer at the end of a log waits for a record.
func TestWatchLatency(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		b := newBox(t, start(t, iggytest.NoFsync()))
		id, at := b.topic("t")
		measure := func(kind string, write func(i int)) {
			var took []time.Duration
			_, bounds, err := b.read(id, 0, 1)
			require.NoError(t, err)
			next := bounds.End
			for i := range 15 {
				written := make(chan time.Time, 1)
				grown, stop := b.store.Watch([]backend.Partition{id})
				// Wherever the poller is.
				time.AfterFunc(time.Duration(i*17)*time.Millisecond, func() {
					written <- time.Now()
					write(i)
				})
				for {
					n, _, err := b.store.Available(context.Background(), id, next, 1)
					require.NoError(t, err)
					if n > 0 {
						break
					}
					woken(t, grown)
				}
				got, _, err := b.read(id, next, 1<<20)
				require.NoError(t, err)
				require.NotEmpty(t, got)
				took = append(took, time.Since(<-written))
				stop()
				next++
			}
			slices.Sort(took)
			t.Logf("a record %s is seen after %v (median), %v at most", kind, took[len(took)/2], took[len(took)-1])
			require.Less(t, took[len(took)/2], 5*time.Second)
		}
		measure("through the gateway", func(int) {
			b.store.Append(context.Background(), []backend.Append{{Partition: id, Batch: recordtest.Values("x").Batch(t)}})
		})
		measure("of a native client", func(int) {
			_ = b.store.data.Send(context.Background(), at, 0, natives("x"))
		})
	})
}
