package embedded

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// pendingSync is a batch that waits for the disk.
type pendingSync struct {
	p      *partition
	g      *segment
	size   int64 // how far the segment must have reached the disk
	result *backend.Appended
}

// needsSync returns what to wait for until all that has been written is on the
// disk, or nil; w is held.
func (p *partition) needsSync(g *segment) *pendingSync {
	if !p.store.cfg.Sync || g == nil {
		return nil
	}
	return &pendingSync{p: p, g: g, size: g.size}
}

// awaitSyncs waits for all of them. Every partition gets its sync going before
// the first is waited for.
func (s *Store) awaitSyncs(ctx context.Context, syncs []*pendingSync) {
	for _, w := range syncs {
		w.p.mu.Lock()
		w.p.startSync(w.g, w.size)
		w.p.mu.Unlock()
	}
	for _, w := range syncs {
		if err := w.p.syncTo(ctx, w.g, w.size); err != nil {
			*w.result = refused(err)
		}
	}
}

// syncTo waits until a segment has reached the disk up to size. Whoever waits
// while a sync is running shares the next one.
func (p *partition) syncTo(ctx context.Context, g *segment, size int64) error {
	for {
		p.mu.Lock()
		running := p.startSync(g, size)
		fault := p.fault
		p.mu.Unlock()
		if running == nil && fault != nil {
			// The batch was written, and may be there after a restart.
			return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, fault)
		}
		if running == nil {
			return nil
		}
		select {
		case <-running:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startSync returns a channel that is closed at the end of the running sync,
// after starting one if there is none; nil when nothing is to be waited for. mu
// is held.
func (p *partition) startSync(g *segment, size int64) <-chan struct{} {
	if g.visible >= size || p.fault != nil {
		return nil
	}
	if p.syncing == nil {
		done := make(chan struct{})
		p.syncing = done
		// What is written from now on is for the next sync.
		written := g.value()
		p.store.keeper.wg.Go(func() { p.runSync(g, written, done) })
	}
	return p.syncing
}

// runSync brings a segment to the disk and shows its records to readers.
func (p *partition) runSync(g *segment, written segmentValue, done chan struct{}) {
	err := p.store.syncSegment(g)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(done)
	p.syncing = nil
	if p.gone {
		p.fault = backend.ErrUnknownTopic
		return
	}
	if err != nil {
		// What the disk has is unknown now, and a second sync may falsely
		// succeed: the files are read again at the next start.
		p.store.log.Error("a partition's file could not be brought to the disk; the partition is refused until the gateway is started again",
			zap.String("topic", p.topic.name), zap.Int32("partition", p.index), zap.String("file", g.name), cause(err))
		p.fail(err)
		return
	}
	g.show(written.size, written.maxTime)
	p.end = max(p.end, written.next)
	p.watchers.Wake()
}

func (s *Store) syncSegment(g *segment) error {
	h, err := s.files.acquire(&g.slot, g.name, true)
	if err != nil {
		return err
	}
	defer h.release()
	return h.SyncData()
}
