package standintest

import (
	"net"
	"sync"
	"time"
)

// life is what runs between a Start and the end.
type life struct {
	server   *Server
	listener net.Listener
	done     chan struct{} // closed when it is over
	wg       sync.WaitGroup

	mu    sync.Mutex
	over  bool
	conns map[*conn]struct{}
}

func newLife(s *Server, listener net.Listener) *life {
	return &life{server: s, listener: listener, done: make(chan struct{}), conns: map[*conn]struct{}{}}
}

func (l *life) accept() {
	for {
		socket, err := l.listener.Accept()
		if err != nil {
			return
		}
		if !l.serve(&conn{Conn: socket, life: l, server: l.server}) {
			_ = socket.Close()
		}
	}
}

// serve runs a connection; false when the life is over. A paused server takes
// no notice of a new connection.
func (l *life) serve(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.conns[c] = struct{}{}
	l.wg.Go(func() {
		defer l.forget(c)
		if l.server.awake(l) {
			c.run()
		}
	})
	return true
}

func (l *life) forget(c *conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *life) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	return all
}

// end cuts everything and waits for it.
func (l *life) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	close(l.done)
	_ = l.listener.Close()
	for _, c := range l.all() {
		_ = c.Close()
	}
	l.wg.Wait()
}

// farewell is how long a client may take to read that it is disconnected, and how long
// that waits for the end of a request.
const farewell = 100 * time.Millisecond

// disconnect tells every client that waits for nothing that it is disconnected. One
// that has its answer does, though its connection may not have noticed yet.
func (l *life) disconnect() {
	by := time.Now().Add(farewell)
	for _, c := range l.all() {
		for c.working() && time.Now().Before(by) {
			time.Sleep(time.Millisecond)
		}
		c.writing.Lock()
		_ = c.SetWriteDeadline(time.Now().Add(farewell))
		if !c.busy {
			_, _ = c.Write(frame(errDisconnected, nil))
		}
		c.writing.Unlock()
	}
}
