package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/internal/choice"
)

// The protocols that the server itself has.
const (
	Plaintext     = "PLAINTEXT"
	SASLPlaintext = "SASL_PLAINTEXT"
)

// listener takes connections in at one address.
type listener struct {
	s         *Server
	cfg       NamedListener
	protocol  Protocol
	transport Transport // nil: connections stay as they are
	ln        net.Listener
	at        handler.Listener
	rate      *rate.Limiter // nil: any

	// Guarded by the server's mu.
	places int
	silent silent
}

// protocols returns those of the server, and others.
func protocols(others []Protocol) []Protocol {
	return append([]Protocol{{Name: Plaintext}, {Name: SASLPlaintext, Login: true}}, others...)
}

// namesOf returns the names of protocols, sorted: the order of a value group is random.
func namesOf(protocols []Protocol) []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// choose makes the listeners of the configuration. The error names every one whose
// protocol or mechanisms this gateway does not have.
func (s *Server) choose() error {
	known := map[string]Protocol{}
	var errs []error
	all := protocols(s.with.protocols)
	for _, p := range all {
		if _, twice := known[p.Name]; twice {
			errs = append(errs, fmt.Errorf("protocol: two protocols have the name %s", p.Name))
		}
		known[p.Name] = p
	}
	for _, cfg := range s.cfg.All() {
		p, found := known[cfg.Protocol]
		switch {
		case !found:
			errs = append(errs, fmt.Errorf("%sprotocol: %w", cfg.Section, choice.NoneOf(cfg.Protocol, namesOf(all))))
		case p.Login && s.with.logins == nil:
			errs = append(errs, fmt.Errorf("%sprotocol: %s needs clients to log in, and this gateway was built without SASL",
				cfg.Section, cfg.Protocol))
		case p.Login:
			if err := s.with.logins.Check(cfg.Mechanisms); err != nil {
				errs = append(errs, fmt.Errorf("%smechanisms: %w", cfg.Section, err))
			}
		case len(cfg.Mechanisms) > 0:
			errs = append(errs, fmt.Errorf("%smechanisms: nobody logs in on a listener of protocol %s; remove them, or set %sprotocol to one with SASL",
				cfg.Section, cfg.Protocol, cfg.Section))
		}
		if found && p.Open == nil {
			errs = append(errs, cfg.notSecured())
		}
		s.listeners = append(s.listeners, &listener{
			s: s, cfg: cfg, protocol: p, rate: newRate(cfg.ConnectionRate, 1), silent: newSilent(),
		})
	}
	return errors.Join(errs...)
}

// open opens the transport and the socket. After an error, close closes what was
// opened.
func (l *listener) open(ctx context.Context) error {
	var errs []error
	if l.protocol.Open != nil {
		transport, err := l.protocol.Open(l.cfg.ListenerConfig)
		if err != nil {
			errs = append(errs, l.named(err))
		} else {
			l.transport = transport
		}
	}
	ln, err := listen(ctx, l.cfg.Section+"listen", l.cfg.Listen)
	if err == nil {
		l.take(ln)
	}
	return errors.Join(append(errs, err)...)
}

// ownKeys are those of a listener's keys that its transport looks at.
var ownKeys = []string{"certificate", "key", "client_ca", "client_auth"}

// notSecured names the keys of a listener without a transport that only a transport
// looks at: whoever set them takes the listener for encrypted.
func (l NamedListener) notSecured() error {
	var errs []error
	for i, value := range []string{l.Certificate, l.Key, l.ClientCA, l.ClientAuth} {
		if value != "" {
			errs = append(errs, fmt.Errorf("%s%s: a listener of protocol %s is not encrypted; remove it, or set %sprotocol to one with SSL",
				l.Section, ownKeys[i], l.Protocol, l.Section))
		}
	}
	return errors.Join(errs...)
}

// named is what a transport finds wrong, a line for each key: those of the listener
// get their full names.
func (l *listener) named(err error) error {
	var errs []error
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if key, _, _ := strings.Cut(line, ":"); slices.Contains(ownKeys, key) {
			line = l.cfg.Section + line
		}
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}

// take makes ln the socket to accept from.
func (l *listener) take(ln net.Listener) {
	l.ln = ln
	host, port := advertised(l.cfg.Advertise, ln.Addr().(*net.TCPAddr))
	l.at = handler.Listener{Name: l.cfg.Name, Protocol: l.cfg.Protocol, Host: host, Port: port}
}

// shown is the listener as others in the gateway see it.
func (l *listener) shown() settings.Listener {
	shown := settings.Listener{Name: l.at.Name, Protocol: l.at.Protocol, Host: l.at.Host, Port: l.at.Port}
	if l.protocol.Login {
		shown.Mechanisms = l.s.with.logins.Offered(l.cfg.Mechanisms)
	}
	return shown
}

// close closes what open opened.
func (l *listener) close() {
	if l.ln != nil {
		l.ln.Close()
	}
	if l.transport == nil {
		return
	}
	if err := l.transport.Close(); err != nil {
		l.s.log.Warn("what secures a listener did not end in order", zap.String("listener", l.cfg.Name), zap.Error(err))
	}
}

// A listener takes no more than burst connections each breath, 16,000 a second, so that
// those who connect in masses leave processors to those who are connected.
const (
	burst  = 16
	breath = time.Millisecond
)

// accept takes connections until the listener is closed.
func (l *listener) accept() {
	defer l.s.running.Done()
	const shortest, longest = 5 * time.Millisecond, time.Second
	var pause time.Duration
	var taken int // since began
	var began time.Time
	for {
		nc, err := l.ln.Accept()
		switch {
		case err == nil:
			pause = 0
			l.admit(nc)
			if taken++; taken >= burst {
				if left := breath - time.Since(began); left > 0 {
					time.Sleep(left) // much shorter than a shutdown takes
				}
				taken, began = 0, time.Now()
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case pause == 0:
			l.s.log.Warn("cannot accept connections; raise the limit of open files (ulimit -n) if that is the cause",
				zap.Error(err))
		}
		pause = min(max(shortest, 2*pause), longest)
		if !l.s.pause(pause) {
			return
		}
	}
}

// pause waits, and reports whether the shutdown has not begun.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.drain.Done():
		return false
	}
}

// admit starts a connection, or closes it when a limit is reached.
func (l *listener) admit(nc net.Conn) {
	s := l.s
	exact, counted := remote(nc)
	if limit := s.rates.limit(exact); limit > 0 {
		s.mu.Lock()
		within := s.rates.take(counted, limit)
		s.mu.Unlock()
		if !within {
			l.refuse(nc, errAddressRate)
			return
		}
	}
	if !l.pace() {
		nc.Close()
		return
	}
	c := newConn(l, nc, counted)
	s.mu.Lock()
	if s.draining.Load() {
		s.mu.Unlock()
		nc.Close()
		return
	}
	leaver, err := s.places.take(c)
	if err == nil {
		c.begin()
		s.conns[c] = struct{}{}
		s.running.Add(1)
	}
	s.mu.Unlock()
	if err != nil {
		l.refuse(nc, err)
		return
	}
	if leaver != nil {
		leaver.displace()
	}
	s.metrics.accepted.Inc()
	go c.lead()
}

// pace holds up the connections that come faster than they may, as Kafka does
// (KIP-612): those behind wait in the system's queue. It reports whether the shutdown
// has not begun.
func (l *listener) pace() bool {
	for _, r := range [...]*rate.Limiter{l.s.rate, l.rate} {
		if r == nil {
			continue
		}
		if d := r.Reserve().Delay(); d > 0 {
			l.s.metrics.delayed.Inc()
			if !l.s.pause(d) {
				return false
			}
		}
	}
	return true
}

// refuse closes a connection for which there is no place.
func (l *listener) refuse(nc net.Conn, why error) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetLinger(0) // nothing of it stays behind
	}
	nc.Close()
	s := l.s
	s.metrics.refused.WithLabelValues(why.Error()).Inc()
	if s.with.audit != nil {
		s.with.audit.ConnectionRefused(security.Requester{
			Principal: security.Anonymous, Host: auditHost(nc), Listener: l.cfg.Name,
		}, why)
	}
	s.mu.Lock()
	tell := onceAMinute(&s.toldFull)
	open := len(s.conns)
	s.mu.Unlock()
	if tell {
		s.log.Warn("connections are refused: "+why.Error()+" is reached",
			zap.String("listener", l.cfg.Name), zap.Stringer("client", nc.RemoteAddr()), zap.Int("connections", open))
	}
}

// onceAMinute reports whether something is to be told again, which was last told when
// last says.
func onceAMinute(last *time.Time) bool {
	if time.Since(*last) <= time.Minute {
		return false
	}
	*last = time.Now()
	return true
}

// auditHost writes a peer's address for the audit, without Kafka's slash.
func auditHost(nc net.Conn) string { return kafkaHost(nc.RemoteAddr())[1:] }
