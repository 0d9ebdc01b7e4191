package iggy

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

// watchLookUp is how long Watch looks for partitions. Who watches one has mostly
// just read it, so that it is known.
const watchLookUp = time.Second

// watcher is one call of Watch.
type watcher struct{ ch chan struct{} }

func (w *watcher) wake() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// watchers are those of a partition.
type watchers struct {
	mu  sync.Mutex
	all []*watcher
}

func (ws *watchers) add(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all = append(ws.all, w)
}

func (ws *watchers) remove(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if i := slices.Index(ws.all, w); i >= 0 {
		last := len(ws.all) - 1
		ws.all[i], ws.all[last] = ws.all[last], nil
		ws.all = ws.all[:last]
	}
}

// wake wakes who watches p.
func (p *partition) wake() {
	p.watchers.mu.Lock()
	defer p.watchers.mu.Unlock()
	for _, w := range p.watchers.all {
		w.wake()
	}
}

// Watch implements backend.Logs.
func (s *Store) Watch(ps []backend.Partition) (<-chan struct{}, func()) {
	w := &watcher{make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), watchLookUp)
	defer cancel()
	watched := make([]*partition, 0, len(ps))
	for _, id := range ps {
		p, err := s.partition(ctx, id)
		if err != nil {
			continue
		}
		p.watchers.add(w)
		if s.topicOf(p) == nil {
			w.wake() // it went meanwhile
		}
		watched = append(watched, p)
	}
	s.lookFor(watched)
	return w.ch, sync.OnceFunc(func() {
		s.lookNoMore(watched)
		for _, p := range watched {
			p.watchers.remove(w)
		}
	})
}
