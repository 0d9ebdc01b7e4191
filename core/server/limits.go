package server

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/iggykafka/gateway/core/security"
)

const (
	// displaceAfter is how long a connection may be silent before another one may
	// take its place, when all places are taken.
	displaceAfter = 5 * time.Second
	// leastCrowd is how many connections of one address have to be silent before they may
	// lose their places sooner.
	leastCrowd = 16
	// ratedAddresses is how many addresses the rate of connections is known of, about
	// 200 bytes each. One that is forgotten begins anew.
	ratedAddresses = 16 << 10
	// addressBurst is how many seconds' worth of connections an address may make at
	// once: as many as Kafka's window of samples lets through.
	addressBurst = 10
)

// Why a connection is refused; the texts are labels of a metric.
var (
	errFull         = errors.New("max_connections")
	errListenerFull = errors.New("listener_max_connections")
	errAddressFull  = errors.New("max_connections_per_address")
	errAddressRate  = errors.New("connection_creation_rate")
)

// address is what the connections of one address share.
type address struct {
	open      int             // connections
	computing *security.Queue // in the turnstile; nil until one is asked for
}

// places is who is connected. Its owner locks it.
type places struct {
	most, each int // 0: any number for an address
	open       int
	addresses  map[netip.Addr]*address // those with connections
}

// take gives a connection a place. A full house makes room for it where it can; the
// connection that has to go is returned.
func (p *places) take(c *conn) (leaver *conn, err error) {
	if from := p.addresses[c.from]; from != nil && p.each > 0 && from.open >= p.each {
		return nil, errAddressFull
	}
	if l := c.listener; l.cfg.MaxConnections > 0 && l.places >= l.cfg.MaxConnections {
		if leaver = l.makesRoom(c.from); leaver == nil {
			return nil, errListenerFull
		}
	} else if p.open >= p.most {
		if leaver = c.s.makesRoom(c.from); leaver == nil {
			return nil, errFull
		}
	}
	if leaver != nil {
		p.leave(leaver)
	}
	from := p.addresses[c.from] // not before: the leaver's may have gone
	if from == nil {
		from = &address{}
		p.addresses[c.from] = from
	}
	from.open++
	p.open++
	c.listener.places++
	c.address = from
	c.listener.silent.add(c)
	return leaver, nil
}

// leave gives a connection's place back. A second time does nothing.
func (p *places) leave(c *conn) {
	if c.address == nil {
		return
	}
	if c.address.open--; c.address.open == 0 {
		delete(p.addresses, c.from)
	}
	p.open--
	c.listener.places--
	c.address = nil
	p.spoke(c)
}

// spoke notes that a connection has made its first request.
func (p *places) spoke(c *conn) { c.listener.silent.remove(c) }

// newRate bounds connections a second, after burst seconds' worth of them at once.
// Zero is any number: nil.
func newRate(perSecond float64, burst float64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), burstOf(perSecond, burst))
}

func burstOf(perSecond, seconds float64) int {
	return int(min(max(1, math.Ceil(perSecond*seconds)), math.MaxInt32))
}

// rates bounds how often each address connects. Its owner locks it.
type rates struct {
	quotas security.Quotas // nil: none
	known  *simplelru.LRU[netip.Addr, *rate.Limiter]
}

func newRates(quotas security.Quotas) *rates {
	known, _ := simplelru.NewLRU[netip.Addr, *rate.Limiter](ratedAddresses, nil) // fails for sizes below 1 only
	return &rates{quotas: quotas, known: known}
}

// limit returns how many connections a second an address may make; 0 is any number.
func (r *rates) limit(host netip.Addr) float64 {
	if r.quotas == nil {
		return 0
	}
	return r.quotas.ConnectionRate(host.String())
}

// take counts a connection of an address against its limit, and reports whether it
// is within.
func (r *rates) take(from netip.Addr, limit float64) bool {
	limiter, known := r.known.Get(from)
	switch {
	case !known:
		limiter = newRate(limit, addressBurst)
		r.known.Add(from, limiter)
	case limiter.Limit() != rate.Limit(limit):
		limiter.SetBurst(burstOf(limit, addressBurst))
		limiter.SetLimit(rate.Limit(limit))
	}
	return limiter.Allow()
}

// remote returns a peer's address, and what it counts as ([security.SourceOf]).
func remote(nc net.Conn) (exact, counted netip.Addr) {
	tcp, ok := nc.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, netip.Addr{}
	}
	exact = tcp.AddrPort().Addr().Unmap()
	return exact, security.SourceOf(exact)
}
