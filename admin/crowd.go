package admin

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// crowd bounds the number of connections. One more takes the place of another:
// of the one that has been idle for longest, or else of the one with the oldest
// request. Whoever holds connections without end must not keep out those who ask
// something short, such as whether the gateway lives.
type crowd struct {
	most int

	mu    sync.Mutex
	conns map[net.Conn]standing
}

// standing is what a connection does, and since when.
type standing struct {
	idle  bool
	since time.Time
}

func newCrowd(most int) *crowd { return &crowd{most: most, conns: map[net.Conn]standing{}} }

// changed follows a connection; it is an [http.Server]'s ConnState.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch _, known := c.conns[conn]; {
	case state == http.StateClosed || state == http.StateHijacked:
		delete(c.conns, conn)
	case state == http.StateNew:
		if len(c.conns) >= c.most {
			oldest := c.oldest()
			delete(c.conns, oldest)
			oldest.Close() // which ends what the server does with it
		}
		c.conns[conn] = standing{since: time.Now()}
	case known:
		c.conns[conn] = standing{idle: state == http.StateIdle, since: time.Now()}
	}
}

// oldest returns the connection that can be spared first.
func (c *crowd) oldest() (oldest net.Conn) {
	for conn, s := range c.conns {
		o, found := c.conns[oldest]
		if !found || s.idle && !o.idle || s.idle == o.idle && s.since.Before(o.since) {
			oldest = conn
		}
	}
	return oldest
}
