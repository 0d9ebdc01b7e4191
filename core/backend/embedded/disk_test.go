package embedded_test

import (
	"context"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// badDisk fails operations of some kinds on paths with a suffix, while it is on.
func badDisk(suffix string, err error, kinds ...errorfs.OpKind) *errorfs.Toggle {
	return &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		for _, k := range kinds {
			if op.Kind == k && strings.HasSuffix(op.Path, suffix) {
				return err
			}
		}
		return nil
	})}
}

// shortFS writes half of what it is given to segments, while it is on.
type shortFS struct {
	vfs.FS
	on *atomic.Bool
}

func (s shortFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	if err != nil || !strings.Contains(name, "topics") {
		return f, err
	}
	return shortFile{f, s.on}, nil
}

// GetDiskUsage agrees with the writes, whenever the store looks.
func (s shortFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if s.on.Load() {
		return vfs.DiskUsage{}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40}, nil
}

type shortFile struct {
	vfs.File
	on *atomic.Bool
}

func (f shortFile) WriteAt(p []byte, at int64) (int, error) {
	if !f.on.Load() {
		return f.File.WriteAt(p, at)
	}
	n, err := f.File.WriteAt(p[:len(p)/2], at)
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestDiskFull: a batch that did not fit is refused and leaves nothing behind,
// and when there is room again writing goes on.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	mem := vfs.NewCrashableMem()
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	b := newBox(t, shortFS{mem, &full}, cfg)
	p := newTopic(b, "t")
	ctx := t.Context()
	for i, v := range []string{"a", "b"} {
		require.EqualValues(t, i, appendOne(b.store, p, recordtest.Values(v)).BaseOffset)
		full.Store(true)
		require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("lost")).Err, backend.ErrStorage)
		// While it is full nothing else is accepted either.
		_, err := b.store.CreateTopic(ctx, backend.NewTopic{Name: "new", Partitions: 1})
		require.ErrorIs(t, err, backend.ErrStorage)
		require.ErrorIs(t, b.store.CommitOffsets(ctx, "g", nil), backend.ErrStorage)
		require.Len(t, readLog(t, b.store, p), i+1, "reading goes on")
		full.Store(false)
		require.NoError(t, b.store.Tick())
	}
	require.EqualValues(t, 2, appendOne(b.store, p, recordtest.Values("c")).BaseOffset)
	for _, again := range []func() backend.Backend{
		b.reopen,
		func() backend.Backend {
			b.fs = crashed(mem, 100, 1)
			return b.reopen()
		},
	} {
		again()
		var values []string
		for _, r := range readLog(t, b.store, p) {
			values = append(values, string(r.Value))
		}
		require.Equal(t, []string{"a", "b", "c"}, values)
	}
}

// TestLowDisk: the store stops before the disk is full, because its metadata
// would not survive that.
func TestLowDisk(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := newTopic(b, "t")
	mem := b.fs.(*vfs.MemFS)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 40})
	require.NoError(t, b.store.Tick())
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)
	require.ErrorContains(t, appendOne(b.store, p, recordtest.Values("x")).Err, "MiB free")
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40})
	require.NoError(t, b.store.Tick())
	require.NoError(t, appendOne(b.store, p, recordtest.Values("x")).Err)

	// What is full can be read, as long as the metadata store has room to open.
	b.close()
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 7 << 20, TotalBytes: 1 << 40})
	_, err := b.try()
	require.EqualError(t, err, "storage.dir /data: its disk is full (7 MiB are free, and opening it takes 8): make room; nothing has been changed")
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 9 << 20, TotalBytes: 1 << 40})
	b.open()
	require.Len(t, readLog(t, b.store, p), 1)
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)
}

// TestMetadataRetries: what the metadata store does in the background is tried
// again, but neither without a pause nor with a line in the log each time.
func TestMetadataRetries(t *testing.T) {
	t.Parallel()
	tries := make(chan time.Time, 100)
	bad := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpCreate || !strings.HasSuffix(op.Path, ".sst") {
			return nil
		}
		select {
		case tries <- time.Now():
		default:
		}
		return syscall.ENOSPC
	})}
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	b := newBox(t, errorfs.Wrap(vfs.NewCrashableMem(), bad), cfg)
	b.close()
	core, logged := observer.New(zap.WarnLevel)
	b.opts.Log = zap.New(core)
	b.open()
	p := newTopic(b, "t")
	bad.On()
	for offset := range int64(1200) { // more than the metadata store keeps in memory
		require.NoError(t, b.store.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{
			Offset: offset, Metadata: strings.Repeat("m", 4000),
		}}}))
	}
	first := <-tries
	<-tries
	third := <-tries
	require.GreaterOrEqual(t, third.Sub(first), 300*time.Millisecond)
	bad.Off()
	b.reopen()
	require.Equal(t, 1, logged.FilterMessageSnippet("it is tried again").Len())
	got, err := b.store.FetchOffsets(t.Context(), "g", nil)
	require.NoError(t, err)
	require.EqualValues(t, 1199, got[p].Offset)
}

// TestSyncFails: when the disk does not say that a batch is there, the outcome
// is unknown, and the partition refuses until the files have been read again.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	bad := badDisk(".log", syscall.EIO, errorfs.OpFileSyncData, errorfs.OpFileSync)
	mem := vfs.NewCrashableMem()
	cfg := embedded.DefaultConfig()
	cfg.Dir, cfg.Sync = "/data", true
	b := newBox(t, errorfs.Wrap(mem, bad), cfg)
	p, other := newTopic(b, "t"), newTopic(b, "other")
	require.NoError(t, appendOne(b.store, p, recordtest.Values("safe")).Err)
	bad.On()
	got := appendOne(b.store, p, recordtest.Values("who knows"))
	bad.Off()
	require.ErrorIs(t, got.Err, backend.ErrOutcomeUnknown)
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)
	require.NoError(t, appendOne(b.store, other, recordtest.Values("x")).Err)
	b.fs = crashed(mem, 0, 1)
	b.reopen()
	require.Len(t, readLog(t, b.store, p), 1, "readers never saw what was not on the disk")
	require.NoError(t, appendOne(b.store, p, recordtest.Values("x")).Err)
}

// TestMetadataFails: when the metadata store cannot be written, what depends on
// it is refused, nothing hangs, and nothing that was acknowledged is lost.
func TestMetadataFails(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]errorfs.OpKind{
		"write": {errorfs.OpFileWrite}, "begin a log": {errorfs.OpCreate, errorfs.OpReuseForWrite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := badDisk(".log", syscall.ENOSPC, kinds...)
			mem := vfs.NewCrashableMem()
			cfg := embedded.DefaultConfig()
			cfg.Dir = "/data"
			b := newBox(t, errorfs.Wrap(mem, bad), cfg)
			p, ctx := newTopic(b, "t"), t.Context()
			commit := func(offset int64) error {
				return b.store.CommitOffsets(ctx, "g", []backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{
					Offset: offset, Metadata: strings.Repeat("m", 4000),
				}}})
			}
			require.NoError(t, appendOne(b.store, p, recordtest.Values("a")).Err)
			require.NoError(t, commit(1))
			bad.On()
			last := int64(1)
			for {
				// Beginning a log comes only when the present one is full.
				if err := commit(last + 1); err != nil {
					require.ErrorIs(t, err, backend.ErrStorage)
					break
				}
				last++
			}
			require.ErrorIs(t, commit(9), backend.ErrStorage)
			_, err := b.store.CreateTopic(ctx, backend.NewTopic{Name: "new", Partitions: 1})
			require.ErrorIs(t, err, backend.ErrStorage)
			require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("b")).Err, backend.ErrStorage)
			b.fs = crashed(mem, 100, 1)
			require.Error(t, b.store.Close())
			b.store = nil
			b.open()
			got, err := b.store.FetchOffsets(context.Background(), "g", nil)
			require.NoError(t, err)
			require.GreaterOrEqual(t, got[p].Offset, last)
			require.Len(t, readLog(t, b.store, p), 1)
		})
	}
}

// TestDirRemoved: who removes the directory of a running gateway hears of it, and
// nothing more is acknowledged into files that have no name.
func TestDirRemoved(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	b.close()
	logs := watchLog(b)
	b.open()
	p := newTopic(b, "t")
	require.NoError(t, appendOne(b.store, p, recordtest.Values("a")).Err)
	require.NoError(t, b.fs.RemoveAll(b.cfg.Dir))
	for range 3 {
		_ = b.store.Tick()
	}
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("b")).Err, backend.ErrStorage)
	require.ErrorIs(t, b.store.CommitOffsets(t.Context(), "g", nil), backend.ErrStorage)
	said := logs.FilterMessageSnippet("takes no more changes") // pebble may miss files of its own, too
	require.Equal(t, 1, said.Len())
	require.Contains(t, said.All()[0].ContextMap()["error"], "/data has been removed under the running gateway")
	require.Error(t, b.store.Close())
	b.store = nil
}

// TestManyPartitions: files are opened when they are needed and closed again.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.OpenFiles = 16
	b := newBox(t, nil, cfg)
	topic, err := b.store.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 300})
	require.NoError(t, err)
	for round := range int64(3) {
		for i := range int32(300) {
			p := backend.Partition{Topic: topic.ID, Index: i}
			require.Equal(t, backend.Appended{BaseOffset: round, AppendTime: -1}, appendOne(b.store, p, recordtest.Values("x")))
			if i%50 == 0 {
				require.Len(t, readLog(t, b.store, p), int(round)+1)
			}
		}
		require.LessOrEqual(t, b.store.OpenFiles(), 16)
		b.reopen()
	}
}

// TestPartitionsAreBounded: what a client may ask for costs memory at once.
func TestPartitionsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	ctx := t.Context()
	_, err := b.store.CreateTopic(ctx, backend.NewTopic{Name: "t", Partitions: 1 << 30})
	require.ErrorIs(t, err, backend.ErrTooManyTopics)
	topic, err := b.store.CreateTopic(ctx, backend.NewTopic{Name: "t", Partitions: 150_000})
	require.NoError(t, err)
	b.reopen()
	require.ErrorIs(t, b.store.GrowTopic(ctx, topic.ID, 200_001), backend.ErrTooManyTopics)
	_, err = b.store.CreateTopic(ctx, backend.NewTopic{Name: "u", Partitions: 60_000})
	require.ErrorIs(t, err, backend.ErrTooManyTopics)
	require.NoError(t, b.store.GrowTopic(ctx, topic.ID, 160_000))
	require.NoError(t, b.store.DeleteTopic(ctx, topic.ID))
	_, err = b.store.CreateTopic(ctx, backend.NewTopic{Name: "u", Partitions: 60_000})
	require.NoError(t, err)
}

// TestDamageWhileRunning: bytes that went bad under a running store are not
// given out as records, and are told of once.
func TestDamageWhileRunning(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := fill(b)
	b.close()
	logs := watchLog(b)
	edit(b, b.fs, segmentPath(b, p, "0"), func(bytes []byte) []byte { clear(bytes[200:]); return bytes })
	b.open()
	for range 3 {
		_, _, err := b.store.Read(t.Context(), backend.Read{Partition: p, MaxBytes: 1 << 20})
		require.ErrorIs(t, err, backend.ErrStorage)
		_, err = b.store.FindTime(t.Context(), p, recordtest.Time+1)
		require.NoError(t, err, "no record is that late")
		_, err = b.store.FindTime(t.Context(), p, recordtest.Time)
		require.NoError(t, err, "the first batch is sound")
		_, _, err = b.store.Available(t.Context(), p, 7, 1)
		require.ErrorIs(t, err, backend.ErrStorage)
	}
	require.Equal(t, 1, logs.FilterMessageSnippet("a segment file cannot be read").Len())
}

// TestLeftFiles: files of a deleted topic or a dropped segment that could not be
// removed go at the next start; what nobody knows is left alone.
func TestLeftFiles(t *testing.T) {
	t.Parallel()
	bad := badDisk("", syscall.EBUSY, errorfs.OpRemoveAll, errorfs.OpRemove)
	mem := vfs.NewCrashableMem()
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	b := newBox(t, errorfs.Wrap(mem, bad), cfg)
	b.close()
	logs := watchLog(b)
	b.open()
	gone, old := newTopic(b, "gone"), newTopic(b, "old", "retention.ms", "1")
	for _, p := range []backend.Partition{gone, old} {
		require.NoError(t, appendOne(b.store, p, recordtest.Values("x")).Err)
	}
	bad.On()
	require.NoError(t, b.store.DeleteTopic(t.Context(), gone.Topic))
	require.Equal(t, 1, logs.FilterMessageSnippet("files of a deleted topic are left").Len())
	b.store.Retain()
	require.Equal(t, 1, logs.FilterMessageSnippet("retention failed").Len())
	bad.Off()
	left := []string{"/data/topics/" + gone.Topic.String(), segmentPath(b, old, "0")}
	for _, name := range left {
		_, err := mem.Stat(name)
		require.NoError(t, err)
	}
	strange := "/data/topics/strange"
	require.NoError(t, mem.MkdirAll(strange, 0o755))
	b.reopen()
	for _, name := range left {
		_, err := mem.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err := mem.Stat(strange)
	require.NoError(t, err)
	require.Equal(t, 1, logs.FilterMessageSnippet("belongs to no topic and is left alone").Len())
	bounds, err := b.store.Bounds(t.Context(), old)
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{Start: 1, End: 1}, bounds)
}
