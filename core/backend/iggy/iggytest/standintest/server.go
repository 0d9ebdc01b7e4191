package standintest

import (
	"crypto/tls"
	"errors"
	"sync"

	"github.com/iggykafka/gateway/internal/porttest"
)

// Options say how a server is.
type Options struct {
	// Username and Password are those of the root user.
	Username, Password string
	// TLS has the server speak TLS when it is set.
	TLS *tls.Config
	// SegmentSize is the least size of a topic that has one, in bytes; 0 is
	// Iggy's default of 1 GiB.
	SegmentSize uint64
	// LoseOnKill is how many messages each partition loses when the server is
	// killed, as a server does that does not save every message.
	LoseOnKill int
}

const defaultSegmentSize = 1 << 30

// Server is a stand-in. Its methods are safe for concurrent use.
type Server struct {
	options Options
	port    *porttest.Port
	faults  faults

	handlers map[uint32]handler

	// lives is held while the server starts or ends.
	lives sync.Mutex

	mu     sync.Mutex
	starts uint32        // lives that have begun
	life   *life         // nil while it does not run
	gate   chan struct{} // not nil while it is paused; closed when it goes on
	store
}

// New returns a server that does not run yet. Close ends it.
func New(o Options) (*Server, error) {
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	port, err := porttest.Reserve()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, port: port, handlers: handlers(), store: newStore()}
	s.users.add(&user{id: rootUser, name: o.Username, password: o.Password, status: active, permissions: rootPermissions, created: stamp().now})
	return s, nil
}

// Address is host:port, the same in every life.
func (s *Server) Address() string { return s.port.Address }

// Start has the server accept connections, over the state that it had.
func (s *Server) Start() error {
	s.lives.Lock()
	defer s.lives.Unlock()
	if s.current() != nil {
		return errors.New("standintest: the server runs already")
	}
	listener, err := s.port.Listen()
	if err != nil {
		return err
	}
	if s.options.TLS != nil {
		listener = tls.NewListener(listener, s.options.TLS)
	}
	l := newLife(s, listener)
	s.mu.Lock()
	s.restore()
	s.starts++
	s.life = l
	s.mu.Unlock()
	l.wg.Go(l.accept)
	return nil
}

func (s *Server) current() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// Kill ends the server where it stands: connections are cut, and what was not
// executed never is. It returns when nothing of the server runs.
func (s *Server) Kill() {
	s.lives.Lock()
	defer s.lives.Unlock()
	if s.end() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseEverywhere(s.options.LoseOnKill)
}

// Stop ends the server in order: clients are told that they are disconnected.
func (s *Server) Stop() {
	s.lives.Lock()
	defer s.lives.Unlock()
	s.Resume()
	if l := s.current(); l != nil {
		l.disconnect()
	}
	s.end()
}

// Close ends the server for good.
func (s *Server) Close() {
	s.Kill()
	s.port.Release()
}

// end ends the life that runs, if any, and waits for its goroutines.
func (s *Server) end() *life {
	s.mu.Lock()
	l := s.life
	s.life = nil
	s.open()
	s.mu.Unlock()
	if l != nil {
		l.end()
	}
	return l
}

// Pause stops the server where it stands: connections stay open and silent, and
// new ones are taken by the kernel. Nothing is executed after it has returned.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
}

func (s *Server) open() {
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
	}
}

// awake waits while the server is paused, and says whether l still lives.
func (s *Server) awake(l *life) bool {
	if !s.lock(l) {
		return false
	}
	s.mu.Unlock()
	return true
}

// lock takes mu when the server is not paused; false, without mu, when l is
// over.
func (s *Server) lock(l *life) bool {
	for {
		s.mu.Lock()
		if s.life != l {
			s.mu.Unlock()
			return false
		}
		gate := s.gate
		if gate == nil {
			return true
		}
		s.mu.Unlock()
		select {
		case <-gate:
		case <-l.done:
		}
	}
}
