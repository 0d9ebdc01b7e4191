package embedded

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// meta is the pebble store and the rules for writing to it.
type meta struct {
	db    *pebble.DB
	fs    *walFS
	cache *pebble.Cache
	log   *zap.Logger
	sync  bool // every commit reaches the disk
	// volatile: there is no log, and what is in the table for writes is lost unless
	// the store is closed.
	volatile bool
	// failed holds the first error of a commit. Pebble cannot go on after one,
	// so it is not asked again.
	failed atomic.Pointer[error]
	// stuck: pebble panicked and may hold its locks for ever.
	stuck atomic.Bool
	told  atomic.Int64 // when a failure of background work was last logged, ns since the epoch
}

// durability says what a commit has reached when it returns.
type durability int

const (
	behind       durability = iota // nothing yet: a crash may lose it
	acknowledged                   // survives kill -9, and with storage.sync the loss of power
	durable                        // survives the loss of power
)

// access is what a pebble store is opened for.
type access int

const (
	readOnly access = iota // nothing in the directory changes
	written                // commits need not reach the disk
	synced                 // every commit reaches the disk
	volatile               // only closing keeps anything
)

// The sizes of the metadata store in memory, in bytes. Pebble takes the memory of a
// table for writes out of the cache: one of the table's size alone holds no blocks.
const (
	memTable   = 4 << 20
	blockCache = 8 << 20
)

// metaLogs is how many logs there are, each as large as a table for writes, or as one
// commit that is larger: the last, and those that pebble keeps to be written over.
const metaLogs = 4

// openMeta opens the pebble store in dir, or makes it unless it is read only.
func openMeta(dir string, fs vfs.FS, how access, log *zap.Logger) (*meta, error) {
	m := &meta{log: log, sync: how == synced, volatile: how == volatile, cache: pebble.NewCache(memTable + blockCache)}
	m.fs = &walFS{FS: fs, broken: m.fail}
	opts := &pebble.Options{
		FS:           m.fs,
		ReadOnly:     how == readOnly,
		DisableWAL:   m.volatile,
		Cache:        m.cache,
		MemTableSize: memTable,
		MaxOpenFiles: 100,
		Logger:       metaLogger{m},
		// The last version whose log does not note what has been synced: it
		// would note syncs that walFS leaves out.
		FormatMajorVersion: pebble.FormatColumnarBlocks,
	}
	opts.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) {
			now := time.Now().UnixNano()
			m.fs.failed.Store(now)
			// It is tried again for as long as it fails: a line a minute.
			if now-m.told.Load() >= int64(time.Minute) {
				m.told.Store(now)
				log.Warn("background work of the metadata store failed; it is tried again", zap.String("dir", dir), cause(err))
			}
		},
		// Without this, pebble would call damage fatal. Who reads it gets an error.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("the metadata store is damaged: restore the data directory from a backup",
				zap.String("file", info.Path), cause(info.Details))
		},
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		m.cache.Unref()
		return nil, err
	}
	m.db = db
	return m, nil
}

// commit writes a batch and closes it. An error means that nothing of it counts.
func (m *meta) commit(b *pebble.Batch, how durability) (err error) {
	defer func() {
		// Pebble panics when it cannot begin a new log.
		if r := recover(); r != nil {
			m.stuck.Store(true)
			m.fail(fmt.Errorf("pebble: %v", r))
		}
		if failed := m.failed.Load(); failed != nil {
			err = *failed
		}
	}()
	if m.failed.Load() != nil {
		return nil // the deferred function has the error
	}
	if b.Empty() {
		return b.Close()
	}
	opts := pebble.Sync
	switch {
	case how == behind || m.volatile:
		opts = pebble.NoSync
	case how == durable || m.sync:
		m.fs.waiting.Add(1)
		defer m.fs.waiting.Add(-1)
	}
	if err := m.db.Apply(b, opts); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	return b.Close()
}

func (m *meta) set(key, value []byte, how durability) error {
	b := m.db.NewBatch()
	if err := b.Set(key, value, nil); err != nil {
		return err
	}
	return m.commit(b, how)
}

// get returns a copy of the value, or nil when there is none.
func (m *meta) get(key []byte) ([]byte, error) {
	v, closer, err := m.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	defer closer.Close()
	return append([]byte{}, v...), nil
}

// scan calls fn for every key with the prefix, in order. What fn is given is
// only good during the call.
func (m *meta) scan(prefix []byte, fn func(key, value []byte) error) error {
	return m.scanRange(prefix, prefixEnd(prefix), fn)
}

// scanRange is scan from one key up to another, which is not included.
func (m *meta) scanRange(from, to []byte, fn func(key, value []byte) error) error {
	it, err := m.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			err = fmt.Errorf("%w: metadata store, key %x: %w", backend.ErrStorage, it.Key(), err)
			it.Close()
			return err
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	return nil
}

// clearMax is how many keys clear deletes one by one.
const clearMax = 10_000

// clear adds the deletion of all keys from one up to another to a batch. It
// deletes them one by one unless there are very many: range deletions slow down
// every reader for as long as they are in memory, and more so with each of them.
func (m *meta) clear(b *pebble.Batch, from, to []byte) error {
	n := 0
	err := m.scanRange(from, to, func(key, _ []byte) error {
		if n++; n > clearMax {
			return errEnough
		}
		return b.Delete(key, nil)
	})
	if errors.Is(err, errEnough) {
		return b.DeleteRange(from, to, nil)
	}
	return err
}

// fail notes that the store cannot be written to any more, and says so once.
func (m *meta) fail(err error) {
	wrapped := fmt.Errorf("%w: metadata store: %w", backend.ErrStorage, err)
	if m.failed.CompareAndSwap(nil, &wrapped) {
		m.log.Error("the metadata store failed and takes no more changes; see to the disk, then start the gateway again",
			cause(err))
	}
}

// close closes pebble. After a panic it is left alone: it would not come back.
func (m *meta) close() (err error) {
	if m.stuck.Load() {
		return *m.failed.Load()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble: %v", r)
		}
	}()
	if m.volatile {
		err = m.db.Flush()
	}
	err = errors.Join(err, m.db.Close())
	m.cache.Unref()
	return err
}

// metaLogger keeps pebble from ending the process.
type metaLogger struct{ m *meta }

func (l metaLogger) Infof(string, ...any) {}
func (l metaLogger) Errorf(format string, args ...any) {
	l.m.log.Warn("metadata store: " + fmt.Sprintf(format, args...))
}
func (l metaLogger) Fatalf(format string, args ...any) { l.m.fail(fmt.Errorf(format, args...)) }
