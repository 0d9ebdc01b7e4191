package iggy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// The server tears writes while a producer is at work: all that it got an answer for
// is at its offset, once, and in order, to consumers of this gateway and the next.
func TestTearsWhileWriting(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		b := newBox(t, server, func(c *Config) { c.CacheBytes = 0 })
		p := backend.Partition{Topic: b.makeTopic(1).ID}
		var want []string
		at := map[string]int64{}
		write := func(n int) {
			values := make([]string, n)
			for i := range values {
				values[i] = fmt.Sprint(len(want) + i)
			}
			at[values[0]] = b.insistOn(p, by(1, int32(len(want)), values...))
			want = append(want, values...)
		}
		for round, n := range []int{1, 3, 10, 1, 400} {
			write(2)
			server.Tear("kafka", "t", 0)
			if round%2 == 1 {
				b.reopen()
			}
			write(n)
			write(5)
			require.Equal(t, want, b.readValues(p))
		}
		require.NotZero(t, b.store.repaired.Load())
		for range 2 {
			found := map[string]int64{}
			require.Equal(t, want, b.readOffsets(p, found))
			for v, offset := range at {
				require.Equal(t, offset, found[v], v)
			}
			require.Zero(t, b.store.skipped.Load())
			b.reopen()
		}
	})
}

// The real server is killed under the load of many batches, with the long writes that
// fsync makes, so that some are torn. Consumers that follow meanwhile get every record
// once.
func TestKillsTearNothing(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t)
	b := newBox(t, server, func(c *Config) { c.CacheBytes = 0 })
	const partitions, kills = 4, 8
	topic := b.makeTopic(partitions).ID
	stop := make(chan struct{})
	var work sync.WaitGroup
	sent, followed := make([][]string, partitions), make([][]string, partitions)
	over := make(chan struct{})
	var following sync.WaitGroup
	for index := range int32(partitions) {
		p := backend.Partition{Topic: topic, Index: index}
		following.Go(func() { followed[index] = b.follow(p, over) })
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				values := make([]string, 7)
				for i := range values {
					values[i] = fmt.Sprint(len(sent[index]) + i)
				}
				b.insistOn(p, by(int64(index), int32(len(sent[index])), values...))
				sent[index] = append(sent[index], values...)
			}
		})
	}
	for range kills {
		before := b.store.knownEnd(b.part(backend.Partition{Topic: topic}))
		require.Eventually(t, func() bool { return b.store.knownEnd(b.part(backend.Partition{Topic: topic})) > before+20 }, time.Minute, time.Millisecond)
		server.Kill()
		server.Start()
	}
	close(stop)
	work.Wait()
	close(over)
	following.Wait()
	require.Equal(t, sent, followed)
	t.Logf("%d torn writes", b.store.repaired.Load())
	for range 2 {
		for index := range int32(partitions) {
			require.Equal(t, sent[index], b.readValues(backend.Partition{Topic: topic, Index: index}))
		}
		require.Zero(t, b.store.skipped.Load())
		b.reopen()
	}
}

// follow reads a partition as a consumer does that waits for what comes, until it is
// told that nothing more does and is at the end.
func (b *box) follow(p backend.Partition, over <-chan struct{}) (values []string) {
	woken, stop := b.store.Watch([]backend.Partition{p})
	defer stop()
	for next := int64(0); ; {
		last := false
		select {
		case <-over:
			last = true
		default:
		}
		bytes, bounds, err := b.store.Read(context.Background(), backend.Read{Partition: p, Offset: next, MaxBytes: 1 << 20, AtLeastOne: true})
		for _, r := range backendtest.Records(b, bytes) {
			if r.Offset >= next {
				values, next = append(values, string(r.Value)), r.Offset+1
			}
		}
		if last && err == nil && next >= bounds.End {
			return values
		}
		if len(bytes) == 0 {
			select {
			case <-woken:
			case <-over:
			case <-time.After(10 * time.Millisecond): // as consumers ask again after an error
			}
		}
	}
}

// The first message of a partition, or of a later segment, is torn: the server counts
// wrongly from then on, and nothing is acknowledged that could not be read.
func TestTornFirstMessageOfASegment(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"first": 0, "second": segmentRecords} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
				t.Parallel()
				server := start(t, iggytest.NoFsync(), iggytest.Retention())
				b := newBox(t, server, func(c *Config) { c.CacheBytes = 0 })
				p := backend.Partition{Topic: b.makeTopic(1).ID}
				want := b.fillSegment(p, records)
				server.Tear("kafka", "t", 0)
				refused := func(batch recordtest.Batch) {
					t.Helper()
					require.Eventually(t, func() bool {
						got := b.appendTo(p, batch, time.Minute)
						if got.Err == nil {
							t.Errorf("acknowledged at %d", got.BaseOffset)
						}
						return errors.Is(got.Err, backend.ErrStorage)
					}, time.Minute, 10*time.Millisecond)
				}
				refused(by(1, 0, "a", "b"))
				refused(recordtest.Values("c"))
				b.reopen()
				refused(by(1, 0, "a", "b"))
				b.reopen()
				refused(recordtest.Values("c"))
				require.Equal(t, want, b.readValues(p)[:len(want)])
			})
		})
	}
}

// segmentRecords is how many records fill a segment of iggytest.Retention: it ends with
// the request that comes when it has a MiB.
const segmentRecords = 12

// fillSegment writes records, each in a request, and returns their values.
func (b *box) fillSegment(p backend.Partition, records int) []string {
	values := make([]string, 0, records)
	for i := range records {
		values = append(values, fmt.Sprintf("%0*d", 100_000, i))
		b.insistOn(p, recordtest.Values(values[i]))
	}
	return values
}
