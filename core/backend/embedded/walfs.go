package embedded

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walFS is the file system that pebble is given. Pebble buffers what is
// committed without a sync in the process, where kill -9 would lose it. So
// everything is committed with a sync, which returns after the write to the
// file, and where the disk need not be waited for, the sync of the write-ahead
// log itself is left out here. Nothing else that pebble syncs is touched.
type walFS struct {
	vfs.FS
	// waiting counts the commits that must reach the disk. While there is one,
	// every sync is real.
	waiting atomic.Int32
	// broken is called with the first error of the write-ahead log.
	broken func(error)
	// failed is when background work failed last, in ns since the epoch.
	failed atomic.Int64
}

// retryPause is the time between two tries of background work that fails.
const retryPause = 200 * time.Millisecond

func (fs *walFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	// Pebble tries again without a pause, as on a full disk, and holds no lock
	// while it makes a table.
	if strings.HasSuffix(name, ".sst") {
		time.Sleep(retryPause - time.Duration(time.Now().UnixNano()-fs.failed.Load()))
	}
	f, err := fs.FS.Create(name, c)
	return fs.wrap(name, f, err)
}

func (fs *walFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(old, name, c)
	return fs.wrap(name, f, err)
}

// Unwrap hides nothing from vfs.Root.
func (fs *walFS) Unwrap() vfs.FS { return fs.FS }

// wrap never fails for a log: pebble ends the process when it cannot begin one,
// in a way that cannot be recovered from. It gets a file that takes no write
// instead, and fails the commit.
func (fs *walFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return f, err
	}
	if err != nil {
		fs.broken(err)
		return deadFile{vfs.NewMemFile(nil), err}, nil
	}
	return &walFile{File: f, fs: fs}, nil
}

// deadFile stands for a log that could not be made.
type deadFile struct {
	vfs.File
	err error
}

func (f deadFile) Write([]byte) (int, error)      { return 0, f.err }
func (f deadFile) Sync() error                    { return f.err }
func (f deadFile) SyncData() error                { return f.err }
func (f deadFile) SyncTo(int64) (bool, error)     { return false, f.err }
func (f deadFile) Preallocate(int64, int64) error { return f.err }

type walFile struct {
	vfs.File
	fs    *walFS
	dirty atomic.Bool
}

func (f *walFile) Write(p []byte) (int, error) {
	f.dirty.Store(true)
	n, err := f.File.Write(p)
	return n, f.report(err)
}

func (f *walFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *walFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *walFile) sync(sync func() error) error {
	if f.fs.waiting.Load() == 0 {
		return nil
	}
	f.dirty.Store(false)
	return f.report(sync())
}

// Close syncs: pebble takes a log that is not its last one to be complete.
func (f *walFile) Close() error {
	var err error
	if f.dirty.Load() {
		err = f.report(f.File.SyncData())
	}
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}

func (f *walFile) report(err error) error {
	if err != nil {
		f.fs.broken(err)
	}
	return err
}
