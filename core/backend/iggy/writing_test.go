package iggy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// makeTopic makes a topic, however long that takes a busy machine: boxes whose
// requests have little time are for what comes after.
func (b *box) makeTopic(partitions int32) (topic backend.Topic) {
	b.Helper()
	require.Eventually(b, func() (made bool) {
		_, err := b.store.CreateTopic(context.Background(), backend.NewTopic{Name: "t", Partitions: partitions})
		if err == nil || errors.Is(err, backend.ErrTopicExists) {
			topic, err = b.store.Topic(context.Background(), "t")
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return topic
}

func (b *box) appendTo(p backend.Partition, batch recordtest.Batch, within time.Duration) backend.Appended {
	return appendWithin(b, b.store, p, batch, within)
}

func appendWithin(t testing.TB, s *Store, p backend.Partition, batch recordtest.Batch, within time.Duration) backend.Appended {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return s.Append(ctx, []backend.Append{{Partition: p, Batch: batch.Batch(t)}})[0]
}

// insistOn appends a batch as an idempotent producer does, which sends it again
// until it has an answer.
func (b *box) insistOn(p backend.Partition, batch recordtest.Batch) int64 {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		got := b.appendTo(p, batch, 2*time.Second)
		if got.Err == nil {
			return got.BaseOffset
		}
		retriable := errors.Is(got.Err, backend.ErrUnavailable) || errors.Is(got.Err, backend.ErrOutcomeUnknown) || errors.Is(got.Err, context.DeadlineExceeded)
		if !retriable || time.Now().After(deadline) {
			require.NoError(b, got.Err)
		}
		time.Sleep(5 * time.Millisecond) // as producers do between two tries
	}
}

// log reads what a partition of topic t holds, past the gateway's own cache.
func (b *box) log(p backend.Partition) (values []string) {
	b.Helper()
	for next := uint64(0); ; {
		polled, err := b.store.data.Poll(context.Background(), client.Topic{Stream: "kafka", Name: "t"}, uint32(p.Index), iggcon.OffsetPollingStrategy(next), 1000)
		require.NoError(b, err)
		if len(polled.Messages) == 0 {
			return values
		}
		for _, m := range polled.Messages {
			require.EqualValues(b, len(values), m.Header.Offset)
			values = append(values, string(m.Payload))
		}
		next = uint64(len(values))
	}
}

// readValues reads what consumers see.
func (b *box) readValues(p backend.Partition) (values []string) {
	b.Helper()
	return b.readOffsets(p, map[string]int64{})
}

// readOffsets is readValues, which notes where each value is.
func (b *box) readOffsets(p backend.Partition, at map[string]int64) (values []string) {
	b.Helper()
	for next := int64(0); ; {
		bytes, bounds, err := b.store.Read(context.Background(), backend.Read{Partition: p, Offset: next, MaxBytes: 1 << 20, AtLeastOne: true})
		require.NoError(b, err)
		for _, r := range backendtest.Records(b, bytes) {
			if r.Offset >= next {
				at[string(r.Value)] = r.Offset
				values, next = append(values, string(r.Value)), r.Offset+1
			}
		}
		if next >= bounds.End {
			return values
		}
	}
}

// A send goes wrong in every way; its records are there once.
func TestFaultsOfSends(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]standintest.Fault{
		"cut before":      {Kind: standintest.CutBefore, Times: 2},
		"cut after":       {Kind: standintest.CutAfter, Times: 2},
		"cut within":      {Kind: standintest.CutWithin, Bytes: 3},
		"silent before":   {Kind: standintest.SilentBefore},
		"silent after":    {Kind: standintest.SilentAfter},
		"slow drip":       {Kind: standintest.Drip, Pace: 200 * time.Millisecond},
		"wrong length":    {Kind: standintest.WrongLength, Length: math.MaxUint32},
		"longer than is":  {Kind: standintest.WrongLength, Length: 100},
		"error of a disk": {Kind: standintest.RefuseAfter, Status: 5000},
		"not logged in":   {Kind: standintest.Refuse, Status: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := iggytest.StandIn(t)
			b := newBox(t, server, func(c *Config) { c.RequestTimeout = 300 * time.Millisecond })
			p := backend.Partition{Topic: b.makeTopic(1).ID}
			require.EqualValues(t, 0, b.insistOn(p, by(1, 0, "a", "b")))
			fault.Code, fault.Topic = wiretest.SendMessages, "t"
			injected := server.Inject(fault)
			released := make(chan struct{})
			go func() {
				defer close(released)
				<-injected.Struck()
				time.Sleep(500 * time.Millisecond) // longer than the gateway waits
				injected.Release()
			}()
			require.EqualValues(t, 2, b.insistOn(p, by(1, 2, "c", "d")))
			<-released
			require.EqualValues(t, 4, b.insistOn(p, by(1, 4, "e")))
			require.EqualValues(t, 2, b.insistOn(p, by(1, 2, "c", "d")))
			require.Equal(t, []string{"a", "b", "c", "d", "e"}, b.log(p))
			require.NotZero(t, injected.Hits())
		})
	}
}

// Native clients of the SDK and producers write to one partition: every answer
// names the place where the records are.
func TestNativeWriters(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		const writers, each = 4, 60
		b := newBox(t, start(t, iggytest.NoFsync()))
		p := backend.Partition{Topic: b.makeTopic(1).ID}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { defer close(stopped); writeNatively(b, stop) }()
		at := map[string]int64{}
		var mu sync.Mutex
		var work sync.WaitGroup
		for w := range int64(writers) {
			work.Go(func() {
				for i := range int32(each) {
					values := []string{fmt.Sprintf("%d/%d", w, 2*i), fmt.Sprintf("%d/%d", w, 2*i+1)}
					got := b.appendTo(p, by(w, 2*i, values...), time.Minute)
					if got.Err != nil {
						t.Errorf("%v: %v", values, got.Err)
						return
					}
					mu.Lock()
					at[values[0]], at[values[1]] = got.BaseOffset, got.BaseOffset+1
					mu.Unlock()
				}
			})
		}
		work.Wait()
		close(stop)
		<-stopped
		log := b.log(p)
		natives := 0
		for offset, v := range log {
			if strings.HasPrefix(v, "native") {
				natives++
				continue
			}
			require.EqualValues(t, offset, at[v], v)
		}
		require.Equal(t, len(at), len(log)-natives)
		require.Len(t, at, 2*writers*each)
		require.NotZero(t, natives)
	})
}

// writeNatively writes to partition 0 of topic t with the SDK until it is told to
// stop.
func writeNatively(b *box, stop <-chan struct{}) {
	sdk, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(b.server.Address())))
	require.NoError(b, err)
	defer sdk.Close()
	_, err = sdk.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(b, err)
	stream, _ := iggcon.NewIdentifier("kafka")
	topic, _ := iggcon.NewIdentifier("t")
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		m, err := iggcon.NewIggyMessage([]byte(fmt.Sprint("native ", i)))
		if err == nil {
			err = sdk.SendMessages(stream, topic, iggcon.PartitionId(0), []iggcon.IggyMessage{m})
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
}

// Gateway, server and both are killed under load: nothing that was acknowledged
// is lost, nothing is there twice, and order is kept.
func TestKillsWhileWriting(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		const writers, kills = 3, 6
		b := newBox(t, start(t, iggytest.NoFsync()))
		p := backend.Partition{Topic: b.makeTopic(1).ID}
		var store atomic.Pointer[Store]
		store.Store(b.store)
		stop := make(chan struct{})
		sent := make([]int32, writers)
		var work sync.WaitGroup
		for w := range writers {
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					n := sent[w]
					batch := by(int64(w), n, fmt.Sprintf("%d/%d", w, n), fmt.Sprintf("%d/%d", w, n+1))
					for acknowledged := false; !acknowledged; {
						got := appendWithin(t, store.Load(), p, batch, 2*time.Second)
						if acknowledged = got.Err == nil; !acknowledged && !isRetriable(got.Err) && !errors.Is(got.Err, context.DeadlineExceeded) {
							t.Errorf("%d/%d: %v", w, n, got.Err)
							return
						}
					}
					sent[w] += 2
				}
			})
		}
		for i := range kills {
			before := b.store.knownEnd(b.part(p))
			require.Eventually(t, func() bool { return b.store.knownEnd(b.part(p)) > before+20 }, time.Minute, time.Millisecond)
			if i%2 == 0 {
				b.server.Kill()
				b.server.Start()
				continue
			}
			b.drop() // its callers get errors
			b.open()
			store.Store(b.store)
		}
		close(stop)
		work.Wait()
		next := make([]int32, writers)
		for _, v := range b.readValues(p) {
			var w, n int32
			_, err := fmt.Sscanf(v, "%d/%d", &w, &n)
			require.NoError(t, err, v)
			require.Equal(t, next[w], n, v)
			next[w]++
		}
		require.Equal(t, sent, next)
	})
}

func (b *box) part(id backend.Partition) *partition {
	b.Helper()
	p, err := b.store.partition(context.Background(), id)
	require.NoError(b, err)
	return p
}
