// Package outcome has whoever keeps entries of a backend in memory read them anew after
// a change of which nobody knows whether it was stored.
//
// A change over a server that does not answer in time ends with
// backend.ErrOutcomeUnknown. What the client is told (REQUEST_TIMED_OUT) leaves it
// open, but the server has stored the change or it has not, and after a restart that
// would count. So it counts as soon as the server answers again, as well.
package outcome

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// again is how long after an attempt that failed the next one begins.
	again = time.Second
	// patience bounds one attempt.
	patience = 10 * time.Second
)

// Reader reads the entries of one kind anew when that is due. It is safe for
// concurrent use.
type Reader struct {
	entries backend.Entries
	kind    string
	load    func(context.Context) error

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	due     bool // a change has ended in the dark since the last look
	looking bool // a goroutine is at it
}

// New returns a Reader that calls load, which reads all entries of the kind and has
// them count in place of those before, with no change of its owner in between. Close
// ends it.
func New(entries backend.Entries, kind string, load func(context.Context) error) *Reader {
	r := &Reader{entries: entries, kind: kind, load: load}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// Ended hears how a change has ended. Where that is open, entries are read anew once it
// is known what became of the change, at the latest some seconds after the server
// answers again.
func (r *Reader) Ended(err error) {
	if !open(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = true
	if r.looking || r.life.Err() != nil {
		return
	}
	r.looking = true
	r.work.Go(r.run)
}

// open reports whether the change may have been stored; see package backend.
func open(err error) bool {
	return errors.Is(err, backend.ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Close ends what is due, and waits for it.
func (r *Reader) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.work.Wait()
}

func (r *Reader) run() {
	for r.next() {
		if r.read() == nil {
			continue
		}
		r.mu.Lock()
		r.due = true
		r.mu.Unlock()
		pause := time.NewTimer(again)
		select {
		case <-pause.C:
		case <-r.life.Done():
			pause.Stop()
		}
	}
}

// next reports whether there is something to do, and takes it on.
func (r *Reader) next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looking = r.due && r.life.Err() == nil
	r.due = false
	return r.looking
}

// read waits until the backend knows what became of the changes, and loads. A change
// that begins meanwhile either is among what is loaded, or is heard of by Ended.
func (r *Reader) read() error {
	ctx, cancel := context.WithTimeout(r.life, patience)
	defer cancel()
	if err := r.entries.ChangeEntries(ctx, r.kind, nil); err != nil {
		return err
	}
	return r.load(ctx)
}
