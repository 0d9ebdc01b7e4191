package hostile

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	xdg "github.com/xdg-go/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/internal/rawclient"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
	"github.com/iggykafka/gateway/security/users"
)

// The user that is there.
const (
	User     = "alice"
	Password = "alice-secret"
)

// protocols are those of the listeners, in the order of Doors.
var protocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// Gate is a running gateway with a listener of each protocol.
type Gate struct {
	// Admin is the URL of the listener for operators.
	Admin string
	// TLS is what clients have to know of it.
	TLS *tls.Config

	addrs map[string]*string
	login *xdg.Client // it remembers what the password is salted to
}

// Open starts a gateway that ends with the test. Nil changes nothing of its configuration; more are options of
// gatewaytest.Start.
func Open(t testing.TB, change func(*app.Config), more ...gatewaytest.Option) *Gate {
	t.Helper()
	ca := ssltest.NewAuthority(t)
	files := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	known := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(known, []byte(userLine(t)), 0o600))
	login, err := xdg.SHA256.NewClient(User, Password, "")
	require.NoError(t, err)
	g := &Gate{login: login, TLS: &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}, addrs: map[string]*string{}}
	for _, p := range protocols {
		g.addrs[p] = new(string)
	}
	listener := func(protocol string) (string, server.ListenerConfig, *string) {
		return "hostile-" + map[string]string{"SSL": "ssl", "SASL_PLAINTEXT": "sasl", "SASL_SSL": "both"}[protocol],
			server.ListenerConfig{Protocol: protocol}, g.addrs[protocol]
	}
	*g.addrs["PLAINTEXT"] = gatewaytest.Start(t, append(more,
		gatewaytest.Listener(listener("SSL")), gatewaytest.Listener(listener("SASL_PLAINTEXT")), gatewaytest.Listener(listener("SASL_SSL")),
		gatewaytest.Admin(&g.Admin),
		gatewaytest.Config(func(c *app.Config) {
			c.TLS.Certificate, c.TLS.Key, c.SASL.Users.UsersFile = files.Certificate, files.Key, known
			// All come from one address here: growing delays would let few logins be tried.
			c.SASL.Logins.FailureDelay, c.SASL.Logins.MaxFailureDelay = time.Millisecond, time.Millisecond
			if change != nil {
				change(c)
			}
		}))...)
	return g
}

// userLine is the line of the users file.
func userLine(t testing.TB) string {
	salt := []byte("salt of the user")
	salted, err := pbkdf2.Key(sha256.New, Password, salt, 4096, sha256.Size)
	require.NoError(t, err)
	return users.FormatLine(User, security.ScramSHA256, security.NewScramCredential(security.ScramSHA256, salted, salt, 4096)) + "\n"
}

// Door is a listener, and how far a connection to it has got.
type Door struct {
	// Name says both: "SASL_SSL, logged in".
	Name string
	// Secured is whether TLS has been agreed on, Login whether clients log in here, and In whether the door is open: requests
	// of all kinds are served.
	Secured, Login, In bool

	gate *Gate
	addr *string
}

// Doors are all there are.
func (g *Gate) Doors() (all []Door) {
	for _, protocol := range protocols {
		byTLS, login := protocol == "SSL" || protocol == "SASL_SSL", strings.HasPrefix(protocol, "SASL")
		door := Door{gate: g, addr: g.addrs[protocol], Login: login}
		if byTLS {
			outside := door
			outside.Name = protocol + ", before the handshake"
			all = append(all, outside)
			door.Secured = true
		}
		if login {
			outside := door
			outside.Name = protocol + ", before the login"
			all = append(all, outside)
		}
		door.In, door.Name = true, protocol
		if login {
			door.Name = protocol + ", logged in"
		}
		all = append(all, door)
	}
	return all
}

// Inner are the doors behind which everything is served.
func (g *Gate) Inner() (all []Door) {
	for _, d := range g.Doors() {
		if d.In {
			all = append(all, d)
		}
	}
	return all
}

// Inside is the door of the same listener behind which everything is served.
func (d Door) Inside() Door {
	for _, inner := range d.gate.Inner() {
		if inner.addr == d.addr {
			return inner
		}
	}
	return d
}

// Addr is where the door is.
func (d Door) Addr() string { return *d.addr }

// patience bounds what must come.
const patience = time.Minute

// Dial connects, and goes as far as the door is.
func (d Door) Dial() (net.Conn, error) {
	return d.dial(patience, func(c net.Conn) net.Conn { return c })
}

// dial is Dial, with something between the socket and TLS, and less time for a handshake.
func (d Door) dial(handshake time.Duration, below func(net.Conn) net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.Addr())
	if err != nil {
		return nil, err
	}
	nc = below(nc)
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if d.Secured {
		secured := tls.Client(nc, d.gate.TLS)
		if err := secured.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, fmt.Errorf("handshake: %w", err)
		}
		nc = secured
	}
	if d.Login && d.In {
		if err := d.gate.logIn(nc); err != nil {
			nc.Close()
			return nil, fmt.Errorf("login: %w", err)
		}
	}
	return nc, nil
}

// logIn logs the user in by SCRAM, which costs a client that has done it before next to nothing.
func (g *Gate) logIn(nc net.Conn) error {
	c := rawclient.New(nc, "hostile")
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, "SCRAM-SHA-256"
	answer, err := c.Call(handshake)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.(*kmsg.SASLHandshakeResponse).ErrorCode); err != nil {
		return err
	}
	conversation, received := g.login.NewConversation(), ""
	for !conversation.Done() {
		token, err := conversation.Step(received)
		if err != nil || conversation.Done() {
			return err
		}
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = 2, []byte(token)
		if answer, err = c.Call(req); err != nil {
			return err
		}
		resp := answer.(*kmsg.SASLAuthenticateResponse)
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		received = string(resp.SASLAuthBytes)
	}
	return nil
}

// client is a stock client that goes through the door, which must be an inner one.
func (d Door) client(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append(opts, kgo.SeedBrokers(d.Addr()))
	if d.Secured {
		opts = append(opts, kgo.DialTLSConfig(d.gate.TLS.Clone()))
	}
	if d.Login {
		opts = append(opts, kgo.SASL(scram.Auth{User: User, Pass: Password}.AsSha256Mechanism()))
	}
	return kgo.NewClient(opts...)
}
