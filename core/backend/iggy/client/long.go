package client

import (
	"sync"
	"time"
)

// long are the requests under way that keep the whole server busy, such as one that
// deletes a topic of a thousand partitions, and until when each may take. The server
// does one thing at a time, so what waits beside them is not given up earlier: that
// would cut all connections of a server that works on what it was asked for.
type long struct {
	mu    sync.Mutex
	until map[*request]time.Time
}

// begin notes such a request.
func (l *long) begin(r *request, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[*request]time.Time{}
	}
	l.until[r] = until
}

func (l *long) end(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.until, r)
}

// left returns for how long others may have to wait still; 0 for those that are long
// themselves.
func (l *long) left(r *request) (most time.Duration) {
	if r.more > 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, until := range l.until {
		most = max(most, time.Until(until))
	}
	return most
}
