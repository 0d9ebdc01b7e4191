package ssl

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/securitytest"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// site is a configuration with files in a folder.
type site struct {
	ca     *ssltest.Authority
	folder string
	cfg    Config
}

func newSite(t *testing.T, auth string) site {
	t.Helper()
	s := site{ca: ssltest.NewAuthority(t), folder: t.TempDir(), cfg: DefaultConfig()}
	f := s.ca.Issue(t, ssltest.Server()).Write(t, s.folder)
	s.cfg.Certificate, s.cfg.Key = f.Certificate, f.Key
	s.cfg.ClientCA, s.cfg.ClientAuth = s.ca.Write(t, s.folder), auth
	return s
}

// renew replaces the certificate and its key.
func (s site) renew(t *testing.T) {
	t.Helper()
	s.ca.Issue(t, ssltest.Server()).Write(t, s.folder)
}

func (s site) open(t *testing.T, log *zap.Logger) (*Protocols, *transport) {
	t.Helper()
	p, err := New(s.cfg, log, nil)
	require.NoError(t, err)
	opened, err := p.Open(server.ListenerConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return p, opened.(*transport)
}

// client is a client with the certificates that are given.
func (s site) client(t *testing.T, shows ...ssltest.Issued) *tls.Config {
	t.Helper()
	cfg := &tls.Config{RootCAs: s.ca.Pool(), ServerName: "127.0.0.1"}
	for _, i := range shows {
		cfg.Certificates = append(cfg.Certificates, i.Pair(t))
	}
	return cfg
}

func connect(cfg *tls.Config) func(context.Context, net.Conn) (net.Conn, error) {
	return func(ctx context.Context, nc net.Conn) (net.Conn, error) {
		c := tls.Client(nc, cfg)
		return c, c.HandshakeContext(ctx)
	}
}

func TestConformance(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			securitytest.Transports(t, func(t *testing.T) securitytest.Transported {
				s := newSite(t, "requested")
				s.cfg.PrincipalMappingRules = "RULE:CN=(.*)/$1/L"
				_, opened := s.open(t, zap.NewNop())
				with := func(name string, who security.Principal, shows ...ssltest.Issued) securitytest.TransportClient {
					cfg := s.client(t, shows...)
					cfg.MaxVersion = version
					return securitytest.TransportClient{Name: name, Connect: connect(cfg), Principal: who}
				}
				other := ssltest.NewAuthority(t)
				notOurs := s.client(t)
				notOurs.RootCAs = other.Pool()
				return securitytest.Transported{
					Transport: opened, Listens: true,
					Clients: []securitytest.TransportClient{
						with("nobody", security.Anonymous),
						with("alice", security.User("alice"), s.ca.Issue(t, ssltest.Client("Alice"))),
					},
					Strangers: []securitytest.TransportClient{
						with("of another authority", security.Anonymous, other.Issue(t, ssltest.Client("alice"))),
						with("expired", security.Anonymous, s.ca.Issue(t, ssltest.Client("alice"), ssltest.Until(time.Now().Add(-time.Minute)))),
						with("a server's", security.Anonymous, s.ca.Issue(t, ssltest.Server())),
						with("no name that a rule knows", security.Anonymous, s.ca.Issue(t, ssltest.Client("x\ry"))),
						{Name: "does not trust us", Connect: connect(notOurs)},
						{Name: "old", Connect: connect(&tls.Config{RootCAs: s.ca.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})},
					},
				}
			})
		})
	}
}

func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	theirs, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	ours, err = ln.Accept()
	require.NoError(t, err)
	return ours, theirs
}

// established returns both ends of a connection, which the test's end closes.
func established(t *testing.T, on server.Transport, cfg *tls.Config) (ours, theirs net.Conn) {
	t.Helper()
	below, raw := pair(t)
	t.Cleanup(func() { below.Close(); raw.Close() })
	connected := make(chan error, 1)
	go func() {
		var err error
		theirs, err = connect(cfg)(t.Context(), raw)
		connected <- err
	}()
	ours, _, err := on.Secure(t.Context(), below)
	require.NoError(t, err)
	require.NoError(t, <-connected)
	return ours, theirs
}

// meet has a client connect once, and returns who it is.
func meet(t *testing.T, on server.Transport, client *tls.Config) (security.Principal, tls.ConnectionState, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ours, theirs := pair(t)
	defer ours.Close()
	defer theirs.Close()
	var state tls.ConnectionState
	done := make(chan error, 1)
	go func() {
		c := tls.Client(theirs, client)
		err := c.HandshakeContext(ctx)
		if err == nil { // with a ticket, which comes before what is read
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		state = c.ConnectionState()
		done <- err
	}()
	nc, who, err := on.Secure(ctx, ours)
	if err == nil {
		_, err = nc.Write([]byte{1})
	}
	if err != nil {
		ours.Close()
		<-done
		return who, state, err
	}
	require.NoError(t, <-done)
	return who, state, nil
}

func TestClientAuth(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]struct{ shown, nothing string }{
		"none":      {"User:ANONYMOUS", "User:ANONYMOUS"},
		"requested": {"User:CN=alice", "User:ANONYMOUS"},
		"required":  {"User:CN=alice", ""},
	} {
		s := newSite(t, auth)
		_, on := s.open(t, zap.NewNop())
		who, _, err := meet(t, on, s.client(t, s.ca.Issue(t, ssltest.Client("alice"))))
		require.NoError(t, err, auth)
		require.Equal(t, want.shown, who.String(), auth)
		who, _, err = meet(t, on, s.client(t))
		if want.nothing == "" {
			require.ErrorContains(t, err, "didn't provide a certificate")
			continue
		}
		require.NoError(t, err, auth)
		require.Equal(t, want.nothing, who.String(), auth)
	}
}

func TestMinVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	s.cfg.MinVersion = "TLSv1.3"
	p, on := s.open(t, zap.NewNop())
	old := s.client(t)
	old.MaxVersion = tls.VersionTLS12
	_, _, err := meet(t, on, old)
	require.ErrorContains(t, err, "the TLS handshake failed: tls: client offered only unsupported versions")
	_, state, err := meet(t, on, s.client(t))
	require.NoError(t, err)
	require.Equal(t, uint16(tls.VersionTLS13), state.Version)
	require.InDelta(t, 1, testutil.ToFloat64(p.metrics.handshakes.WithLabelValues("TLS 1.3", "full")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(p.metrics.handshakes.WithLabelValues("", "failed")), 0)
}

// A session that is resumed keeps its principal, and does not outlive the
// authority that its certificate is of.
func TestResumption(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := newSite(t, "required")
		p, on := s.open(t, zap.NewNop())
		client := s.client(t, s.ca.Issue(t, ssltest.Client("alice")))
		client.MaxVersion, client.ClientSessionCache = version, tls.NewLRUClientSessionCache(4)
		for n := range 3 {
			who, state, err := meet(t, on, client)
			require.NoError(t, err)
			require.Equal(t, security.User("CN=alice"), who)
			require.Equal(t, n > 0, state.DidResume)
		}
		require.InDelta(t, 2, testutil.ToFloat64(p.metrics.handshakes.WithLabelValues(tls.VersionName(version), "resumed")), 0)
		ssltest.NewAuthority(t).Write(t, s.folder) // over client_ca
		require.Eventually(t, func() bool {
			_, _, err := meet(t, on, client)
			return err != nil
		}, 30*time.Second, 50*time.Millisecond)
	}
}

// Sessions of one listener mean nothing at another, which may ask for more.
func TestSessionsBelongToAListener(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	p, loose := s.open(t, zap.NewNop())
	strict, err := p.Open(server.ListenerConfig{ClientAuth: "required"})
	require.NoError(t, err)
	defer strict.Close()
	client := s.client(t)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	_, _, err = meet(t, loose, client)
	require.NoError(t, err)
	_, _, err = meet(t, strict, client)
	require.Error(t, err)
}

// Listeners with the same files share a source; their own keys go first.
func TestListenersOwnKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	p, first := s.open(t, zap.NewNop())
	second, err := p.Open(server.ListenerConfig{})
	require.NoError(t, err)
	require.Same(t, first.own, second.(*transport).own)
	own := s.ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	third, err := p.Open(server.ListenerConfig{Certificate: own.Certificate, Key: own.Key})
	require.NoError(t, err)
	require.NotSame(t, first.own, third.(*transport).own)
	_, err = p.Open(server.ListenerConfig{Certificate: own.Certificate})
	require.EqualError(t, err, "certificate: "+own.Certificate+" holds a certificate and no private key; set the listener's key to the PEM file with the private key")
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	require.Len(t, p.sources, 1)
}

// OpenSSL's clients that do not trust the certificate say so in the clear, which no server
// can tell from bytes that were changed.
func TestClientThatDoesNotTrust(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	_, on := s.open(t, zap.NewNop())
	ours, theirs := pair(t)
	defer ours.Close()
	defer theirs.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(&inTheClear{Conn: theirs}, s.client(t)).HandshakeContext(t.Context())
	}()
	_, _, err := on.Secure(t.Context(), ours)
	<-done
	require.ErrorContains(t, err, "that do not trust the gateway's certificate")
}

// inTheClear sends an alert, unknown_ca, in place of whatever follows the hello.
type inTheClear struct {
	net.Conn
	greeted bool
}

func (c *inTheClear) Write(b []byte) (int, error) {
	if c.greeted {
		_, err := c.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 48})
		return len(b), err
	}
	c.greeted = true
	return c.Conn.Write(b)
}
