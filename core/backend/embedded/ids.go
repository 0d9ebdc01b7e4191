package embedded

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// idBlock is how many producer ids are reserved at a time.
const idBlock = 1000

// producerIDs hands out ids of a block that has been reserved.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64 // equal: a block must be reserved
}

// NewProducerID implements backend.Producers.
func (s *Store) NewProducerID(context.Context) (int64, error) {
	if err := s.enter(); err != nil {
		return -1, err
	}
	defer s.life.RUnlock()
	s.ids.mu.Lock()
	defer s.ids.mu.Unlock()
	if s.ids.next == s.ids.end {
		if err := s.reserveIDs(); err != nil {
			return -1, err
		}
	}
	id := s.ids.next
	s.ids.next++
	return id, nil
}

// reserveIDs takes the next block for this store, for ever.
func (s *Store) reserveIDs() error {
	v, err := s.meta.get(plainKey(keyProducers))
	if err != nil {
		return err
	}
	var first int64
	if v != nil {
		if len(v) != 8 {
			return fmt.Errorf("%w: producer ids: %w", backend.ErrStorage, errValue)
		}
		first = int64(binary.BigEndian.Uint64(v))
	}
	end := binary.BigEndian.AppendUint64(nil, uint64(first+idBlock))
	if err := s.meta.set(plainKey(keyProducers), end, durable); err != nil {
		return err
	}
	s.ids.next, s.ids.end = first, first+idBlock
	return nil
}

// loadCluster reads the cluster id, or makes one.
func (s *Store) loadCluster() error {
	v, err := s.meta.get(plainKey(keyCluster))
	if err != nil || v != nil {
		s.cluster = string(v)
		return err
	}
	id := uuid.New()
	s.cluster = base64.RawURLEncoding.EncodeToString(id[:])
	return s.meta.set(plainKey(keyCluster), []byte(s.cluster), durable)
}
