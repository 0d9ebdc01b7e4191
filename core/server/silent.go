package server

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// silent is the connections of a listener that have made no request yet. The server's mu
// guards it.
type silent struct {
	all   *list.List // the oldest first
	of    map[netip.Addr]*crowd
	sized crowds // the same, the largest first
}

// crowd is the silent connections of one address, the oldest first.
type crowd struct {
	*list.List
	at int // in crowds
}

// crowds is a heap of container/heap.
type crowds []*crowd

func (c crowds) Len() int           { return len(c) }
func (c crowds) Less(i, j int) bool { return c[i].List.Len() > c[j].List.Len() }
func (c crowds) Swap(i, j int)      { c[i], c[j] = c[j], c[i]; c[i].at, c[j].at = i, j }

// Push implements heap.Interface.
func (c *crowds) Push(x any) { x.(*crowd).at = len(*c); *c = append(*c, x.(*crowd)) }

// Pop implements heap.Interface.
func (c *crowds) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return x
}

// place is where a connection is in the lists.
type place struct{ all, crowd *list.Element }

func newSilent() silent { return silent{all: list.New(), of: map[netip.Addr]*crowd{}} }

func (s *silent) add(c *conn) {
	of := s.of[c.from]
	if of == nil {
		of = &crowd{List: list.New()}
		s.of[c.from] = of
		heap.Push(&s.sized, of)
	}
	c.silent = &place{s.all.PushBack(c), of.PushBack(c)}
	heap.Fix(&s.sized, of.at)
}

// remove takes a connection out, if it is in.
func (s *silent) remove(c *conn) {
	if c.silent == nil {
		return
	}
	of := s.of[c.from]
	s.all.Remove(c.silent.all)
	of.Remove(c.silent.crowd)
	if of.Len() > 0 {
		heap.Fix(&s.sized, of.at)
	} else {
		heap.Remove(&s.sized, of.at)
		delete(s.of, c.from)
	}
	c.silent = nil
}

// count is how many there are of an address.
func (s *silent) count(from netip.Addr) int {
	if of := s.of[from]; of != nil {
		return of.Len()
	}
	return 0
}

// most is how many there are of the address with the most.
func (s *silent) most() int {
	if len(s.sized) == 0 {
		return 0
	}
	return s.sized[0].Len()
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

// makesRoom returns the connection of the listener that has to go for one from an address;
// nil if there is none. A few addresses that take all places, each for less than
// displaceAfter, must not keep out the others: their crowds make room sooner.
func (l *listener) makesRoom(from netip.Addr) *conn {
	if c := l.silent.longest(); c != nil {
		return c
	}
	if l.silent.most() < max(leastCrowd, 2*l.silent.count(from)) {
		return nil
	}
	return l.silent.sized[0].Front().Value.(*conn)
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
		if l.silent.most() > largest.silent.most() {
			largest = l
		}
	}
	return largest.makesRoom(from)
}
