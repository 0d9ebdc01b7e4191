package embedded

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

// Append implements backend.Logs. All batches are written first, then all wait
// for the disk together, if at all.
func (s *Store) Append(ctx context.Context, batches []backend.Append) []backend.Appended {
	out := make([]backend.Appended, len(batches))
	if err := s.enter(); err != nil {
		for i := range out {
			out[i] = refused(err)
		}
		return out
	}
	defer s.life.RUnlock()
	var syncs []*pendingSync
	for i := range batches {
		a := &batches[i]
		p, err := s.partition(a.Partition)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.keeper.room()
		}
		if err != nil {
			out[i] = refused(err)
			continue
		}
		var wait *pendingSync
		if out[i], wait = p.append(&a.Batch); wait != nil {
			wait.result = &out[i]
			syncs = append(syncs, wait)
		}
	}
	s.awaitSyncs(ctx, syncs)
	return out
}

func refused(err error) backend.Appended {
	return backend.Appended{Err: err, BaseOffset: -1, LogStart: -1, AppendTime: -1}
}

// append writes one batch. With storage.sync it returns what is to be waited for.
func (p *partition) append(b *record.Batch) (backend.Appended, *pendingSync) {
	p.w.Lock()
	defer p.w.Unlock()
	p.mu.Lock()
	err := p.usable()
	p.mu.Unlock()
	if err != nil {
		return refused(err), nil
	}
	s, now := p.store, p.store.ms()
	expiration := s.opts.ProducerExpiration.Milliseconds()
	out := backend.Appended{LogStart: p.start, AppendTime: -1, BaseOffset: p.next}
	if b.ProducerID >= 0 {
		if err := p.loadProducers(); err != nil {
			return refused(err), nil
		}
		offset, duplicate, err := p.producers.Check(b, now, expiration)
		if err != nil {
			return refused(err), nil
		}
		if duplicate {
			// The first try may not have reached the disk yet.
			out.BaseOffset, out.Duplicate = offset, true
			return out, p.needsSync(p.last())
		}
	}
	cfg := &p.topic.info.Load().Config
	if cfg.LogAppendTime {
		b.SetLogAppendTime(now)
		out.AppendTime = now
	}
	b.SetBaseOffset(p.next)
	b.SetLeaderEpoch(0)
	size := int64(len(b.Bytes))
	g, err := p.writable(size, now, cfg.SegmentBytes, segmentMs(cfg))
	if err == nil {
		err = p.write(g, b.Bytes)
	}
	if err != nil {
		return refused(s.diskError(err)), nil
	}
	p.mu.Lock()
	if g.size == 0 {
		g.created = now
	}
	g.add(p.next, size, p.next+int64(b.LastOffsetDelta)+1, b.MaxTimestamp)
	p.next = g.next
	if !s.cfg.Sync {
		g.show(g.size, g.maxTime)
		p.end = g.next
		p.watchers.Wake()
	}
	p.mu.Unlock()
	if b.ProducerID >= 0 {
		p.producers.Add(b, now, expiration)
	}
	s.keeper.note(p, size)
	return out, p.needsSync(g)
}

// write puts bytes at the end of a segment; w is held.
func (p *partition) write(g *segment, b []byte) error {
	h, err := p.store.files.acquire(&g.slot, g.name, true)
	if err != nil {
		return err
	}
	defer h.release()
	if _, err := h.WriteAt(b, g.size); err != nil {
		// Some of it may be there. It must not be taken for records that follow
		// what is written next, so that goes into another file.
		p.torn = true
		return err
	}
	return nil
}

// writable returns the segment that takes the next batch, after beginning a new
// one if the present is full, old or torn; w is held.
func (p *partition) writable(size, now, maxBytes, maxMs int64) (*segment, error) {
	g := p.last()
	switch {
	case g == nil:
	case p.torn:
	case g.size > 0 && g.size+size > maxBytes:
	case g.size > 0 && now-g.created >= maxMs:
	default:
		return g, nil
	}
	return p.roll(now)
}

// roll begins a segment at the next offset; w is held.
func (p *partition) roll(now int64) (*segment, error) {
	s, old := p.store, p.last()
	if s.cfg.Sync && old != nil {
		// A later record must not be seen, or survive, before an earlier one.
		if err := p.syncTo(context.Background(), old, old.size); err != nil {
			return nil, err
		}
	}
	if !p.topic.made.Load() {
		if err := s.makeTopicDir(p.topic); err != nil {
			return nil, err
		}
	}
	g := &segment{
		base: p.next, next: p.next, created: now, maxTime: -1, shownTime: -1,
		name: s.fs.PathJoin(p.topic.dir, segmentFile(p.index, p.next, 0)),
	}
	file, err := s.fs.Create(g.name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if s.cfg.Sync {
		if err := syncDir(s.fs, p.topic.dir); err != nil {
			file.Close()
			return nil, err
		}
	}
	s.files.adopt(&g.slot, file)
	p.mu.Lock()
	defer p.mu.Unlock()
	if old != nil {
		g.start = old.start + old.size
		old.sealed = true
		if s.cfg.Sync {
			p.durable = g.base
		}
		if old.size == 0 { // torn at its first batch, and replaced just now
			s.files.drop(&old.slot)
			p.segments = slices.Clone(p.segments[:len(p.segments)-1])
		} else if !s.cfg.Sync {
			s.keeper.sealed(p, old)
		}
	}
	p.segments = append(p.segments, g)
	p.torn = false
	return g, nil
}

func (s *Store) makeTopicDir(t *topic) error {
	if err := s.fs.MkdirAll(t.dir, dirMode); err != nil {
		return err
	}
	if s.cfg.Sync {
		if err := syncDir(s.fs, s.fs.PathDir(t.dir)); err != nil {
			return err
		}
	}
	t.made.Store(true)
	return nil
}

// diskError makes an error of the file system one of the contract's.
func (s *Store) diskError(err error) error {
	s.keeper.trouble(err)
	return fmt.Errorf("%w: %w", backend.ErrStorage, err)
}
