package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/iggykafka/gateway/core/backend"
)

// checkpointBatch is how large a batch of checkpoints grows before it is
// committed.
const checkpointBatch = 1 << 20

// checkpoint writes down what has been learnt of partitions since the last
// time. The files being the truth, it may be lost. synced says that the files
// have reached the disk, and makes it durable.
func (s *Store) checkpoint(ps []*partition, synced bool) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	how := behind
	if synced {
		how = durable
	}
	b := s.meta.db.NewBatch()
	var saved []func()
	commit := func() error {
		if err := s.meta.commit(b, how); err != nil {
			return err
		}
		for _, f := range saved {
			f()
		}
		b, saved = s.meta.db.NewBatch(), nil
		return nil
	}
	for _, p := range ps {
		f, err := p.save(b, synced)
		if err != nil {
			return fmt.Errorf("%w: %w", backend.ErrStorage, err)
		}
		if f != nil {
			saved = append(saved, f)
		}
		if b.Len() >= checkpointBatch {
			if err := commit(); err != nil {
				return err
			}
		}
	}
	return commit()
}

// save adds the partition's checkpoint to a batch. What it returns is called
// once the batch is written.
func (p *partition) save(b *pebble.Batch, synced bool) (saved func(), err error) {
	p.w.Lock()
	defer p.w.Unlock()
	p.dirty = false // it has been taken off the list
	return p.saveHeld(b, synced)
}

// saveHeld is save for who holds w. The store's saving is held as well.
func (p *partition) saveHeld(b *pebble.Batch, synced bool) (saved func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || p.fault != nil {
		return nil, nil
	}
	var done []func()
	for _, g := range p.segments {
		if g.stored {
			continue
		}
		n := len(g.pending)
		for _, e := range g.pending {
			err = errors.Join(err, b.Set(numberKey(keyIndex, p.topic.id, p.index, e.offset), e.encode(g.id()), nil))
		}
		if g.sealed {
			err = errors.Join(err, b.Set(numberKey(keySegment, p.topic.id, p.index, g.base), g.value().encode(), nil))
		}
		done = append(done, func() {
			// A new slice, so that what readers look at is not moved.
			g.pending = append([]entry(nil), g.pending[n:]...)
			g.stored = g.sealed && len(g.pending) == 0
		})
	}
	err = errors.Join(err,
		b.Set(partitionKey(keyState, p.topic.id, p.index), p.state(synced).encode(), nil),
		p.saveProducers(b))
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range done {
			f()
		}
	}, err
}

// state is how far the partition is good; mu is held. With storage.sync that is
// as far as the disk has it, and readers see.
func (p *partition) state(synced bool) partitionState {
	v := partitionState{
		start: p.start, next: p.next, active: -1, maxTime: -1, durable: p.durable,
		synced: synced || p.store.cfg.Sync,
	}
	if g := p.last(); g != nil {
		v.active, v.size, v.maxTime, v.created = g.base, g.size, g.maxTime, g.created
		if p.store.cfg.Sync {
			v.next, v.size, v.maxTime = p.end, g.visible, g.shownTime
		}
	}
	return v
}

// saveProducers adds what has changed; w is held.
func (p *partition) saveProducers(b *pebble.Batch) error {
	if p.producers == nil {
		return nil
	}
	return p.producers.save(b, func(id int64) []byte {
		return numberKey(keyProducer, p.topic.id, p.index, id)
	})
}

// syncTopicDir makes the names of a topic's files outlive a loss of power.
func (s *Store) syncTopicDir(dir string) error {
	return errors.Join(syncDir(s.fs, dir), syncDir(s.fs, s.fs.PathDir(dir)))
}

// settle brings everything to the disk and notes that the store was left in
// order. Nothing else runs any more.
func (s *Store) settle() error {
	s.keeper.settleFull()
	var ps []*partition
	dirs := map[string]bool{}
	for _, t := range s.byID {
		for _, p := range *t.partitions.Load() {
			if p.unsynced || p.dirty {
				ps = append(ps, p)
				dirs[t.dir] = len(p.segments) > 0 || dirs[t.dir]
			}
		}
	}
	var work errgroup.Group
	work.SetLimit(16) // syncs that run together share the file system's work
	for _, p := range ps {
		if g := p.last(); g != nil && p.fault == nil && !s.cfg.Sync {
			work.Go(func() error { return s.syncSegment(g) })
		}
	}
	dirs[s.fs.PathJoin(s.dir, topicsDir)] = true
	for dir, made := range dirs {
		if made && !s.cfg.Sync {
			work.Go(func() error { return syncDir(s.fs, dir) })
		}
	}
	if err := work.Wait(); err != nil {
		// The next start finds out what has got lost, if anything.
		return errors.Join(err, s.checkpoint(ps, false))
	}
	if err := s.checkpoint(ps, true); err != nil {
		return err
	}
	return s.noteRun(run{Boot: s.opts.BootID(), Clean: true})
}
