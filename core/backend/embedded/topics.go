package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// partitionsMax bounds the partitions of all topics together. Each costs some
// 300 bytes of memory, written to or not.
const partitionsMax = 200_000

// topic is a topic and its partitions. Both pointers are replaced as a whole.
type topic struct {
	name       string
	id         uuid.UUID
	dir        string // of its segments
	made       atomic.Bool
	info       atomic.Pointer[backend.Topic]
	partitions atomic.Pointer[[]*partition]
}

func (s *Store) newTopic(id uuid.UUID, v topicValue) *topic {
	t := &topic{name: v.Name, id: id, dir: s.fs.PathJoin(s.dir, topicsDir, id.String())}
	t.partitions.Store(&[]*partition{})
	s.grow(t, v.Partitions)
	s.describe(t, v)
	return t
}

// describe publishes what callers see of the topic.
func (s *Store) describe(t *topic, v topicValue) {
	t.info.Store(&backend.Topic{
		Name: t.name, ID: t.id, Partitions: v.Partitions,
		Overrides: v.Overrides, Config: s.configs.Resolve(v.Overrides),
	})
}

// grow adds empty partitions.
func (s *Store) grow(t *topic, total int32) {
	ps := slices.Clone(*t.partitions.Load())
	more := make([]partition, int(total)-len(ps))
	for i := range more {
		more[i] = partition{store: s, topic: t, index: int32(len(ps))}
		ps = append(ps, &more[i])
	}
	t.partitions.Store(&ps)
}

func (s *Store) storeTopic(t *topic, v topicValue) error {
	b, err := v.encode()
	if err != nil {
		return fmt.Errorf("topic %s: %w", v.Name, err)
	}
	return s.meta.set(topicKey(keyTopic, t.id), b, durable)
}

// Topic implements backend.Topics.
func (s *Store) Topic(_ context.Context, name string) (backend.Topic, error) {
	if err := s.enter(); err != nil {
		return backend.Topic{}, err
	}
	defer s.life.RUnlock()
	s.mu.RLock()
	t := s.byName[name]
	s.mu.RUnlock()
	if t == nil {
		return backend.Topic{}, backend.ErrUnknownTopic
	}
	return *t.info.Load(), nil
}

// TopicByID implements backend.Topics.
func (s *Store) TopicByID(_ context.Context, id uuid.UUID) (backend.Topic, error) {
	if err := s.enter(); err != nil {
		return backend.Topic{}, err
	}
	defer s.life.RUnlock()
	t, err := s.topicByID(id)
	if err != nil {
		return backend.Topic{}, err
	}
	return *t.info.Load(), nil
}

// AllTopics implements backend.Topics.
func (s *Store) AllTopics(context.Context) ([]backend.Topic, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	s.mu.RLock()
	sorted := s.sorted
	s.mu.RUnlock()
	if sorted != nil {
		return slices.Clone(sorted), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted = make([]backend.Topic, 0, len(s.byID))
	for _, t := range s.byID {
		sorted = append(sorted, *t.info.Load())
	}
	slices.SortFunc(sorted, func(a, b backend.Topic) int { return strings.Compare(a.Name, b.Name) })
	s.sorted = sorted
	return slices.Clone(sorted), nil
}

// CreateTopic implements backend.Topics.
func (s *Store) CreateTopic(_ context.Context, n backend.NewTopic) (backend.Topic, error) {
	if err := s.enter(); err != nil {
		return backend.Topic{}, err
	}
	defer s.life.RUnlock()
	s.admin.Lock()
	defer s.admin.Unlock()
	s.mu.RLock()
	present := s.byName[n.Name]
	s.mu.RUnlock()
	if present != nil {
		return backend.Topic{}, backend.ErrTopicExists
	}
	if n.Partitions < 1 {
		return backend.Topic{}, backend.ErrPartitionCount
	}
	if err := s.mayGrow(n.Partitions); err != nil {
		return backend.Topic{}, err
	}
	v := topicValue{Name: n.Name, Partitions: n.Partitions, Overrides: maps.Clone(n.Overrides)}
	t := s.newTopic(uuid.New(), v)
	if err := s.storeTopic(t, v); err != nil {
		return backend.Topic{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[t.name], s.byID[t.id], s.sorted = t, t, nil
	s.partitions += int(n.Partitions)
	return *t.info.Load(), nil
}

// mayGrow returns why there cannot be so many more partitions; admin is held.
func (s *Store) mayGrow(more int32) error {
	if s.partitions+int(more) > partitionsMax {
		return fmt.Errorf("%w: all topics together may have %d partitions", backend.ErrTooManyTopics, partitionsMax)
	}
	return s.keeper.room()
}

// changeTopic runs change while no topic is created, changed or deleted elsewhere.
func (s *Store) changeTopic(id uuid.UUID, change func(*topic) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	s.admin.Lock()
	defer s.admin.Unlock()
	t, err := s.topicByID(id)
	if err != nil {
		return err
	}
	return change(t)
}

// GrowTopic implements backend.Topics.
func (s *Store) GrowTopic(_ context.Context, id uuid.UUID, total int32) error {
	return s.changeTopic(id, func(t *topic) error {
		info := t.info.Load()
		if total <= info.Partitions {
			return backend.ErrPartitionCount
		}
		if err := s.mayGrow(total - info.Partitions); err != nil {
			return err
		}
		v := topicValue{Name: t.name, Partitions: total, Overrides: info.Overrides}
		if err := s.storeTopic(t, v); err != nil {
			return err
		}
		// Partitions first: nobody may be told of one that cannot be found.
		s.grow(t, total)
		s.partitions += int(total - info.Partitions)
		s.republish(t, v)
		return nil
	})
}

// AlterTopic implements backend.Topics.
func (s *Store) AlterTopic(_ context.Context, id uuid.UUID, change func(map[string]string) (map[string]string, error)) error {
	return s.changeTopic(id, func(t *topic) error {
		info := t.info.Load()
		overrides, err := change(info.Overrides)
		if err != nil {
			return err
		}
		if maps.Equal(overrides, info.Overrides) {
			return nil
		}
		if err := s.keeper.room(); err != nil {
			return err
		}
		v := topicValue{Name: t.name, Partitions: info.Partitions, Overrides: maps.Clone(overrides)}
		if err := s.storeTopic(t, v); err != nil {
			return err
		}
		s.republish(t, v)
		return nil
	})
}

func (s *Store) republish(t *topic, v topicValue) {
	s.describe(t, v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sorted = nil
}
