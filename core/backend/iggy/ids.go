package iggy

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// idBlock is how many producer ids are reserved at a time.
const idBlock = 1000

// An id has saltBits that are random in every run of a gateway, and a number of the
// ledger below them. The tail of a log says which batches are there by their ids:
// with numbers alone those of another gateway, or of an internal stream that was
// lost, would be taken for this one's, and new records for duplicates.
const (
	saltBits   = 30
	numberBits = 32
)

// producerIDs hands out ids of a block that has been reserved.
type producerIDs struct {
	mu        chan struct{} // of one, so that waiting for it ends with a context
	salt      int64
	next, end int64 // without the salt; equal: a block must be reserved
}

// ClusterID implements backend.Backend.
func (s *Store) ClusterID(context.Context) (string, error) {
	if err := s.up(); err != nil {
		return "", err
	}
	return s.cluster, nil
}

// NewProducerID implements backend.Producers. While Iggy is away the rest of a
// block is still handed out.
func (s *Store) NewProducerID(ctx context.Context) (int64, error) {
	if err := s.up(); err != nil {
		return -1, err
	}
	ids := &s.ids
	select {
	case ids.mu <- struct{}{}:
	case <-ctx.Done():
		return -1, ctx.Err()
	}
	defer func() { <-ids.mu }()
	if ids.next == ids.end {
		if err := s.reserveIDs(ctx); err != nil {
			return -1, err
		}
	}
	id := ids.salt + ids.next
	ids.next++
	return id, nil
}

// reserveIDs takes the next block for this store, for ever. A block whose
// reservation has an unknown outcome is not handed out: the next one follows what
// the ledger has then.
func (s *Store) reserveIDs(ctx context.Context) error {
	first, err := s.number(keyProducers)
	if err != nil {
		return err
	}
	end := binary.BigEndian.AppendUint64(nil, uint64(first+idBlock))
	if err := s.ledger.Commit(ctx, []journal.Change{{Key: keyProducers, Value: end}}); err != nil {
		return err
	}
	if s.ids.end == 0 {
		s.ids.salt = rand.Int64N(1<<saltBits) << numberBits // #nosec G404 -- ids must differ, and are no secrets
	}
	s.ids.next, s.ids.end = first, first+idBlock
	return nil
}

// number reads a number of the ledger; 0 when it is not there.
func (s *Store) number(key string) (int64, error) {
	b, ok := s.ledger.Get(key)
	switch {
	case !ok:
		return 0, nil
	case len(b) != 8:
		return 0, fmt.Errorf("%w: key %q of the internal log cannot be read", backend.ErrStorage, key)
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// loadCluster reads the cluster id, or makes one.
func (s *Store) loadCluster(ctx context.Context) error {
	if v, ok := s.ledger.Get(keyCluster); ok {
		s.cluster = string(v)
		return nil
	}
	id := uuid.New()
	s.cluster = base64.RawURLEncoding.EncodeToString(id[:])
	return s.ledger.Commit(ctx, []journal.Change{{Key: keyCluster, Value: []byte(s.cluster)}})
}
