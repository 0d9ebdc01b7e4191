package embedded

import (
	"context"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// DeleteTopic implements backend.Topics. Once the keys are gone, so is the
// topic; its files follow, now or at the next start.
func (s *Store) DeleteTopic(_ context.Context, id uuid.UUID) error {
	return s.changeTopic(id, s.deleteTopic)
}

func (s *Store) deleteTopic(t *topic) error {
	s.committing.Lock()
	err := s.forgetTopic(t)
	if err == nil {
		s.mu.Lock()
		delete(s.byName, t.name)
		delete(s.byID, t.id)
		s.sorted = nil
		s.mu.Unlock()
	}
	s.committing.Unlock()
	if err != nil {
		return err
	}
	s.partitions -= len(*t.partitions.Load())
	for _, p := range *t.partitions.Load() {
		p.w.Lock() // an append that has begun ends first
		p.mu.Lock()
		p.gone = true
		for _, g := range p.segments {
			s.files.drop(&g.slot)
		}
		p.watchers.Wake()
		p.mu.Unlock()
		p.w.Unlock()
	}
	if err := s.removeFiles(t.id); err != nil {
		s.log.Warn("files of a deleted topic are left; the next start tries again",
			zap.String("topic", t.name), zap.String("dir", t.dir), cause(err))
	}
	return nil
}

// forgetTopic removes all keys of a topic in one step.
func (s *Store) forgetTopic(t *topic) error {
	b := s.meta.db.NewBatch()
	if err := b.Set(topicKey(keyDoomed, t.id), nil, nil); err != nil {
		return err
	}
	if err := b.Delete(topicKey(keyTopic, t.id), nil); err != nil {
		return err
	}
	for _, kind := range []byte{keyState, keyStart, keySegment, keyCompacted, keyClean, keyDropped, keyIndex, keyProducer} {
		prefix := topicKey(kind, t.id)
		if err := s.meta.clear(b, prefix, prefixEnd(prefix)); err != nil {
			return err
		}
	}
	err := s.eachGroup(func(group string) error {
		prefix := append(groupKey(group), t.id[:]...)
		return s.meta.scan(prefix, func(key, _ []byte) error { return b.Delete(key, nil) })
	})
	if err != nil {
		return err
	}
	return s.meta.commit(b, durable)
}

// removeFiles removes the directory of a deleted topic, and the note that it is
// to be removed.
func (s *Store) removeFiles(id uuid.UUID) error {
	dir := s.fs.PathJoin(s.dir, topicsDir)
	if err := s.fs.RemoveAll(s.fs.PathJoin(dir, id.String())); err != nil {
		return err
	}
	if err := syncDir(s.fs, dir); err != nil {
		return err
	}
	b := s.meta.db.NewBatch()
	if err := b.Delete(topicKey(keyDoomed, id), nil); err != nil {
		return err
	}
	return s.meta.commit(b, behind)
}
