// Package gate lets work in while something may be used, and waits for it to
// leave before that is closed.
package gate

import (
	"context"
	"sync"
)

// Gate is shut until Open, and for good after Shut. The zero Gate is ready for
// use.
type Gate struct {
	mu     sync.Mutex
	within context.Context // ends with Shut; nil while nothing is let in
	end    context.CancelFunc
	inside sync.WaitGroup
}

// Open lets work in.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.within, g.end = context.WithCancel(context.Background())
}

// Shut lets nobody in any more, ends the contexts of the work inside, and waits
// until it has left or ctx ends.
func (g *Gate) Shut(ctx context.Context) error {
	g.mu.Lock()
	open := g.within != nil
	g.within = nil
	g.mu.Unlock()
	if !open {
		return nil
	}
	g.end()
	left := make(chan struct{})
	go func() { g.inside.Wait(); close(left) }()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Enter lets work in, with a context that also ends when the gate is shut. The
// work calls leave when it is done. It reports false when the gate is shut;
// then there is nothing to leave.
func (g *Gate) Enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.within == nil {
		return ctx, nil, false
	}
	g.inside.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.within, cancel)
	return ctx, func() { stop(); cancel(); g.inside.Done() }, true
}
