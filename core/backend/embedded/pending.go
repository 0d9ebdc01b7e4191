package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// errLater is what the methods of this file answer until they have a place.
var errLater = errors.New("this store cannot do that yet")

func (s *Store) DeleteRecords(context.Context, backend.Partition, int64) (int64, error) { return 0, errLater }

func (s *Store) DescribeProducers(context.Context, backend.Partition) ([]backend.ProducerState, error) {
	return nil, errLater
}

func (s *Store) LogDir(context.Context) (backend.LogDir, error) { return backend.LogDir{}, errLater }

func (s *Store) Sizes(context.Context, uuid.UUID) ([]int64, error) { return nil, errLater }

func (s *Store) EachGroup(context.Context, func(string, []byte) error) error { return errLater }

func (s *Store) SaveGroup(context.Context, string, []byte) error { return errLater }

func (s *Store) ExpireOffsets(context.Context, string, time.Time, func(string) bool) (int, error) {
	return 0, errLater
}
