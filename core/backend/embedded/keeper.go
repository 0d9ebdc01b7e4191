package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// checkpointInterval and checkpointBytes bound what a start after a crash
	// has to read again.
	checkpointInterval = 5 * time.Second
	checkpointBytes    = 64 << 20
	// roomNeeded is the free space below which nothing is accepted any more, so
	// that the metadata store can always be written: it does not survive a full
	// disk.
	roomNeeded = 32 << 20
)

// keeper does what goes on behind the calls: checkpoints, bringing full
// segments to the disk, retention, and watching the free space.
type keeper struct {
	store *Store
	// wg counts the syncs that run.
	wg   sync.WaitGroup
	quit chan struct{}
	done chan struct{}
	// compact ends the compactor.
	compact context.CancelFunc
	kick    chan struct{} // capacity 1: do not wait for the clock

	unsaved atomic.Int64 // bytes appended since the last checkpoint
	full    atomic.Bool  // the disk
	told    atomic.Int64 // when an error of writing was last logged, s since the epoch

	mu      sync.Mutex
	dirty   []*partition // changed since their last checkpoint
	sealing []fullSegment
}

// fullSegment is a segment that takes no more, on its way to the disk.
type fullSegment struct {
	p *partition
	g *segment
}

func (k *keeper) start(s *Store) {
	k.store = s
	k.quit, k.done, k.kick = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	k.look()
	go k.run()
	ctx, cancel := context.WithCancel(context.Background())
	k.compact = cancel
	k.wg.Go(func() { (&compactor{store: s}).run(ctx) })
}

// stop ends the work and waits for it.
func (k *keeper) stop() {
	close(k.quit)
	k.compact()
	<-k.done
	k.wg.Wait()
}

func (k *keeper) run() {
	defer close(k.done)
	checkpoints := time.NewTicker(checkpointInterval)
	defer checkpoints.Stop()
	retention := time.NewTicker(k.store.cfg.RetentionInterval)
	defer retention.Stop()
	for {
		select {
		case <-k.quit:
			return
		case <-k.kick:
		case <-checkpoints.C:
		case <-retention.C:
			k.store.retain()
			continue
		}
		k.look()
		k.settleFull()
		err := k.store.checkpoint(k.takeDirty(), false)
		if err != nil && k.store.meta.failed.Load() == nil { // else it has been said
			k.store.log.Warn("a checkpoint failed; the next start reads more", cause(err))
		}
	}
}

// note puts a partition that was written to on the list; its w is held.
func (k *keeper) note(p *partition, bytes int64) {
	p.unsynced = true
	if !p.dirty {
		p.dirty = true
		k.mu.Lock()
		k.dirty = append(k.dirty, p)
		k.mu.Unlock()
	}
	if k.unsaved.Add(bytes) >= checkpointBytes {
		k.hurry()
	}
}

func (k *keeper) hurry() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

func (k *keeper) takeDirty() []*partition {
	k.unsaved.Store(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	dirty := k.dirty
	k.dirty = nil
	return dirty
}

// sealed takes over a segment that is full.
func (k *keeper) sealed(p *partition, g *segment) {
	k.mu.Lock()
	k.sealing = append(k.sealing, fullSegment{p, g})
	k.mu.Unlock()
	k.hurry()
}

// settleFull brings full segments to the disk, so that no later start reads
// them again.
func (k *keeper) settleFull() {
	k.mu.Lock()
	list := k.sealing
	k.sealing = nil
	k.mu.Unlock()
	for _, f := range list {
		err := k.store.syncSegment(f.g)
		if err == nil {
			err = k.store.syncTopicDir(f.p.topic.dir)
		}
		f.p.mu.Lock()
		// Only without a gap: durable says that all before it is there.
		if err == nil && f.p.durable >= f.g.base {
			f.p.durable = max(f.p.durable, f.g.next)
		}
		quiet := f.p.gone || f.p.start > f.g.base || errors.Is(err, errGone)
		f.p.mu.Unlock()
		if err != nil && !quiet {
			k.store.log.Warn("a full segment could not be brought to the disk", zap.String("file", f.g.name), cause(err))
		}
	}
}

// room returns an error when nothing more can be accepted.
func (k *keeper) room() error {
	if k.full.Load() {
		return fmt.Errorf("%w: less than %d MiB free in %s", backend.ErrStorage, roomNeeded>>20, k.store.cfg.Dir)
	}
	if failed := k.store.meta.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// look measures the free space, and sees whether the directory is still there:
// files that are open can be written to after they have been removed.
func (k *keeper) look() {
	if _, err := k.store.fs.Stat(k.store.fs.PathJoin(k.store.dir, lockFile)); errors.Is(err, fs.ErrNotExist) {
		k.store.meta.fail(fmt.Errorf("%s has been removed under the running gateway", k.store.cfg.Dir))
	}
	usage, err := k.store.fs.GetDiskUsage(k.store.dir)
	// Where it is not known, the next write shows.
	k.setFull(err == nil && usage.AvailBytes < roomNeeded)
}

func (k *keeper) setFull(full bool) {
	if k.full.Swap(full) == full {
		return
	}
	dir := zap.String("dir", k.store.cfg.Dir)
	if full {
		k.store.log.Error("the disk is full: nothing is accepted until there is room again", dir)
	} else {
		k.store.log.Info("there is room on the disk again", dir)
	}
}

// trouble hears of an error of the disk.
func (k *keeper) trouble(err error) {
	if vfs.IsNoSpaceError(err) {
		k.setFull(true)
		return
	}
	// Every append may fail: one line a minute.
	now, last := time.Now().Unix(), k.told.Load()
	if now-last >= 60 && k.told.CompareAndSwap(last, now) {
		k.store.log.Error("writing to the disk failed; what it was for has been refused", cause(err))
	}
}
