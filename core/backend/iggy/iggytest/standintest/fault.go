package standintest

import (
	"sync"
	"time"
)

// Kind is what goes wrong with a request.
type Kind int

// Kinds of faults.
const (
	_ Kind = iota
	// CutBefore ends the connection before the request is executed.
	CutBefore
	// CutAfter executes it and ends the connection before the reply.
	CutAfter
	// CutWithin executes it and ends the connection after Bytes bytes of the
	// reply.
	CutWithin
	// SilentBefore does nothing until Release; then the request is executed and
	// answered, whether or not the client is still there, as a server does that
	// was paused.
	SilentBefore
	// SilentAfter executes it and does not answer until Release.
	SilentAfter
	// Drip executes it and sends the reply a byte at a time, Pace apart.
	Drip
	// WrongLength executes it and answers with Length as the length of the
	// reply, whatever follows.
	WrongLength
	// Refuse answers with Status without executing it.
	Refuse
	// RefuseAfter executes it and answers with Status all the same.
	RefuseAfter
)

// Fault is a rule: which requests are hit, and what becomes of them.
type Fault struct {
	// Code is the code of the requests; 0 is any.
	Code uint32
	// Stream and Topic, when they are set, are the names in the requests that
	// are hit.
	Stream, Topic string
	// Nth is the first of these requests to be hit, counted from now; 0 is 1,
	// the next one.
	Nth int
	// Times is how many are hit from there on: 0 is 1, and -1 all.
	Times int

	Kind   Kind
	Status uint32
	Length uint32
	Bytes  int
	Pace   time.Duration
}

// Injected is a fault that is waiting for its requests.
type Injected struct {
	fault  Fault
	faults *faults
	struck chan struct{} // closed at the first hit
	gone   chan struct{} // closed by Release

	// under faults.mu
	seen, hits int
	released   bool
}

// Inject adds a fault. Of several that fit a request the oldest hits it.
func (s *Server) Inject(f Fault) *Injected {
	f.Nth = max(f.Nth, 1)
	if f.Times == 0 {
		f.Times = 1
	}
	i := &Injected{fault: f, faults: &s.faults, struck: make(chan struct{}), gone: make(chan struct{})}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.all = append(s.faults.all, i)
	return i
}

// Struck is closed when the first request has been hit; whether it has been
// executed by then depends on the kind.
func (i *Injected) Struck() <-chan struct{} { return i.struck }

// Hits is how many requests have been hit.
func (i *Injected) Hits() int {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	return i.hits
}

// Release lets the requests go on that a silence holds, and takes the fault
// away.
func (i *Injected) Release() {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	if !i.released {
		i.released = true
		close(i.gone)
	}
}

type faults struct {
	mu  sync.Mutex
	all []*Injected
}

// strike returns the fault that hits a request, and nil when none does.
func (f *faults) strike(r *request) *Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.all {
		if i.hit(r) {
			return i
		}
	}
	return nil
}

func (i *Injected) hit(r *request) bool {
	if i.released || i.fault.Times == 0 || !i.fault.fits(r) {
		return false
	}
	if i.seen++; i.seen < i.fault.Nth {
		return false
	}
	if i.fault.Times > 0 {
		i.fault.Times--
	}
	if i.hits++; i.hits == 1 {
		close(i.struck)
	}
	return true
}

func (f Fault) fits(r *request) bool {
	if f.Code != 0 && f.Code != r.code {
		return false
	}
	if f.Stream == "" && f.Topic == "" {
		return true
	}
	stream, topic := r.target()
	return (f.Stream == "" || f.Stream == stream) && (f.Topic == "" || f.Topic == topic)
}
