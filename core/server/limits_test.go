package server

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
)

func (r *running) refused(reason string) int {
	return int(value(r.t, r.metrics.refused.WithLabelValues(reason)))
}

// The counters of refused connections are there before the first one: an alert over their
// rate would not see it otherwise.
func TestLimitsAreCountedFromTheStart(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dispatchtest.Heartbeat(nil))
	families, err := r.reg.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "kafka_gateway_connections_refused_total" {
			for _, m := range f.Metric {
				counted[m.Label[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{
		"max_connections": 0, "max_connections_per_address": 0, "listener_max_connections": 0, "connection_creation_rate": 0,
	}, counted)
}

// An address has so many connections and no more, and others are not locked out. The
// networks of IPv6 count as addresses.
func TestConnectionsOfAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newRefusals()
		r := pipesWith(t, []Option{WithAudit(a)}, func(c *Config) { c.MaxConnectionsPerAddress = 2 }, dispatchtest.Heartbeat(nil))
		first, second := r.pipeFrom("10.0.0.7"), r.pipeFrom("::ffff:10.0.0.7")
		first.ask(quick(0), 4)
		second.ask(quick(0), 4)
		r.pipeFrom("10.0.0.7").expectClosed()
		require.Equal(t, "default 10.0.0.7: max_connections_per_address", <-a.told)
		other := r.pipeFrom("10.0.0.8")
		other.ask(quick(0), 4)
		first.Close()
		r.eventually(func() bool { return r.connections() == 2 }, "room for another")
		third := r.pipeFrom("10.0.0.7")
		third.ask(quick(0), 4)

		six := []*client{r.pipeFrom("2001:db8::1"), r.pipeFrom("2001:db8::2")}
		r.pipeFrom("2001:db8::ffff").expectClosed()
		require.Equal(t, 2, r.refused("max_connections_per_address"))
		neighbour := r.pipeFrom("2001:db8:0:1::1")
		neighbour.ask(quick(0), 4)
		require.Len(t, r.places.addresses, 4)
		for _, c := range append(six, second, other, third, neighbour) {
			c.Close()
		}
		<-r.ends()
		r.eventually(func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.places.addresses) == 0 }, "nothing is kept")
	})
}

// A full house makes room for a new client by sending away the one that has said
// nothing for the longest time, 5 s at least: never one that has worked.
func TestSilenceIsDisplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, nil, func(c *Config) { c.MaxConnections = 3 }, newParked().handlers()...)
		working := r.pipe()
		working.ask(quick(0), 4)
		oldest, silent := r.pipe(), r.pipe()
		synctest.Wait()
		r.pipe().expectClosed()
		require.Equal(t, 1, r.refused("max_connections"))

		time.Sleep(displaceAfter + time.Millisecond)
		late := r.pipe()
		oldest.expectClosed()
		late.ask(quick(0), 4)
		r.closed("displaced", 1)
		next := r.pipe()
		silent.expectClosed()
		next.ask(quick(0), 4)
		r.pipe().expectClosed()
		working.ask(quick(0), 4)
		require.Equal(t, 3, r.connections())
		for _, c := range []*client{working, late, next} {
			c.Close()
		}
		<-r.ends()
		require.Zero(t, r.places.open)
		require.Zero(t, r.listeners[0].silent.all.Len())
	})
}

// Addresses that take all places, each connection for less than that, make room for others,
// and not for themselves; those with few connections keep them.
func TestCrowdsAreDisplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, nil, func(c *Config) { c.MaxConnections = 2*leastCrowd + 1 }, newParked().handlers()...)
		few := r.pipeFrom("10.0.0.1")
		var crowd []*client
		for range leastCrowd {
			crowd = append(crowd, r.pipeFrom("10.0.0.2"))
			synctest.Wait()
		}
		for range leastCrowd - 1 {
			r.pipeFrom("10.0.0.3")
		}
		synctest.Wait()
		r.pipeFrom("10.0.0.4").ask(quick(0), 4) // the last place
		r.pipeFrom("10.0.0.2").expectClosed()
		require.Equal(t, 1, r.refused("max_connections"))

		late := r.pipeFrom("10.0.0.4")
		crowd[0].expectClosed()
		late.ask(quick(0), 4)
		r.closed("displaced", 1)
		r.pipeFrom("10.0.0.4").expectClosed() // fifteen are no crowd
		require.Equal(t, 2, r.refused("max_connections"))
		few.ask(quick(0), 4)
		crowd[1].ask(quick(0), 4)
		time.Sleep(time.Minute)
	})
}

// Of several crowds it is the largest each time, also when it was not at first.
func TestTheLargestCrowdIsDisplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const one, other = leastCrowd + 4, leastCrowd + 3
		r := pipesWith(t, nil, func(c *Config) { c.MaxConnections = one + other }, newParked().handlers()...)
		for _, crowd := range []struct {
			from string
			size int
		}{{"10.0.0.2", one}, {"10.0.0.3", other}} {
			for range crowd.size {
				r.pipeFrom(crowd.from)
			}
		}
		synctest.Wait()
		for range one + other - 2*(leastCrowd-1) { // until there is no crowd any more
			r.pipeFrom("10.0.0.4").ask(quick(0), 4)
		}
		r.pipeFrom("10.0.0.4").expectClosed()
		r.mu.Lock()
		for _, from := range []string{"10.0.0.2", "10.0.0.3"} {
			require.Equal(t, leastCrowd-1, r.listeners[0].silent.count(netip.MustParseAddr(from)), from)
		}
		r.mu.Unlock()
		time.Sleep(time.Minute)
	})
}

// A client that works on its login is displaced, too, whatever its state.
func TestLoginsAreDisplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipesWith(t, []Option{WithLogins(&logins{})}, func(c *Config) { c.Protocol, c.MaxConnections = SASLPlaintext, 2 }, p.asks())
		waits, asked := r.pipe(), r.pipe()
		waits.send(waiting(), 4)
		ctx := <-p.arrived
		asked.ask(quick(0), 4)
		time.Sleep(2 * displaceAfter)
		in := r.pipe()
		<-ctx.Done()
		waits.expectClosed()
		in.ask(token("open"), 4)
		last := r.pipe()
		asked.expectClosed()
		last.ask(token("open"), 4)
		r.closed("displaced", 2)
		in.Close()
		last.Close()
	})
}

// A listener has a limit of its own.
func TestConnectionsOfAListener(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *Config) {
		c.Listeners = map[string]ListenerConfig{"narrow": {Listen: "127.0.0.1:0", MaxConnections: 1}}
	}, dispatchtest.Heartbeat(nil))
	narrow := r.dialTo(1)
	narrow.ask(quick(0), 4)
	r.expectRefused(1)
	require.Equal(t, 1, r.refused("listener_max_connections"))
	for range 3 {
		r.dial().ask(quick(0), 4)
	}
	require.Equal(t, map[string]float64{"default": 3, "narrow": 1}, r.gauges("kafka_gateway_listener_connections"))
}

// What comes faster than it may waits, as Kafka lets it; a shutdown ends that.
func TestRateOfConnections(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"all": func(c *Config) { c.ConnectionRate = 2 },
		"listener": func(c *Config) {
			c.Listen = ""
			c.Listeners = map[string]ListenerConfig{"only": {Listen: "127.0.0.1:0", ConnectionRate: 2}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := pipesWith(t, nil, change, dispatchtest.Heartbeat(nil))
				began := time.Now()
				for range 10 {
					c := r.pipe()
					c.ask(quick(0), 4)
					c.Close()
				}
				require.Equal(t, 4*time.Second, time.Since(began))
				require.Equal(t, 8.0, value(t, r.metrics.delayed))
				late := r.pipe()
				require.Equal(t, stopped{}, <-r.stopping(context.Background()))
				late.expectClosed()
			})
		})
	}
}

// An address may connect so often, after a burst of ten seconds' worth; as its
// quota says. Others notice nothing.
func TestRateOfAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{rates: map[string]float64{"10.0.0.7": 0.5, "10.0.0.8": 0.5, "10.0.0.9": 2}}
		a := newRefusals()
		r := pipesWith(t, []Option{WithQuotas(q), WithAudit(a)}, nil, dispatchtest.Heartbeat(nil))
		let := func(ip string, n int) (in int) {
			for range n {
				c := r.pipeFrom(ip)
				b := frame(quick(0), 4, 1)
				if _, err := c.Write(b); err == nil {
					c.next = 1
					c.answer(quick(0), 4)
					in++
				}
				c.Close()
			}
			return in
		}
		require.Equal(t, 5, let("10.0.0.7", 20))
		require.Equal(t, "default 10.0.0.7: connection_creation_rate", <-a.told)
		require.Equal(t, 15, r.refused("connection_creation_rate"))
		require.Equal(t, 5, let("10.0.0.8", 20))
		require.Equal(t, 20, let("10.0.0.9", 30))
		time.Sleep(4 * time.Second)
		require.Equal(t, 2, let("10.0.0.7", 20))
		require.Equal(t, 8, let("10.0.0.9", 20))
		q.rates["10.0.0.9"] = 0.5
		time.Sleep(4 * time.Second)
		require.Equal(t, 5, let("10.0.0.9", 20), "ten seconds' worth of 0.5, of the eight that it had")
		q.rates["10.0.0.9"] = 0 // taken back
		require.Equal(t, 50, let("10.0.0.9", 50))
	})
}

// However many addresses connect, the memory for their rates is bounded.
func TestRatesAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRates(nil)
	for i := range 2 * ratedAddresses {
		require.True(t, r.take(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1))
	}
	require.Equal(t, ratedAddresses, r.known.Len())
}
