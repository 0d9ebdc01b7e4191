package embedded_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// large fills more than a third of a segment of 1 MiB.
var large = recordtest.Values(strings.Repeat("x", 400_000))

// segmentFiles are the names of the files of a topic.
func segmentFiles(b *box, p backend.Partition) []string {
	b.Helper()
	names, err := b.fs.List(b.fs.PathJoin(b.cfg.Dir, "topics", p.Topic.String()))
	require.NoError(b, err)
	return names
}

func deleteTo(b *box, p backend.Partition, before int64) int64 {
	b.Helper()
	start, err := b.store.DeleteRecords(b.Context(), p, before)
	require.NoError(b, err)
	return start
}

// TestDeletedSegmentsGo: files that lie below the start whole go at once, the one
// that is written to included; what is left of the index still serves.
func TestDeletedSegmentsGo(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := newTopic(b, "t", "segment.bytes", "1048576")
	for range 8 { // two in a segment
		require.NoError(t, appendOne(b.store, p, large).Err)
	}
	require.NoError(t, b.store.Tick())
	require.Len(t, segmentFiles(b, p), 4)
	for _, step := range []struct {
		before int64
		files  int
	}{{1, 4}, {2, 3}, {5, 2}, {7, 1}, {8, 0}} {
		require.Equal(t, step.before, deleteTo(b, p, step.before))
		require.Len(t, segmentFiles(b, p), step.files, "before %d", step.before)
		sizes, err := b.store.Sizes(t.Context(), p.Topic)
		require.NoError(t, err)
		require.InDelta(t, 800_000*step.files, sizes[0], 2000)
		require.Len(t, readLog(t, b.store, p), int(8-step.before))
	}
	require.EqualValues(t, 8, appendOne(b.store, p, large).BaseOffset)
	b.reopen()
	require.Equal(t, backend.Appended{BaseOffset: 9, LogStart: 8, AppendTime: -1}, appendOne(b.store, p, large))
}

// TestDeletedSegmentsStay: the start moves although files cannot be removed; they
// go with the next retention, also of a topic that is compacted.
func TestDeletedSegmentsStay(t *testing.T) {
	t.Parallel()
	broken := badDisk(".log", errorfs.ErrInjected, errorfs.OpRemove)
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	fs := vfs.NewCrashableMem()
	b := newBox(t, errorfs.Wrap(fs, broken), cfg)
	p := newTopic(b, "t", "segment.bytes", "1048576", "cleanup.policy", "compact", "retention.ms", "-1")
	for range 4 {
		require.NoError(t, appendOne(b.store, p, large).Err)
	}
	broken.On()
	require.EqualValues(t, 2, deleteTo(b, p, 2))
	require.Len(t, segmentFiles(b, p), 2)
	broken.Off()
	require.EqualValues(t, 3, deleteTo(b, p, 3))
	b.reopen()
	require.Len(t, segmentFiles(b, p), 1, "the note of the dropped file is honoured")
	bounds, err := b.store.Bounds(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{Start: 3, End: 4}, bounds)
}

// TestKilledBeforeSegmentsGo: where a process was killed between moving the start
// and dropping what lies below it, the next retention does.
func TestKilledBeforeSegmentsGo(t *testing.T) {
	t.Parallel()
	fs, cfg := vfs.NewCrashableMem(), embedded.DefaultConfig()
	cfg.Dir = "/data"
	var killed *vfs.MemFS
	writes := 0
	hook := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "/meta/") {
			if writes++; writes == 2 {
				killed = crashed(fs, 100, 1)
			}
		}
		return nil
	})}
	b := newBox(t, errorfs.Wrap(fs, hook), cfg)
	p := newTopic(b, "t", "segment.bytes", "1048576", "retention.ms", "-1")
	for range 4 {
		require.NoError(t, appendOne(b.store, p, large).Err)
	}
	hook.On()
	require.EqualValues(t, 3, deleteTo(b, p, 3))
	hook.Off()
	b.close()
	b.fs = killed
	b.open()
	require.Len(t, segmentFiles(b, p), 2)
	require.Len(t, readLog(t, b.store, p), 1)
	b.store.Retain()
	require.Len(t, segmentFiles(b, p), 1)
	b.reopen()
	require.Len(t, readLog(t, b.store, p), 1)
}

// TestStartBehindLostRecords: a loss of power takes records that had not reached
// the disk, and leaves a start that was set behind them. Offsets go on there.
func TestStartBehindLostRecords(t *testing.T) {
	t.Parallel()
	for _, checkpoint := range []bool{false, true} {
		t.Run(fmt.Sprintf("checkpoint=%v", checkpoint), func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, embedded.DefaultConfig())
			p := newTopic(b, "t", "segment.bytes", "1048576")
			small := recordtest.Values("x")
			for range 3 {
				require.NoError(t, appendOne(b.store, p, small.From(1, 0, int32(b.end(p)))).Err)
			}
			b.reopen() // all is on the disk
			for range 5 {
				require.NoError(t, appendOne(b.store, p, small.From(1, 0, int32(b.end(p)))).Err)
			}
			if checkpoint {
				require.NoError(t, b.store.Tick())
			}
			require.EqualValues(t, 6, deleteTo(b, p, 6))
			newTopic(b, "other") // brings the metadata to the disk
			boot := 0
			for round := range int64(3) {
				boot++
				b.opts.BootID = func() string { return fmt.Sprint("boot ", boot) }
				b.lose(0)
				require.Equal(t, 6+round, b.end(p))
				bounds, err := b.store.Bounds(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, backend.Bounds{Start: 6 + round, End: 6 + round}, bounds)
				require.Equal(t, backend.Appended{BaseOffset: 6 + round, LogStart: 6 + round, AppendTime: -1}, appendOne(b.store, p, small))
				require.Len(t, readLog(t, b.store, p), 1)
				require.EqualValues(t, 7+round, deleteTo(b, p, 7+round))
				newTopic(b, fmt.Sprint("other", round))
			}
			require.NoError(t, appendOne(b.store, p, small).Err)
			b.reopen()
			require.Len(t, readLog(t, b.store, p), 1)
		})
	}
}

// end is the end of a log.
func (b *box) end(p backend.Partition) int64 {
	b.Helper()
	bounds, err := b.store.Bounds(b.Context(), p)
	require.NoError(b, err)
	return bounds.End
}

// TestStartIsDurable: with storage.sync the start outlives a loss of power.
func TestStartIsDurable(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Sync = true
	b := newBox(t, nil, cfg)
	p := newTopic(b, "t")
	for i := range int64(6) {
		require.NoError(t, appendOne(b.store, p, recordtest.Values("a", "b")).Err)
		require.EqualValues(t, 2*i+1, deleteTo(b, p, 2*i+1))
		b.opts.BootID = func() string { return fmt.Sprint("boot ", i) }
		b.lose(0)
		bounds, err := b.store.Bounds(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, backend.Bounds{Start: 2*i + 1, End: 2*i + 2}, bounds)
	}
}

// TestStartOfRefusedPartition: a partition that is refused, or a store that takes
// nothing more, moves no start.
func TestStartOfRefusedPartition(t *testing.T) {
	t.Parallel()
	broken := badDisk(".log", errorfs.ErrInjected, errorfs.OpFileSync, errorfs.OpFileWrite)
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	b := newBox(t, errorfs.Wrap(vfs.NewCrashableMem(), broken), cfg)
	p := newTopic(b, "t")
	require.NoError(t, appendOne(b.store, p, recordtest.Values("a", "b")).Err)
	broken.On()
	_, err := b.store.DeleteRecords(t.Context(), p, 1)
	require.ErrorIs(t, err, backend.ErrStorage)
	require.ErrorIs(t, b.store.SaveGroup(t.Context(), "g", []byte("x")), backend.ErrStorage)
	bounds, err := b.store.Bounds(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{End: 2}, bounds)
	broken.Off()
	b.store.Close()
	b.store = nil
	b.open()
	bounds, err = b.store.Bounds(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{End: 2}, bounds)
}

// TestLatestFromTheStart: the largest timestamp is found wherever in a segment with
// an index it lies.
func TestLatestFromTheStart(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(i int64) int64{
		"rising":  func(i int64) int64 { return 1000 + i },
		"falling": func(i int64) int64 { return 1000 - i },
		"peak":    func(i int64) int64 { return 1000 - max(10-i, i-10) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, embedded.DefaultConfig())
			p := newTopic(b, "t", "retention.ms", "-1")
			value := strings.Repeat("x", 30_000) // several to an entry of the index
			for i := range int64(20) {
				require.NoError(t, appendOne(b.store, p, recordtest.Values(value, value).At(at(i))).Err)
			}
			for start := int64(1); start < 40; start += 3 {
				require.Equal(t, start, deleteTo(b, p, start))
				if start%2 == 0 {
					require.NoError(t, b.store.Tick()) // the index is written down
				}
				want := backend.Found{Offset: -1, Timestamp: -1}
				for o := start; o < 40; o++ {
					if at(o/2) > want.Timestamp {
						want = backend.Found{Offset: o, Timestamp: at(o / 2)}
					}
				}
				got, err := b.store.FindMaxTime(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, want, got)
				got, err = b.store.FindTime(t.Context(), p, 0)
				require.NoError(t, err)
				require.Equal(t, backend.Found{Offset: start, Timestamp: at(start / 2)}, got)
			}
		})
	}
}
