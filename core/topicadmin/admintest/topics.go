// Package admintest helps to test the handlers that manage topics: a store of
// topics in memory with ids that do not change from run to run, and commands
// for scenario files.
package admintest

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// ClusterID is the id of the cluster of every Topics.
const ClusterID = "iggykafkaAAAAAAAAAAAAA"

// Topics is a backend.Topics in memory. The first topic has the id
// 00000001-0000-0000-0000-000000000000, and so on.
type Topics struct {
	Catalog *topicconfig.Catalog
	// Before, when set, runs before each method, named as in the interface; its
	// error is what the method returns.
	Before func(method string) error

	mu     sync.Mutex
	made   uint32
	topics map[string]backend.Topic
}

var _ backend.Topics = (*Topics)(nil)

// New returns an empty store with Kafka's defaults.
func New(t testing.TB) *Topics {
	t.Helper()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	return &Topics{Catalog: catalog, topics: map[string]backend.Topic{}}
}

func (s *Topics) before(method string) error {
	if s.Before == nil {
		return nil
	}
	return s.Before(method)
}

// ClusterID returns the constant of the same name.
func (s *Topics) ClusterID(context.Context) (string, error) {
	if err := s.before("ClusterID"); err != nil {
		return "", err
	}
	return ClusterID, nil
}

func (s *Topics) Topic(_ context.Context, name string) (backend.Topic, error) {
	if err := s.before("Topic"); err != nil {
		return backend.Topic{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.topics[name]
	if !ok {
		return backend.Topic{}, fmt.Errorf("topic %s: %w", name, backend.ErrUnknownTopic)
	}
	return t, nil
}

func (s *Topics) TopicByID(_ context.Context, id uuid.UUID) (backend.Topic, error) {
	if err := s.before("TopicByID"); err != nil {
		return backend.Topic{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID(id)
}

func (s *Topics) byID(id uuid.UUID) (backend.Topic, error) {
	for _, t := range s.topics {
		if t.ID == id {
			return t, nil
		}
	}
	return backend.Topic{}, backend.ErrUnknownTopic
}

func (s *Topics) AllTopics(context.Context) ([]backend.Topic, error) {
	if err := s.before("AllTopics"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.topics), func(a, b backend.Topic) int {
		return strings.Compare(a.Name, b.Name)
	}), nil
}

func (s *Topics) CreateTopic(_ context.Context, n backend.NewTopic) (backend.Topic, error) {
	if err := s.before("CreateTopic"); err != nil {
		return backend.Topic{}, err
	}
	return s.Create(n.Name, n.Partitions, n.Overrides)
}

// Create makes a topic without asking Before.
func (s *Topics) Create(name string, partitions int32, overrides map[string]string) (backend.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.topics[name]; ok {
		return backend.Topic{}, backend.ErrTopicExists
	}
	s.made++
	t := backend.Topic{Name: name, Partitions: partitions, Overrides: overrides, Config: s.Catalog.Resolve(overrides)}
	binary.BigEndian.PutUint32(t.ID[:], s.made)
	s.topics[name] = t
	return t, nil
}

func (s *Topics) DeleteTopic(_ context.Context, id uuid.UUID) error {
	if err := s.before("DeleteTopic"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.byID(id)
	delete(s.topics, t.Name)
	return err
}

func (s *Topics) GrowTopic(_ context.Context, id uuid.UUID, total int32) error {
	if err := s.before("GrowTopic"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.byID(id)
	switch {
	case err != nil:
		return err
	case total <= t.Partitions:
		return backend.ErrPartitionCount
	}
	t.Partitions = total
	s.topics[t.Name] = t
	return nil
}

func (s *Topics) AlterTopic(_ context.Context, id uuid.UUID, change func(map[string]string) (map[string]string, error)) error {
	if err := s.before("AlterTopic"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.byID(id)
	if err != nil {
		return err
	}
	if t.Overrides, err = change(t.Overrides); err != nil {
		return err
	}
	t.Config = s.Catalog.Resolve(t.Overrides)
	s.topics[t.Name] = t
	return nil
}
