package security

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Suspects are the addresses whose connections mostly come to nothing: they shake hands and neither log in nor make a request. They
// have a lane of their own in front of the [Turns], and all of them together get a quarter of the time there. It is safe for concurrent
// use.
type Suspects struct {
	lane chan struct{}

	mu    sync.Mutex
	known *simplelru.LRU[netip.Addr, *openings]
}

const (
	// suspectRest is how long the lane rests after a turn, in times of what that took, and longestRest at most.
	suspectRest = 3
	longestRest = time.Second
	// suspectAfter is how many openings have to be lost before their address is a suspect.
	suspectAfter = 8
	// knownOpenings is of how many addresses openings are remembered, about 200 bytes each. Of more the oldest are forgotten.
	knownOpenings = 16 << 10
	// halveOpenings is after what time what is remembered counts half.
	halveOpenings = time.Minute
	// mostOpenings bounds the counts, so that an address is forgotten a few minutes after its last opening: both are halved then.
	mostOpenings = 64
)

// openings is what became of the connections of an address lately.
type openings struct {
	good, lost int
	halved     time.Time
	// Of those under way the young ones, begun in this second or the one before, are not held against the address.
	under  int
	young  [2]int
	second int64
}

// Opening is the opening of one connection, from the beginning of what it costs to its end.
type Opening struct {
	source netip.Addr
	second int64
}

func newSuspects(places int) *Suspects {
	known, _ := simplelru.NewLRU[netip.Addr, *openings](knownOpenings, nil) // fails for sizes below 1 only
	return &Suspects{lane: make(chan struct{}, places), known: known}
}

// Take waits for a place in the lane, in the order of arrival, and comes before [Turns.Take]. The error is that of ctx, which ended
// before; else Give has to follow.
func (s *Suspects) Take(ctx context.Context) error { return take(ctx, s.lane) }

// Give gives the place back, after a rest where the turn used a processor, or something as dear.
func (s *Suspects) Give(used time.Duration) {
	if used <= 0 {
		<-s.lane
		return
	}
	time.AfterFunc(min(suspectRest*used, longestRest), func() { <-s.lane })
}

// Opens notes that a connection of a source ([SourceOf]) begins to cost something. Good or Lost has to follow, or nothing where its end is
// no fault of the client.
func (s *Suspects) Opens(source netip.Addr) Opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of(source)
	o.under++
	o.young[o.second&1]++
	return Opening{source, o.second}
}

// Good notes that the client went on to its first request, and to its login where there is one.
func (s *Suspects) Good(opening Opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of(opening.source)
	o.ends(opening)
	o.good++
	o.bound()
}

// Lost notes that the connection ended before.
func (s *Suspects) Lost(opening Opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of(opening.source)
	o.ends(opening)
	o.lost++
	o.bound()
}

// Has reports whether a source is a suspect: eight of its openings or more, and more than half of them, were lost, or are
// still not used after a second or two.
func (s *Suspects) Has(source netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known.Contains(source) {
		return false
	}
	o := s.of(source)
	lost := o.lost + o.under - o.young[0] - o.young[1]
	return lost >= suspectAfter && lost > o.good
}

// of returns the openings of a source, as of now. The caller holds mu.
func (s *Suspects) of(source netip.Addr) *openings {
	now := time.Now()
	o, known := s.known.Get(source)
	if !known {
		o = &openings{halved: now, second: now.Unix()}
		s.known.Add(source, o)
	}
	for now.Sub(o.halved) >= halveOpenings && o.good+o.lost > 0 {
		o.halve()
		o.halved = o.halved.Add(halveOpenings)
	}
	if o.good+o.lost == 0 {
		o.halved = now
	}
	switch passed := now.Unix() - o.second; {
	case passed == 0:
	case passed == 1:
		o.young[now.Unix()&1] = 0
	default:
		o.young = [2]int{}
	}
	o.second = now.Unix()
	return o
}

func (o *openings) halve() { o.good, o.lost = o.good/2, o.lost/2 }

func (o *openings) bound() {
	if max(o.good, o.lost) > mostOpenings {
		o.halve()
	}
}

// ends takes an opening from those under way; there may be none left after the source had been forgotten.
func (o *openings) ends(opening Opening) {
	o.under = max(0, o.under-1)
	if young := &o.young[opening.second&1]; o.second-opening.second < int64(len(o.young)) {
		*young = max(0, *young-1)
	}
}
