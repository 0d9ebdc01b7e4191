package server

import (
	"net/netip"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// openingsKnown is of how many addresses openings are remembered, about 200 bytes each. Of
	// more the oldest are forgotten.
	openingsKnown = 16 << 10
	// openingsHalve is after what time what is remembered counts half.
	openingsHalve = time.Minute
	// openingsMost bounds the counts, so that an address is forgotten a few minutes after its last
	// opening: both of them are halved then.
	openingsMost = 64
	// suspectAfter is how many openings have to be lost before their address is a suspect.
	suspectAfter = 8
)

// openings is what became of the handshakes of each address lately. They are good when the client
// went on to its first request, and to its login where there is one, else lost. Its owner
// locks it.
type openings struct {
	known *simplelru.LRU[netip.Addr, *opening]
}

type opening struct {
	good, lost int
	halved     time.Time
}

func newOpenings() openings {
	known, _ := simplelru.NewLRU[netip.Addr, *opening](openingsKnown, nil) // fails for sizes below 1 only
	return openings{known}
}

// of returns what is known of an address now; nil is nothing.
func (o openings) of(from netip.Addr) *opening {
	a, known := o.known.Get(from)
	if !known {
		return nil
	}
	for time.Since(a.halved) >= openingsHalve {
		if a.halve(); a.good+a.lost == 0 {
			o.known.Remove(from)
			return nil
		}
		a.halved = a.halved.Add(openingsHalve)
	}
	return a
}

func (a *opening) halve() { a.good, a.lost = a.good/2, a.lost/2 }

// count counts an opening.
func (o openings) count(from netip.Addr, good bool) {
	a := o.of(from)
	if a == nil {
		a = &opening{halved: time.Now()}
		o.known.Add(from, a)
	}
	if good {
		a.good++
	} else {
		a.lost++
	}
	if max(a.good, a.lost) > openingsMost {
		a.halve()
	}
}

// suspect reports whether most openings of an address were lost.
func (o openings) suspect(from netip.Addr) bool {
	a := o.of(from)
	return a != nil && a.lost >= suspectAfter && a.lost > a.good
}
