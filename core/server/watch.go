package server

import (
	"sync/atomic"
	"time"
)

// watch tells when a request has been in work for long. Its timer runs out every
// lookAhead while there are requests, instead of being set and stopped for each: that
// would have the runtime go through the timers of all connections every lookAhead.
type watch struct {
	timer *time.Timer
	// began is when the request in work began, in nanoseconds since opened and one; 0
	// without one.
	began atomic.Int64
	armed atomic.Bool // the timer
}

// overdue is what began is from when a request has been in work for long.
const overdue = -1

// begins notes that a request is in work from now on.
func (w *watch) begins(now time.Duration) {
	w.began.Store(int64(now) + 1)
	if !w.armed.Swap(true) {
		w.timer.Reset(lookAhead)
	}
}

// tells has the request in work count as one that has taken long, and reports whether it
// did not before.
func (w *watch) tells() bool {
	began := w.began.Load()
	return began > 0 && w.began.CompareAndSwap(began, overdue)
}

// ends notes that it is not any more, and reports whether it took long.
func (w *watch) ends() bool { return w.began.Swap(0) == overdue }

// looks is what the timer calls. It reports whether the request in work has been so for
// long, once for each.
func (w *watch) looks(now func() time.Duration) bool {
	for {
		began := w.began.Load()
		if began <= 0 { // none, or it has been told of
			w.armed.Store(false)
			// One may have begun just before, and have relied on the timer. Or it began just
			// after, and the timer has run out again meanwhile.
			if w.began.Load() <= 0 || w.armed.Swap(true) {
				return false
			}
			continue
		}
		if left := lookAhead - (now() - time.Duration(began-1)); left > 0 {
			w.timer.Reset(left)
			return false
		}
		if w.began.CompareAndSwap(began, overdue) {
			w.armed.Store(false)
			return true
		}
	}
}
