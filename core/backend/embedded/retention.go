package embedded

import (
	"errors"
	"fmt"
	"io/fs"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// retain drops what the topics' retention lets go, and forgets idle producers.
func (s *Store) retain() {
	s.mu.RLock()
	topics := make([]*topic, 0, len(s.byID))
	for _, t := range s.byID {
		topics = append(topics, t)
	}
	s.mu.RUnlock()
	now := s.ms()
	for _, t := range topics {
		cfg := t.info.Load().Config
		for _, p := range *t.partitions.Load() {
			if err := p.retain(cfg, now); err != nil {
				s.log.Warn("retention failed; it is tried again", zap.String("topic", t.name),
					zap.Int32("partition", p.index), cause(err))
			}
		}
	}
}

// retain drops whole segments from the front of the log, the present one
// included when all of it has had its time or lies below the log start.
func (p *partition) retain(cfg topicconfig.Config, now int64) error {
	p.store.saving.Lock()
	defer p.store.saving.Unlock()
	p.w.Lock()
	defer p.w.Unlock()
	if p.producers != nil && p.producers.Len() > 0 {
		p.producers.Expire(now, p.store.opts.ProducerExpiration.Milliseconds())
		if len(p.producers.forgotten) > 0 {
			p.store.keeper.note(p, 0)
		}
	}
	p.mu.Lock()
	old := p.cutFront(p.expired(cfg, now))
	p.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	return p.dropSegments(old)
}

// expired is how many segments may go; mu is held.
func (p *partition) expired(cfg topicconfig.Config, now int64) int {
	if p.usable() != nil {
		return 0
	}
	var total int64
	for _, g := range p.segments {
		total += g.size
	}
	for i, g := range p.segments {
		stamp := g.maxTime
		if stamp < 0 {
			stamp = g.created // no record has a time
		}
		old := cfg.RetentionMs >= 0 && now-stamp > cfg.RetentionMs
		large := cfg.RetentionBytes >= 0 && total-g.size >= cfg.RetentionBytes
		goes := cfg.Delete && (old || large) || p.passed(g)
		if !goes || !g.droppable() {
			return i
		}
		total -= g.size
	}
	return len(p.segments)
}

// dropSegments removes segments before the new log start, which are no longer
// part of the log: first from the metadata, so that a crash leaves files too
// many, never too few, and a note of those; w is held.
func (p *partition) dropSegments(old []*segment) error {
	s, id := p.store, p.topic.id
	for _, g := range old {
		s.files.drop(&g.slot)
	}
	b := s.meta.db.NewBatch()
	saved, err := p.saveHeld(b, false)
	// The log may start inside the first segment that stays.
	end := old[len(old)-1].next
	for _, g := range old {
		err = errors.Join(err, b.Set(droppedKey(id, p.index, g.base, g.generation), nil, nil))
	}
	for _, kind := range []byte{keySegment, keyCompacted, keyIndex} {
		err = errors.Join(err, s.meta.clear(b,
			numberKey(kind, id, p.index, old[0].base), numberKey(kind, id, p.index, end)))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	if err := s.meta.commit(b, durable); err != nil {
		return err
	}
	saved()
	names := map[string][]byte{}
	for _, g := range old {
		names[g.name] = droppedKey(id, p.index, g.base, g.generation)
	}
	return s.removeDropped(names)
}

// removeDropped removes the files of dropped segments, and then the notes, given
// by the files' names, that they are to be removed. The files are surely gone
// by then: one that came back after a loss of power would be taken for records.
func (s *Store) removeDropped(notes map[string][]byte) error {
	dirs := map[string]bool{}
	b := s.meta.db.NewBatch()
	for name, key := range notes {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		dirs[s.fs.PathDir(name)] = true
		if err := b.Delete(key, nil); err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := syncDir(s.fs, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.meta.commit(b, behind)
}
