package embedded_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
)

// snapshots takes a snapshot of a file system before each change of it, while it is
// on: what kill -9 leaves at that moment, and what a loss of power does.
type snapshots struct {
	fs *vfs.MemFS
	mu sync.Mutex
	on bool

	all []snapshot
}

type snapshot struct {
	op      string
	percent int
	fs      *vfs.MemFS
}

func (s *snapshots) inject(op errorfs.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.on || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	for _, percent := range []int{0, 50, 100} {
		s.all = append(s.all, snapshot{fmt.Sprint(len(s.all)/3, " ", op), percent, crashed(s.fs, percent, uint64(len(s.all)))})
	}
	return nil
}

// Whenever a compaction is cut short, and whatever the disk has of it, each key has
// its latest value, the log has its ends, and no file is left over.
func TestCompactCutShort(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprint("sync=", sync), func(t *testing.T) {
			t.Parallel()
			cfg := embedded.DefaultConfig()
			cfg.Sync = sync
			b, at, p := newCompactBox(t, cfg, "delete.retention.ms", "1000", "segment.bytes", "1048576")
			b.close()
			mem := b.fs.(*vfs.MemFS)
			taken := &snapshots{fs: mem}
			b.fs = errorfs.Wrap(mem, errorfs.InjectorFunc(taken.inject))
			b.open()
			large := strings.Repeat("x", 300_000)
			for i := range 8 {
				put(b, p, pairs(at.ms(), fmt.Sprint("a=", i), "large="+large, "gone"))
				put(b, p, pairs(at.ms(), fmt.Sprint("b=", i), fmt.Sprintf("%d=1", i), "gone=x").From(1, 0, int32(3*i)))
				roll(at)
			}
			put(b, p, pairs(at.ms(), "gone"))
			roll(at)
			put(b, p, pairs(at.ms(), "x=1"))
			b.store.Compact()
			roll(at)
			put(b, p, pairs(at.ms(), "a=8", "0=2"))
			roll(at)
			put(b, p, pairs(at.ms(), "x=2"))
			require.NoError(t, b.store.Tick())
			newTopic(b, "durable, and with it all before") // of the metadata
			want := newest(t, b.store, p)
			require.NotContains(t, want, "gone")

			taken.mu.Lock()
			taken.on = true
			taken.mu.Unlock()
			b.store.Compact()
			taken.mu.Lock()
			taken.on = false
			taken.mu.Unlock()
			require.Greater(t, len(taken.all), 30)
			b.close()
			for _, one := range taken.all {
				b.fs = one.fs
				boot := fmt.Sprint("boot ", one.percent)
				b.opts.BootID = func() string { return boot }
				b.open()
				got := newest(t, b.store, p)
				// Without storage.sync a loss of power takes the last segment.
				if bounds, err := b.store.Bounds(t.Context(), p); !sync && one.percent < 100 {
					require.NoError(t, err)
					require.GreaterOrEqual(t, bounds.End, int64(52))
				} else {
					require.Equal(t, backend.Bounds{End: 53}, bounds, one.op)
					require.Equal(t, want["x"], got["x"], one.op)
				}
				got["x"] = want["x"]
				require.Equal(t, want, got, "%s, %d%%", one.op, one.percent)
				noOrphans(b, p)
				b.store.Compact()
				got = newest(t, b.store, p)
				got["x"] = want["x"]
				require.Equal(t, want, got, "%s, %d%%, and compacted again", one.op, one.percent)
				noOrphans(b, p)
				b.close()
			}
		})
	}
}

// newest is the latest value of each key; a key whose latest is a tombstone has none.
func newest(t testing.TB, s *embedded.Store, p backend.Partition) map[string]string {
	t.Helper()
	values := map[string]string{}
	last := int64(-1)
	for _, text := range left(t, s, p) {
		var offset int64
		number, text, isRecord := strings.Cut(text, " ")
		if !isRecord {
			continue
		}
		_, err := fmt.Sscan(number, &offset)
		require.NoError(t, err)
		require.Greater(t, offset, last, "in order, and once")
		last = offset
		if key, value, ok := strings.Cut(text, "="); ok {
			values[key] = value
		} else {
			delete(values, key)
		}
	}
	return values
}

// noOrphans holds the topic's directory against the log.
func noOrphans(b *box, p backend.Partition) {
	b.Helper()
	files, err := b.fs.List("/data/topics/" + p.Topic.String())
	require.NoError(b, err)
	require.ElementsMatch(b, b.store.SegmentFiles(p), files)
}

// Readers that go through a log that is compacted over and over see each key's value,
// at least as new as when they began, and offsets in order.
func TestCompactUnderReaders(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.OpenFiles, cfg.Compaction.Rate = 16, 0
	b := newBox(t, nil, cfg)
	p := newTopic(b, "t", "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "segment.ms", "1", "delete.retention.ms", "0")
	const keys = 20
	var (
		acked [keys]int
		mu    sync.Mutex
		work  sync.WaitGroup
	)
	quit, begun := make(chan struct{}), make(chan struct{})
	defer work.Wait()
	defer close(quit)
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			k := i * 7 % keys
			if out := appendOne(b.store, p, pairs(time.Now().UnixMilli(), fmt.Sprintf("%d=%d", k, i))); out.Err != nil {
				t.Error(out.Err)
				return
			}
			mu.Lock()
			acked[k] = i
			mu.Unlock()
			if i == keys {
				close(begun)
			}
		}
	})
	work.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				b.store.Compact()
			}
		}
	})
	<-begun
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		mu.Lock()
		least := acked
		mu.Unlock()
		got := newest(t, b.store, p)
		for k, i := range least {
			var seen int
			if i > 0 {
				_, err := fmt.Sscan(got[fmt.Sprint(k)], &seen)
				require.NoError(t, err, "key %d", k)
				require.GreaterOrEqual(t, seen, i)
			}
		}
		found, err := b.store.FindTime(t.Context(), p, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, found.Offset, int64(0), "look-ups by time do not miss what is swapped")
	}
}
