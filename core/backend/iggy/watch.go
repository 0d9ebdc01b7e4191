package iggy

import (
	"context"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/watch"
)

// watchLookUp is how long Watch looks for partitions. Who watches one has mostly
// just read it, so that it is known.
const watchLookUp = time.Second

// Watch implements backend.Logs.
func (s *Store) Watch(ps []backend.Partition) (<-chan struct{}, func()) {
	w := watch.New()
	ctx, cancel := context.WithTimeout(context.Background(), watchLookUp)
	defer cancel()
	watched := make([]*partition, 0, len(ps))
	for _, id := range ps {
		p, err := s.partition(ctx, id)
		if err != nil {
			continue
		}
		p.watchers.Add(w)
		if s.topicOf(p) == nil {
			w.Wake() // it went meanwhile
		}
		watched = append(watched, p)
	}
	s.lookFor(watched)
	return w, sync.OnceFunc(func() {
		s.lookNoMore(watched)
		for _, p := range watched {
			p.watchers.Remove(w)
		}
	})
}
