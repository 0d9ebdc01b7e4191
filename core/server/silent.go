package server

import (
	"container/list"
	"net/netip"
)

// silent is the connections of a listener that have made no request yet. The server's mu
// guards it.
type silent struct {
	all    *list.List                // the oldest first
	crowds map[netip.Addr]*list.List // those of each address
	most   *list.List                // the largest one, as far as is known: one that has grown less since may be larger
}

// place is where a connection is in the two lists.
type place struct{ all, crowd *list.Element }

func newSilent() silent {
	return silent{all: list.New(), crowds: map[netip.Addr]*list.List{}, most: list.New()}
}

func (s *silent) add(c *conn) {
	of := s.crowds[c.from]
	if of == nil {
		of = list.New()
		s.crowds[c.from] = of
	}
	c.silent = &place{s.all.PushBack(c), of.PushBack(c)}
	if of.Len() > s.most.Len() {
		s.most = of
	}
}

// remove takes a connection out, if it is in.
func (s *silent) remove(c *conn) {
	if c.silent == nil {
		return
	}
	of := s.crowds[c.from]
	s.all.Remove(c.silent.all)
	of.Remove(c.silent.crowd)
	if of.Len() == 0 {
		delete(s.crowds, c.from)
	}
	c.silent = nil
}

// longest returns the connection that has been silent for the longest time, if that is
// long enough to lose its place; nil if there is none.
func (s *silent) longest() *conn {
	first := s.all.Front()
	if first == nil {
		return nil
	}
	if c := first.Value.(*conn); c.age() > displaceAfter {
		return c
	}
	return nil
}

// of is how many there are of an address.
func (s *silent) of(from netip.Addr) int {
	if of := s.crowds[from]; of != nil {
		return of.Len()
	}
	return 0
}

// makesRoom returns the connection of the listener that has to go for one from an address;
// nil if there is none. A few addresses that take all places, each for less than
// displaceAfter, must not keep out the others: their crowds make room sooner.
func (l *listener) makesRoom(from netip.Addr) *conn {
	if c := l.silent.longest(); c != nil {
		return c
	}
	most := l.silent.most
	if most.Len() < max(leastCrowd, 2*l.silent.of(from)) {
		return nil
	}
	return most.Front().Value.(*conn)
}

// makesRoom is the same of all listeners.
func (s *Server) makesRoom(from netip.Addr) (leaver *conn) {
	for _, l := range s.listeners {
		if c := l.silent.longest(); c != nil && (leaver == nil || c.opened.Before(leaver.opened)) {
			leaver = c
		}
	}
	if leaver != nil {
		return leaver
	}
	largest := s.listeners[0]
	for _, l := range s.listeners {
		if l.silent.most.Len() > largest.silent.most.Len() {
			largest = l
		}
	}
	return largest.makesRoom(from)
}
