package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestPowerLoss takes the power away from under load: all or some of what was
// not synced is lost. With storage.sync everything acknowledged is there.
// Without, some of it is, each record where it was. Either way the store opens
// and writing goes on.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{false, true} {
		for _, percent := range []int{0, 30, 90} {
			t.Run(fmt.Sprintf("sync=%v/%d%%", sync, percent), func(t *testing.T) {
				t.Parallel()
				cfg := embedded.DefaultConfig()
				cfg.Sync = sync
				b := newBox(t, nil, cfg)
				load := newLoad(b)
				for round := range 4 {
					load.run(round)
					// While it ran, the power went.
					snapshot := crashed(b.fs.(*vfs.MemFS), percent, uint64(round))
					load.stop()
					b.close()
					b.fs = snapshot
					boot := fmt.Sprint("boot ", round)
					b.opts.BootID = func() string { return boot }
					b.open()
					load.verify(sync)
				}
			})
		}
	}
}

const loadWriters = 2

// load writes to a store and knows what it was told.
type load struct {
	*box
	topic backend.Topic
	rng   *rand.Rand

	mu    sync.Mutex
	acks  [loadWriters][]string // acknowledged values, by offset
	sent  [loadWriters]int
	saved [loadWriters]int64 // committed offsets
	// frozen is what was acknowledged when the power went; nil while it runs.
	done func()
}

func newLoad(b *box) *load {
	topic, err := b.store.CreateTopic(b.Context(), backend.NewTopic{
		Name: "t", Partitions: loadWriters, Overrides: map[string]string{"segment.bytes": "1048576"},
	})
	require.NoError(b, err)
	return &load{box: b, topic: topic, rng: rand.New(rand.NewPCG(1, 1))}
}

func (l *load) partition(w int) backend.Partition {
	return backend.Partition{Topic: l.topic.ID, Index: int32(w)}
}

// run starts the writers and returns when some of what they write has been
// acknowledged. Its caller takes the snapshot at once: what is acknowledged
// later may be missing from it, so only what was before is expected.
func (l *load) run(round int) {
	s, quit := l.store, make(chan struct{})
	enough := make(chan struct{}, loadWriters)
	var work sync.WaitGroup
	target := 20 + l.rng.IntN(100)
	for w := range loadWriters {
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-quit:
					return
				default:
				}
				l.one(s, w, round)
				if i == target {
					enough <- struct{}{}
				}
			}
		})
	}
	// Checkpoints at any moment, so that they may know more than the disk.
	work.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				if err := s.Tick(); err != nil {
					l.Error(err)
				}
			}
		}
	})
	for range loadWriters {
		<-enough
	}
	l.mu.Lock()
	for w := range loadWriters {
		l.acks[w] = l.acks[w][:len(l.acks[w]):len(l.acks[w])]
	}
	acks, saved := l.acks, l.saved
	l.mu.Unlock()
	l.done = func() {
		close(quit)
		work.Wait()
		l.acks, l.saved = acks, saved
	}
}

func (l *load) stop() { l.done() }

// one writes a batch, and now and then commits an offset.
func (l *load) one(s *embedded.Store, w, round int) {
	l.mu.Lock()
	n := l.sent[w]
	l.sent[w]++
	l.mu.Unlock()
	v := fmt.Sprintf("%d %d %s", round, n, strings.Repeat("x", n*37%8_000))
	out := s.Append(l.Context(), []backend.Append{{Partition: l.partition(w), Batch: recordtest.Values(v).Batch(l)}})
	if out[0].Err != nil {
		l.Error(out[0].Err)
		return
	}
	l.mu.Lock()
	for int64(len(l.acks[w])) < out[0].BaseOffset {
		l.acks[w] = append(l.acks[w], "") // not acknowledged before the power went
	}
	l.acks[w] = append(l.acks[w], v)
	l.mu.Unlock()
	if n%5 != 0 {
		return
	}
	err := s.CommitOffsets(l.Context(), "g", []backend.Commit{{
		Partition: l.partition(w), CommittedOffset: backend.CommittedOffset{Offset: int64(n)},
	}})
	if err != nil {
		l.Error(err)
		return
	}
	l.mu.Lock()
	l.saved[w] = int64(n)
	l.mu.Unlock()
}

// verify compares what is left with what was acknowledged, and then takes it
// for what there is.
func (l *load) verify(sync bool) {
	topic, err := l.store.TopicByID(l.Context(), l.topic.ID)
	require.NoError(l, err, "topics are durable whatever storage.sync says")
	require.Equal(l, l.topic.Overrides, topic.Overrides)
	committed, err := l.store.FetchOffsets(l.Context(), "g", nil)
	require.NoError(l, err)
	for w := range loadWriters {
		bounds, err := l.store.Bounds(l.Context(), l.partition(w))
		require.NoError(l, err)
		if sync {
			require.Zero(l, bounds.Start)
		}
		// Where all was lost, offsets go on behind what is known to have been.
		left := make([]string, bounds.Start)
		for _, r := range readLog(l, l.store, l.partition(w)) {
			if sync {
				require.EqualValues(l, len(left), r.Offset)
			}
			for int64(len(left)) < r.Offset {
				left = append(left, "") // lost, while a later segment was not
			}
			i := len(left)
			require.EqualValues(l, i, r.Offset)
			if i < len(l.acks[w]) && l.acks[w][i] != "" {
				require.Equal(l, l.acks[w][i], string(r.Value), "offset %d", i)
			}
			left = append(left, string(r.Value))
		}
		if sync {
			require.GreaterOrEqual(l, len(left), len(l.acks[w]))
			require.GreaterOrEqual(l, committed[l.partition(w)].Offset, l.saved[w])
		}
		l.acks[w] = left
		l.saved[w] = committed[l.partition(w)].Offset
	}
}

// TestPowerLossForgetsLostBatches: a producer whose last batches were lost may
// send them again, whether or not the metadata had heard of them.
func TestPowerLossForgetsLostBatches(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"metadata behind": false, "metadata ahead of the disk": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, embedded.DefaultConfig())
			p := newTopic(b, "t")
			for i := range int32(3) {
				require.NoError(t, appendOne(b.store, p, recordtest.Values("x").From(1, 0, i)).Err)
			}
			b.reopen() // these are safe
			for i := range int32(4) {
				require.NoError(t, appendOne(b.store, p, recordtest.Values("x").From(1, 0, 3+i)).Err)
				require.NoError(t, appendOne(b.store, p, recordtest.Values("y").From(2, 0, i)).Err)
			}
			if told {
				require.NoError(t, b.store.Tick())
				newTopic(b, "durable, and with it all that was written before")
			}
			b.opts.BootID = func() string { return "another" }
			b.lose(0)
			bounds, err := b.store.Bounds(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, backend.Bounds{End: 3}, bounds)
			again := appendOne(b.store, p, recordtest.Values("x").From(1, 0, 2))
			require.Equal(t, backend.Appended{BaseOffset: 2, Duplicate: true, AppendTime: -1}, again)
			again = appendOne(b.store, p, recordtest.Values("x").From(1, 0, 3))
			require.Equal(t, backend.Appended{BaseOffset: 3, AppendTime: -1}, again)
			again = appendOne(b.store, p, recordtest.Values("y").From(2, 0, 1))
			require.Equal(t, backend.Appended{BaseOffset: 4, AppendTime: -1}, again, "nothing is left of this one")
		})
	}
}

// newTopic makes a topic of one partition.
func newTopic(b *box, name string, configs ...string) backend.Partition {
	b.Helper()
	overrides := map[string]string{}
	for i := 0; i+1 < len(configs); i += 2 {
		overrides[configs[i]] = configs[i+1]
	}
	t, err := b.store.CreateTopic(b.Context(), backend.NewTopic{Name: name, Partitions: 1, Overrides: overrides})
	require.NoError(b, err)
	return backend.Partition{Topic: t.ID}
}

// TestDroppedStaysDropped: what retention let go does not come back, whatever
// the disk had of it.
func TestDroppedStaysDropped(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{0, 50, 100} {
		for _, sync := range []bool{false, true} {
			cfg := embedded.DefaultConfig()
			cfg.Sync = sync
			b := newBox(t, nil, cfg)
			p := newTopic(b, "t", "retention.bytes", "1")
			for range 3 {
				require.NoError(t, appendOne(b.store, p, recordtest.Values("old")).Err)
			}
			b.store.Retain()
			require.NoError(t, b.store.Tick())
			gone := newTopic(b, "gone")
			require.NoError(t, appendOne(b.store, gone, recordtest.Values("x")).Err)
			require.NoError(t, b.store.DeleteTopic(t.Context(), gone.Topic))
			logs := watchLog(b)
			b.lose(percent)
			bounds, err := b.store.Bounds(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, backend.Bounds{Start: 3, End: 3}, bounds, "%d%%, sync=%v", percent, sync)
			require.Empty(t, logs.FilterMessageSnippet("belongs to no topic").All())
			b.close()
		}
	}
}
