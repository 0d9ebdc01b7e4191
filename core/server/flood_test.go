package server

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/security"
)

// Connections in their thousands that open, stall and reset, before the handshake, in
// it, and in their first request, while some clients work: these are served, a new one
// is let in, and afterwards nothing is left.
func TestFlood(t *testing.T) {
	const (
		floods  = 3000
		workers = 20
		places  = 400
	)
	for name, secured := range map[string]bool{"plain": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, []Option{newTLS(t).protocol(), WithAudit(blind{})}, func(c *Config) {
				c.MaxConnections = places
				if secured {
					byTLS(c)
				}
			}, dispatchtest.Heartbeat(nil))
			join := func() *client {
				if secured {
					return r.dialTLS()
				}
				return r.dial()
			}
			join().ask(quick(0), 4)
			goroutines, before := runtime.NumGoroutine(), onHeap()

			stop := make(chan struct{})
			var working sync.WaitGroup
			var mu sync.Mutex
			var took []time.Duration
			var good []*client
			for range workers {
				c := join()
				c.ask(quick(0), 4)
				good = append(good, c)
				working.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						began := time.Now()
						c.ask(quick(0), 4)
						mu.Lock()
						took = append(took, time.Since(began))
						mu.Unlock()
					}
				})
			}
			stalled := flood(r, floods, places)
			// All places are taken, and those who were silent for long enough lose them.
			r.eventually(func() bool { return r.lets(secured) }, "a new client is let in")
			for _, nc := range stalled {
				nc.Close()
			}
			close(stop)
			working.Wait()
			slices.Sort(took)
			t.Logf("%d answers, the slowest of a hundred took %v", len(took), took[len(took)*99/100])
			require.Less(t, took[len(took)*99/100], 5*time.Second)

			for _, c := range good {
				c.Close()
			}
			r.eventually(func() bool { return r.connections() <= 1 }, "all connections have ended")
			r.eventually(func() bool { return runtime.NumGoroutine() <= goroutines+2 }, "goroutines are back at their base")
			good, took = nil, nil
			r.logs.TakeAll()
			r.eventually(func() bool { return onHeap()-before < 2<<20 }, "memory is back at its base")
		})
	}
}

// flood opens n connections, and returns those of them that stay open and silent.
func flood(r *running, n, silent int) (stalled []net.Conn) {
	hello := []byte{0x16, 0x03, 0x01, 0x01, 0x00, 0x01, 0x00}
	half := frame(quick(0), 4, 1)[:20]
	var all sync.WaitGroup
	var mu sync.Mutex
	const each = 8
	for range each {
		all.Go(func() {
			for i := range n / each {
				nc, err := net.Dial("tcp", r.Addr().String())
				if err != nil {
					continue
				}
				switch i % 3 {
				case 1:
					nc.Write(hello)
				case 2:
					nc.Write(half)
				}
				if i < silent/each {
					mu.Lock()
					stalled = append(stalled, nc)
					mu.Unlock()
					continue
				}
				nc.(*net.TCPConn).SetLinger(0)
				nc.Close()
			}
		})
	}
	all.Wait()
	return stalled
}

// lets reports whether a new client is served.
func (r *running) lets(secured bool) bool {
	nc, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		return false
	}
	defer func() { nc.Close() }()
	nc.SetDeadline(time.Now().Add(patience))
	if secured {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := nc.Write(frame(quick(0), 4, 1)); err != nil {
		return false
	}
	_, err = io.ReadFull(nc, make([]byte, 4))
	return err == nil
}

// blind is an audit that nobody reads.
type blind struct{ security.Audit }

func (blind) ConnectionRefused(security.Requester, error) {}
