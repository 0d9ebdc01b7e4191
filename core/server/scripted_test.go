package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// Scripted collaborators of a server: a transport, logins, an audit, quotas.

// greeting is a transport whose client sends its name in 5 bytes, to be known by it,
// and hears "hello" from the server, and "adieu" at the end.
type greeting struct {
	compute func()       // by the server, after the client's name; nil takes no time
	closed  atomic.Int32 // transports
}

func (g *greeting) protocol(login bool) Option {
	return WithProtocols(Protocol{Name: "GREETING", Login: login, Open: func(l ListenerConfig) (Transport, error) {
		if l.Certificate == "bad" {
			return nil, errors.New("certificate: there is none in it\ntls.key: is missing")
		}
		return g, nil
	}})
}

func (g *greeting) Secure(_ context.Context, nc net.Conn) (net.Conn, security.Principal, error) {
	name := make([]byte, 5)
	if _, err := io.ReadFull(nc, name); err != nil {
		return nil, security.Anonymous, err
	}
	if g.compute != nil {
		g.compute()
	}
	if string(name) == "mouse" {
		return nil, security.Anonymous, errors.New("no mice")
	}
	_, err := nc.Write([]byte("hello"))
	return greeted{nc}, security.User(string(name)), err
}

func (g *greeting) Close() error {
	g.closed.Add(1)
	return nil
}

// greeted writes in records of 16 KiB, and fails for good when one fails, as
// crypto/tls does.
type greeted struct{ net.Conn }

func (c greeted) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		var m int
		m, err = c.Conn.Write(p[n:min(n+oneRecord, len(p))])
		n += m
	}
	return n, err
}

func (c greeted) Close() error {
	c.Conn.SetWriteDeadline(time.Now().Add(5 * time.Second)) // as crypto/tls
	c.Conn.Write([]byte("adieu"))
	return c.Conn.Close()
}

// greet does the client's part.
func (c *client) greet(name string) {
	c.t.Helper()
	c.sendRaw([]byte(name))
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		c.t.Fatal(err)
	}
}

// logins lets clients in whose group is "open", by way of a Heartbeat; another
// group fails.
type logins struct {
	mu   sync.Mutex
	seen []security.Requester
}

func (l *logins) Session(who security.Requester, mechanisms []string) dispatch.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, who)
	return &session{who: who.Principal}
}

func (*logins) Check(mechanisms []string) error {
	if len(mechanisms) > 0 && mechanisms[0] != "WORD" {
		return errors.New(mechanisms[0] + " is none of WORD")
	}
	return nil
}

func (*logins) Offered(mechanisms []string) []string {
	if len(mechanisms) > 0 {
		return mechanisms
	}
	return []string{"WORD", "OTHER"}
}

func (*logins) MaxToken() int { return 8 << 10 }

type session struct {
	who          security.Principal
	open, failed atomic.Bool
}

func (*session) Versions() {}

func (*session) Handshake(int16, string) ([]string, int16) { return nil, 0 }

func (s *session) Authenticate(_ context.Context, token []byte) handler.Authenticated {
	s.open.Store(string(token) == "open")
	s.failed.Store(string(token) == "wrong")
	return handler.Authenticated{Token: []byte{}}
}

func (*session) Admit(handler.Spec, int16, string) error { return nil }
func (*session) Bare() bool                              { return false }
func (s *session) Failed() bool                          { return s.failed.Load() }
func (s *session) LoggedIn() bool                        { return s.open.Load() }
func (s *session) Principal() security.Principal         { return s.who }

// asks answers Heartbeats by their group: "open" and "wrong" are tokens, "wait" waits
// for p, "slow" takes a minute.
func (p parked) asks() handler.Handler {
	return dispatchtest.Heartbeat(func(ctx context.Context, call handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
		switch req.Group {
		case "open", "wrong":
			call.Login.Authenticate(ctx, []byte(req.Group))
		case "slow":
			time.Sleep(time.Minute)
		}
		return p.heartbeat(ctx, call, req)
	})
}

func token(text string) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group = text
	return req
}

// refusals is an audit of connections.
type refusals struct {
	security.Audit
	told chan string
}

func newRefusals() refusals { return refusals{told: make(chan string, 100)} }

func (r refusals) ConnectionRefused(who security.Requester, why error) {
	r.told <- who.Listener + " " + who.Host + ": " + why.Error()
}

// quotas throttles every request by one time, and knows the rates of hosts.
type quotas struct {
	security.Quotas
	throttle atomic.Int64
	rates    map[string]float64
}

func (q *quotas) Use(_ security.Requester, kind security.QuotaKind, _ float64) time.Duration {
	if kind == security.RequestTime {
		return time.Duration(q.throttle.Load())
	}
	return 0
}

func (q *quotas) ConnectionRate(host string) float64 { return q.rates[host] }

// from is a connection of a pipe with the address of a client.
type from struct {
	net.Conn
	ip string
}

func (c from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 1} }

// pipeFrom is pipe from an address.
func (r *running) pipeFrom(ip string) *client {
	near, far := net.Pipe()
	r.listeners[0].ln.(*pipeListener).conns <- from{pipeConn{far}, ip}
	return &client{Conn: near, t: r.t}
}
