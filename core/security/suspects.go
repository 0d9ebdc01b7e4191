package security

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Suspects are the addresses whose connections mostly come to nothing: they shake hands and neither log in nor make a request. They
// have a lane of their own in front of the [Turns], and all of them together get a sixteenth of the time there. It is safe for concurrent
// use.
type Suspects struct {
	lane  Places
	began time.Time

	mu    sync.Mutex
	known *simplelru.LRU[netip.Addr, *openings]
}

const (
	// suspectRest is how long suspects rest after a turn, in times of what that took, and longestRest at most.
	suspectRest = 15
	longestRest = time.Second
	// suspectAfter is how many openings have to be lost before their address is a suspect.
	suspectAfter = 8
	// knownOpenings is of how many addresses openings are remembered, about 200 bytes each. Of more the oldest are forgotten.
	knownOpenings = 16 << 10
	// halveOpenings is after what time what is remembered counts half.
	halveOpenings = time.Minute
	// mostOpenings bounds the counts, so that an address is forgotten a few minutes after its last opening: both are halved then.
	mostOpenings = 64
	// keptWaiting is how long a client may have to wait before it is no fault of its own that it leaves.
	keptWaiting = 2 * time.Second
)

// openings is what became of the connections of an address lately.
type openings struct {
	good, lost int
	halved     time.Time
	// Of those that wait for their client the young ones, in this second or the one before, are not held against the address.
	waiting int
	young   [2]int
	second  int64 // since Suspects began
}

func newSuspects(places int) *Suspects {
	known, _ := simplelru.NewLRU[netip.Addr, *openings](knownOpenings, nil) // fails for sizes below 1 only
	return &Suspects{lane: make(Places, places), began: time.Now(), known: known}
}

// Take waits for a place in the lane, in the order of arrival, and comes before [Turns.Take]. The error is that of ctx, which ended
// before; else Give has to follow.
func (s *Suspects) Take(ctx context.Context) error { return s.lane.Take(ctx) }

// Give gives the place back, after a rest where the turn used a processor.
func (s *Suspects) Give(used time.Duration) {
	if used <= 0 {
		s.lane.Give()
		return
	}
	time.AfterFunc(SuspectRest(used), s.lane.Give)
}

// SuspectRest is how long suspects have to wait when one of them has used a processor, or whatever they share. A flood of
// them takes a sixteenth of it then. More than that clients which work do feel, where there are few processors.
func SuspectRest(used time.Duration) time.Duration { return min(suspectRest*used, longestRest) }

// Has reports whether a source ([SourceOf]) is a suspect: eight of its openings or more, and more than half of them, were lost, or
// have been waiting for their client for a second or two.
func (s *Suspects) Has(source netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known.Contains(source) {
		return false
	}
	o := s.of(source)
	lost := o.lost + o.waiting - o.young[0] - o.young[1]
	return lost >= suspectAfter && lost > o.good
}

// second is how many there were since s began. The caller holds mu.
func (s *Suspects) second() int64 { return int64(time.Since(s.began) / time.Second) }

// of returns the openings of a source, as of now. The caller holds mu.
func (s *Suspects) of(source netip.Addr) *openings {
	now, second := time.Now(), s.second()
	o, known := s.known.Get(source)
	if !known {
		o = &openings{halved: now, second: second}
		s.known.Add(source, o)
	}
	for now.Sub(o.halved) >= halveOpenings && o.good+o.lost > 0 {
		o.halve()
		o.halved = o.halved.Add(halveOpenings)
	}
	if o.good+o.lost == 0 {
		o.halved = now
	}
	switch second - o.second {
	case 0:
	case 1:
		o.young[second&1] = 0
	default:
		o.young = [2]int{}
	}
	o.second = second
	return o
}

func (o *openings) halve() { o.good, o.lost = o.good/2, o.lost/2 }

func (o *openings) bound() {
	if max(o.good, o.lost) > mostOpenings {
		o.halve()
	}
}

// Opening is one connection of a stranger, from the beginning of what it costs until it is known what becomes of it: Good, Lost, Left or
// Void. Whatever comes after that does nothing. It is safe for concurrent use.
type Opening struct {
	suspects *Suspects
	source   netip.Addr

	// Guarded by the suspects' mu.
	over    bool
	waits   bool // for its client
	second  int64
	working time.Time // since when the client waits, if it is not the other way round
}

// Opens begins an opening of a source ([SourceOf]), whose client waits.
func (s *Suspects) Opens(source netip.Addr) *Opening {
	return &Opening{suspects: s, source: source, working: time.Now()}
}

// Waits notes that the connection waits for its client from now on.
func (o *Opening) Waits() {
	o.suspects.mu.Lock()
	defer o.suspects.mu.Unlock()
	if o.over || o.waits {
		return
	}
	of := o.suspects.of(o.source)
	o.waits, o.second = true, of.second
	of.waiting++
	of.young[of.second&1]++
}

// Works notes that the client has done its part, and waits.
func (o *Opening) Works() {
	o.suspects.mu.Lock()
	defer o.suspects.mu.Unlock()
	if o.over || !o.waits {
		return
	}
	o.works(o.suspects.of(o.source))
}

// works is Works of an opening that waits. There may be none left in of, when the source had been forgotten meanwhile.
func (o *Opening) works(of *openings) {
	o.waits, o.working = false, time.Now()
	of.waiting = max(0, of.waiting-1)
	if young := &of.young[o.second&1]; of.second-o.second < int64(len(of.young)) {
		*young = max(0, *young-1)
	}
}

// Good notes that the client went on to its first request, and to its login where there is one.
func (o *Opening) Good() { o.ends(func(of *openings) { of.good++ }) }

// Lost notes that the client did something wrong.
func (o *Opening) Lost() { o.ends(func(of *openings) { of.lost++ }) }

// Left notes that the client went away, or that its time was over. That is lost, too, unless it had been kept waiting.
func (o *Opening) Left() {
	o.ends(func(of *openings) {
		if o.waits || time.Since(o.working) <= keptWaiting {
			of.lost++
		}
	})
}

// Void notes that the connection ended through no fault of the client.
func (o *Opening) Void() { o.ends(func(*openings) {}) }

// ends has the opening counted, once.
func (o *Opening) ends(count func(*openings)) {
	o.suspects.mu.Lock()
	defer o.suspects.mu.Unlock()
	if o.over {
		return
	}
	o.over = true
	of := o.suspects.of(o.source)
	count(of)
	if o.waits {
		o.works(of)
	}
	of.bound()
}
