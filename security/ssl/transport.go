package ssl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
)

// Protocols opens the listeners that speak TLS.
type Protocols struct {
	cfg     Config
	rules   mapping
	log     *zap.Logger
	metrics *metrics

	mu      sync.Mutex
	sources map[identity]*source
}

// New returns the protocols of a configuration. A nil reg registers no metrics.
func New(cfg Config, log *zap.Logger, reg prometheus.Registerer) (*Protocols, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	rules, err := parseMapping(cfg.PrincipalMappingRules)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("metrics of TLS: %w", err)
	}
	return &Protocols{cfg: cfg, rules: rules, log: log.Named("tls"), metrics: m, sources: map[identity]*source{}}, nil
}

// SSL is the protocol without a login.
func (p *Protocols) SSL() server.Protocol { return server.Protocol{Name: "SSL", Open: p.Open} }

// SASLSSL is the protocol with a login by SASL.
func (p *Protocols) SASLSSL() server.Protocol {
	return server.Protocol{Name: "SASL_SSL", Login: true, Open: p.Open}
}

// Open opens a listener. A key that the listener sets goes before that of the
// section. The error has a line for each key that is wrong.
func (p *Protocols) Open(l server.ListenerConfig) (server.Transport, error) {
	f, auth, err := p.cfg.of(l)
	own, clients := f.parts()
	if err != nil {
		return nil, errors.Join(err, own.check(), clients.check())
	}
	t := &transport{protocols: p, auth: auth}
	t.own, err = p.source(f.certificate.value, own)
	if f.clientCA.value != "" {
		var more error
		t.clients, more = p.source(f.certificate.value, clients)
		err = errors.Join(err, more)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// identity is what listeners have in common that share a source, by whichever keys they
// name the files.
type identity struct{ served, key, clientCA string }

// source returns the source of files, which other listeners with the same certificate
// may have, too.
func (p *Protocols) source(served string, f files) (*source, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := identity{served, f.key.value, f.clientCA.value}
	s, open := p.sources[id]
	if !open {
		var err error
		if s, err = openSource(served, f, p.cfg, p.log, p.metrics); err != nil {
			return nil, err
		}
		p.sources[id] = s
	}
	s.users++
	return s, nil
}

func (p *Protocols) release(s *source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(p.sources, identity{s.served, s.key.value, s.clientCA.value})
		s.close()
	}
}

// transport secures the connections of one listener.
type transport struct {
	protocols *Protocols
	own       *source // the certificate
	clients   *source // the authorities of clients; nil where none are asked
	auth      tls.ClientAuthType
	built     atomic.Pointer[built]
	closed    atomic.Bool
}

// nobody are the clients where none are asked.
var nobody material

// built is the configuration for what the files held.
type built struct {
	own, clients *material
	config       *tls.Config
}

// config returns the configuration for what the files hold now. Each has its own
// keys for tickets, so that no session outlives a change of the files, nor serves
// another listener.
func (t *transport) config() *tls.Config {
	own, clients := t.own.current.Load(), &nobody
	if t.clients != nil {
		clients = t.clients.current.Load()
	}
	if b := t.built.Load(); b != nil && b.own == own && b.clients == clients {
		return b.config
	}
	b := &built{own: own, clients: clients, config: &tls.Config{
		Certificates: []tls.Certificate{own.certificate},
		ClientCAs:    clients.clients,
		ClientAuth:   t.auth,
		MinVersion:   versions[t.protocols.cfg.MinVersion],
		// Answers are large, or have to be whole before a client can use them.
		DynamicRecordSizingDisabled: true,
	}}
	t.built.Store(b)
	return b.config
}

// Secure implements server.Transport.
func (t *transport) Secure(ctx context.Context, nc net.Conn) (net.Conn, security.Principal, error) {
	secured := tls.Server(nc, t.config())
	if err := secured.HandshakeContext(ctx); err != nil {
		t.protocols.metrics.handshake(nil)
		return nil, security.Anonymous, explain(ctx, err)
	}
	state := secured.ConnectionState()
	t.protocols.metrics.handshake(&state)
	who, err := t.protocols.principal(state)
	if err != nil {
		return nil, security.Anonymous, err
	}
	return &conn{Conn: secured, below: nc}, who, nil
}

// principal is who the client is by its certificate.
func (p *Protocols) principal(state tls.ConnectionState) (security.Principal, error) {
	if len(state.PeerCertificates) == 0 {
		return security.Anonymous, nil
	}
	name, err := distinguishedName(state.PeerCertificates[0].RawSubject)
	if err == nil {
		name, err = p.rules.named(name)
	}
	if err != nil {
		return security.Anonymous, err
	}
	return security.User(name), nil
}

// named is name, with the name that failed in the error.
func (m mapping) named(distinguished string) (string, error) {
	name, err := m.name(distinguished)
	if err != nil {
		return "", fmt.Errorf("the client's certificate is of %q: %w", distinguished, err)
	}
	return name, nil
}

// unreadable is the error of a record that its keys do not fit, of a type without a name.
// OpenSSL's clients send one in TLS 1.3: the alert that they refuse the certificate is not
// encrypted yet.
const unreadable = "local error: tls: bad record MAC"

// explain says what went wrong in a handshake.
func explain(ctx context.Context, err error) error {
	var noTLS tls.RecordHeaderError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the TLS handshake was not done in time: %w", ctx.Err())
	case errors.As(err, &noTLS):
		return fmt.Errorf("the client does not speak TLS: %w", err)
	case err.Error() == unreadable:
		return fmt.Errorf("the TLS handshake failed: the client ended it in the clear, as those with OpenSSL do that do not trust the gateway's certificate, or its bytes were changed on the way: %w", err)
	}
	return fmt.Errorf("the TLS handshake failed: %w", err)
}

// Close implements server.Transport. Open connections go on.
func (t *transport) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	for _, s := range []*source{t.clients, t.own} {
		if s != nil {
			t.protocols.release(s)
		}
	}
	return nil
}
