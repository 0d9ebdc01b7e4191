package embedded_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// fill makes a topic with 20 records in batches of two.
func fill(b *box) backend.Partition {
	p := newTopic(b, "t")
	for range 10 {
		require.NoError(b, appendOne(b.store, p, recordtest.Values("one", "two")).Err)
	}
	return p
}

// segmentPath is where a segment of a topic's first partition lies.
func segmentPath(b *box, p backend.Partition, base string) string {
	return path.Join(b.cfg.Dir, "topics", p.Topic.String(), "0-"+strings.Repeat("0", 20-len(base))+base+".log")
}

// edit changes the bytes of a file.
func edit(t testing.TB, files vfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	f, err := files.Open(name)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	b := make([]byte, info.Size())
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	f, err = files.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(change(b))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// watchLog collects what the store logs from now on.
func watchLog(b *box) *observer.ObservedLogs {
	core, logs := observer.New(zapcore.WarnLevel)
	b.opts.Log = zap.New(core)
	return logs
}

// crashWith ends a store as kill -9 does, changes a file, and opens it again.
func crashWith(b *box, name string, change func([]byte) []byte) {
	b.Helper()
	b.fs = crashed(b.fs.(*vfs.MemFS), 100, 1)
	b.close()
	edit(b, b.fs, name, change)
	b.open()
}

func TestTornTail(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{1, 60, 70} {
		b := newBox(t, nil, embedded.DefaultConfig())
		p := fill(b)
		logs := watchLog(b)
		crashWith(b, segmentPath(b, p, "0"), func(bytes []byte) []byte { return bytes[:len(bytes)-cut] })
		require.Len(t, readLog(t, b.store, p), 18, "the batch that is not whole is cut, the others stay")
		require.Equal(t, 1, logs.FilterMessageSnippet("no whole record batch").Len())
		// Writing goes on in another file, and all of it is found again.
		require.EqualValues(t, 18, appendOne(b.store, p, recordtest.Values("a")).BaseOffset)
		for _, again := range []func() backend.Backend{b.kill, b.reopen} {
			again()
			got := readLog(t, b.store, p)
			require.Len(t, got, 19)
			require.Equal(t, "a", string(got[18].Value))
		}
		b.close()
	}
}

func TestTornFirstBatch(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := newTopic(b, "t")
	require.NoError(t, appendOne(b.store, p, recordtest.Values("lost")).Err)
	name := segmentPath(b, p, "0")
	crashWith(b, name, func(bytes []byte) []byte { return bytes[:20] })
	require.Empty(t, readLog(t, b.store, p))
	_, err := b.fs.Stat(name + ".torn")
	require.NoError(t, err, "nothing is thrown away")
	require.EqualValues(t, 0, appendOne(b.store, p, recordtest.Values("new")).BaseOffset)
	b.kill()
	require.Len(t, readLog(t, b.store, p), 1)
}

// TestFlippedBit: a partition with a damaged file is refused, and told of; all
// others are served; the remedy works.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p, other := fill(b), newTopic(b, "other")
	require.NoError(t, appendOne(b.store, other, recordtest.Values("fine")).Err)
	logs := watchLog(b)
	name := segmentPath(b, p, "0")
	crashWith(b, name, func(bytes []byte) []byte { bytes[len(bytes)/2] ^= 4; return bytes })
	entries := logs.FilterMessageSnippet("damaged").All()
	require.Len(t, entries, 1)
	require.Equal(t, name, entries[0].ContextMap()["file"])
	require.Contains(t, entries[0].Message, "restore the file from a backup, or move it away")

	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)
	_, err := b.store.Bounds(t.Context(), p)
	require.ErrorIs(t, err, backend.ErrStorage)
	_, _, err = b.store.Read(t.Context(), backend.Read{Partition: p, MaxBytes: 100})
	require.ErrorIs(t, err, backend.ErrStorage)
	require.ErrorContains(t, err, name)
	require.Len(t, readLog(t, b.store, other), 1)
	// A clean end in between changes nothing about it.
	b.reopen()
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)

	b.close()
	require.NoError(t, b.fs.Rename(name, name+".aside"))
	b.open()
	require.Empty(t, readLog(t, b.store, p))
	require.NoError(t, appendOne(b.store, p, recordtest.Values("x")).Err)
}

// TestMissingFile: records that are gone are told of, and come back with the
// file.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	for base, left := range map[string][]int64{"0": {1, 2}, "1": {0, 2}, "2": {0, 1}} {
		for name, crash := range map[string]bool{"after a clean end": false, "after a crash": true} {
			t.Run("segment "+base+" "+name, func(t *testing.T) {
				t.Parallel()
				missingFile(t, base, left, crash)
			})
		}
	}
}

func missingFile(t *testing.T, base string, left []int64, crash bool) {
	b := newBox(t, nil, embedded.DefaultConfig())
	p := newTopic(b, "t", "segment.bytes", "1048576")
	big := recordtest.Values(strings.Repeat("x", 600_000))
	for range 3 {
		require.NoError(t, appendOne(b.store, p, big).Err)
	}
	b.reopen()
	if crash {
		b.fs = crashed(b.fs.(*vfs.MemFS), 100, 1)
	}
	b.close()
	logs := watchLog(b)
	file := segmentPath(b, p, base)
	require.NoError(t, b.fs.Rename(file, file+".aside"))
	b.open()
	require.Equal(t, 1, logs.FilterMessageSnippet("segment file is missing").Len())
	_, bounds, err := b.store.Read(t.Context(), backend.Read{Partition: p, Offset: 2, MaxBytes: 1 << 20})
	require.NoError(t, err, "where nothing is there is nothing to read")
	require.Equal(t, backend.Bounds{Start: left[0], End: 3}, bounds, "offsets are not used twice")
	require.EqualValues(t, 3, appendOne(b.store, p, recordtest.Values("y")).BaseOffset)
	var offsets []int64
	for _, r := range readLog(t, b.store, p) {
		offsets = append(offsets, r.Offset)
	}
	require.Equal(t, append(left, 3), offsets)

	b.close()
	require.NoError(t, b.fs.Rename(file+".aside", file))
	b.open()
	require.Len(t, readLog(t, b.store, p), 4)
}

// TestUnreadableFile: a file that the gateway may not read costs its partition.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p, other := fill(b), newTopic(b, "other")
	require.NoError(t, appendOne(b.store, other, recordtest.Values("fine")).Err)
	mem := crashed(b.fs.(*vfs.MemFS), 100, 1)
	name := segmentPath(b, p, "0")
	b.close()
	logs := watchLog(b)
	deny := badDisk(name, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}, errorfs.OpOpen)
	deny.On()
	b.fs = errorfs.Wrap(mem, deny)
	b.open()
	require.Equal(t, 1, logs.FilterMessageSnippet("give the user that runs the gateway the right").Len())
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("x")).Err, backend.ErrStorage)
	require.Len(t, readLog(t, b.store, other), 1)
	deny.Off()
	b.reopen()
	require.Len(t, readLog(t, b.store, p), 20)
}

func TestSecondOwner(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Dir = t.TempDir()
	for name, files := range map[string]vfs.FS{"on disk": vfs.Default, "in memory": vfs.NewMem()} {
		b := newBox(t, files, cfg)
		_, err := b.try()
		require.ErrorContains(t, err, "storage.dir "+cfg.Dir+" is in use by another gateway", name)
		p := fill(b)
		b.reopen()
		require.Len(t, readLog(t, b.store, p), 20, "the owner notices nothing")
	}
}

// TestStartErrors: what can be wrong at a start gives one line that names the
// thing and what to do, and changes nothing.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	deny := func(match string, kinds ...errorfs.OpKind) errorfs.InjectorFunc {
		return func(op errorfs.Op) error {
			for _, k := range kinds {
				if op.Kind == k && strings.Contains(op.Path, match) {
					return &fs.PathError{Op: "open", Path: op.Path, Err: syscall.EACCES}
				}
			}
			return nil
		}
	}
	damageMeta := func(part string) func(*box) {
		return func(b *box) {
			names, err := b.fs.List("/data/meta")
			require.NoError(b, err)
			found := false
			for _, name := range names {
				if strings.HasPrefix(name, part) || strings.HasSuffix(name, part) {
					found = true
					edit(b, b.fs, path.Join("/data/meta", name), func(bytes []byte) []byte {
						for i := range bytes {
							bytes[i] ^= 0x55
						}
						return bytes
					})
				}
			}
			require.True(b, found, "there is no %s among %v", part, names)
		}
	}
	for name, c := range map[string]struct {
		harm func(*box)
		want []string
	}{
		"the directory cannot be made": {
			func(b *box) { b.fs = errorfs.Wrap(b.fs, deny("/data", errorfs.OpMkdirAll)) },
			[]string{"storage.dir /data cannot be used", "permission denied", "give the user that runs the gateway the right"},
		},
		"the lock cannot be made": {
			func(b *box) { b.fs = errorfs.Wrap(b.fs, deny("LOCK", errorfs.OpLock)) },
			[]string{"storage.dir /data cannot be used", "permission denied"},
		},
		"the metadata cannot be read": {
			func(b *box) {
				b.fs = errorfs.Wrap(b.fs, deny("/meta", errorfs.OpOpen, errorfs.OpOpenDir, errorfs.OpList))
			},
			[]string{"storage.dir /data cannot be used", "permission denied"},
		},
		"the topics cannot be listed": {
			func(b *box) { b.fs = errorfs.Wrap(b.fs, deny("/topics", errorfs.OpList)) },
			[]string{"storage.dir /data cannot be used", "permission denied"},
		},
		"the metadata is missing": {
			func(b *box) { require.NoError(b, b.fs.RemoveAll("/data/meta")) },
			[]string{"metadata store /data/meta cannot be read", "it is missing", "restore /data from a backup"},
		},
		"the name of the manifest is missing": {
			func(b *box) {
				names, err := b.fs.List("/data/meta")
				require.NoError(b, err)
				i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "marker.manifest") })
				require.NoError(b, b.fs.Remove(path.Join("/data/meta", names[i])))
			},
			[]string{"metadata store /data/meta cannot be read", "it is empty, while there are records of 1 topics", "restore /data from a backup"},
		},
		"the manifest is damaged": {
			damageMeta("MANIFEST"), []string{"metadata store /data/meta cannot be read", "restore /data from a backup"},
		},
		"the tables are damaged": {
			damageMeta(".sst"), []string{"metadata store /data/meta cannot be read", "restore /data from a backup"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, embedded.DefaultConfig())
			p := fill(b)
			b.reopen()
			b.reopen()
			b.close()
			good := b.fs.(*vfs.MemFS)
			snapshot := crashed(good, 100, 1)
			c.harm(b)
			s, err := b.try()
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "\n", "one line")
			require.NoError(t, s.Close(), "closing what did not start does nothing")
			_, err = s.AllTopics(t.Context())
			require.ErrorIs(t, err, backend.ErrUnavailable)
			// The remedy: what was there before is all there is to restore.
			b.fs = snapshot
			b.open()
			require.Len(t, readLog(t, b.store, p), 20)
		})
	}
}

// TestManifestBreaksOff: pebble takes a damaged manifest to end there, and would
// remove what the rest names. That is found before anything is removed.
func TestManifestBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := fill(b)
	// Until the first log has been moved to a table and used again.
	for offset := int64(0); ; offset++ {
		if _, err := b.fs.Stat("/data/meta/000002.log"); err != nil {
			break
		}
		require.Less(t, offset, int64(10_000))
		require.NoError(t, b.store.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{
			Offset: offset, Metadata: strings.Repeat("m", 100_000),
		}}}))
	}
	killed := crashed(b.fs.(*vfs.MemFS), 100, 1)
	b.close()
	for _, at := range []int{20, 80} {
		mem := crashed(killed, 100, 1)
		b.fs = mem
		edit(t, b.fs, "/data/meta/MANIFEST-000001", func(bytes []byte) []byte { bytes[at] ^= 4; return bytes })
		before, err := b.fs.List("/data/meta")
		require.NoError(t, err)
		_, err = b.try()
		require.ErrorContains(t, err, "metadata store /data/meta cannot be read", at)
		after, err := b.fs.List("/data/meta")
		require.NoError(t, err)
		require.ElementsMatch(t, before, after)
	}
	b.fs = killed
	b.open()
	require.Len(t, readLog(t, b.store, p), 20)
}

func TestDirIsFile(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Dir = path.Join(t.TempDir(), "data")
	f, err := vfs.Default.Create(cfg.Dir, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = (&box{TB: t, fs: vfs.Default, cfg: cfg}).try()
	require.ErrorContains(t, err, "is not a directory; choose another")
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	_, err := (&box{TB: t, fs: vfs.NewMem(), cfg: embedded.Config{OpenFiles: 3, RetentionInterval: time.Millisecond}}).try()
	for _, key := range []string{"storage.dir", "storage.open_files", "storage.retention_interval"} {
		require.ErrorContains(t, err, key, "all faults at once")
	}
}

// TestCutAfterCleanStop: a start after an orderly stop reads no records, but it
// sees that a file is shorter than it was.
func TestCutAfterCleanStop(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p, other := fill(b), newTopic(b, "other")
	require.NoError(t, appendOne(b.store, other, recordtest.Values("fine")).Err)
	name := segmentPath(b, p, "0")
	b.close()
	logs := watchLog(b)
	var whole []byte
	edit(t, b.fs, name, func(bytes []byte) []byte { whole = slices.Clone(bytes); return bytes[:len(bytes)-30] })
	b.open()
	entries := logs.FilterMessageSnippet("damaged").All()
	require.Len(t, entries, 1)
	require.Equal(t, name, entries[0].ContextMap()["file"])
	_, err := b.store.Bounds(t.Context(), p)
	require.ErrorIs(t, err, backend.ErrStorage)
	require.ErrorIs(t, appendOne(b.store, p, recordtest.Values("more")).Err, backend.ErrStorage)
	require.Len(t, readLog(t, b.store, other), 1)
	// The remedy works: the file is put back.
	b.close()
	edit(t, b.fs, name, func([]byte) []byte { return whole })
	b.open()
	require.Len(t, readLog(t, b.store, p), 20)
}
