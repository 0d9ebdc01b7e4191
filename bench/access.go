package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// access is how a target is talked to. The zero value is in the clear, as nobody.
type access struct {
	tls   *tls.Config
	login sasl.Mechanism
}

// newAccess reads an address: PROTOCOL://host:port, or without a protocol in the
// clear. The flags say what TLS and logins need.
func newAccess(addr string, flags cli.Connection) (hostPort string, a access, err error) {
	protocol, hostPort, found := strings.Cut(addr, "://")
	if !found {
		return addr, a, nil
	}
	switch strings.ToUpper(protocol) {
	case "PLAINTEXT":
		flags = cli.Connection{}
	case "SSL":
		flags = cli.Connection{TLS: true, CA: flags.CA, Certificate: flags.Certificate, Key: flags.Key}
	case "SASL_PLAINTEXT":
		flags.TLS, flags.CA, flags.Certificate, flags.Key = false, "", "", ""
	case "SASL_SSL":
		flags.TLS = true
	default:
		return "", a, fmt.Errorf("%s: %q is none of plaintext, ssl, sasl_plaintext, sasl_ssl, iggy", addr, protocol)
	}
	a.tls, a.login, err = flags.Settle()
	if err == nil && a.login == nil && strings.HasPrefix(strings.ToUpper(protocol), "SASL") {
		err = fmt.Errorf("%s: needs -user and -password-file, or -token-file", addr)
	}
	return hostPort, a, err
}

// client returns a client of the target.
func (t *target) client(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append(opts, kgo.SeedBrokers(t.addr))
	if t.access.tls != nil {
		opts = append(opts, kgo.Dialer(t.access.dialBulk))
	}
	if t.access.login != nil {
		opts = append(opts, kgo.SASL(t.access.login))
	}
	return kgo.NewClient(opts...)
}

// bulk is how much is read from a connection below TLS at once, in bytes. crypto/tls
// reads a record of 16 KiB at a time, and what that costs a client on the same machine
// would be taken for a cost of the server's.
const bulk = 256 << 10

// bulkConn is a connection that is read in bulk.
type bulkConn struct {
	net.Conn
	in *bufio.Reader
}

func (c bulkConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// dialBulk opens a connection that is secured, and read in bulk.
func (a access) dialBulk(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return a.secure(ctx, bulkConn{nc, bufio.NewReaderSize(nc, bulk)}, addr)
}

// secure speaks TLS on a connection to addr. After an error it is closed.
func (a access) secure(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	config := a.tls.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secured := tls.Client(nc, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return secured, nil
}

// patience bounds how long a raw connection may take to be made.
const patience = 30 * time.Second

// dial opens a raw connection: what a client library would add to a round trip
// is not measured.
func (t *target) dial() (*rawclient.Conn, error) {
	nc, err := net.DialTimeout("tcp", t.addr, patience)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if t.access.tls != nil {
		if nc, err = t.access.secure(ctx, nc, t.addr); err != nil {
			return nil, err
		}
	}
	c := rawclient.New(nc, "bench")
	if t.access.login != nil {
		if err := logIn(ctx, c, t.access.login, t.addr); err != nil {
			nc.Close()
			return nil, err
		}
	}
	return c, nil
}

// logIn logs a raw connection in.
func logIn(ctx context.Context, c *rawclient.Conn, by sasl.Mechanism, addr string) error {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, by.Name()
	answer, err := c.Call(handshake)
	if err == nil {
		err = kerr.ErrorForCode(answer.(*kmsg.SASLHandshakeResponse).ErrorCode)
	}
	if err != nil {
		return err
	}
	session, token, err := by.Authenticate(ctx, addr)
	for done := false; err == nil && !done; {
		step := kmsg.NewPtrSASLAuthenticateRequest()
		step.Version, step.SASLAuthBytes = 2, token
		if answer, err = c.Call(step); err != nil {
			return err
		}
		said := answer.(*kmsg.SASLAuthenticateResponse)
		if err = kerr.ErrorForCode(said.ErrorCode); err == nil {
			done, token, err = session.Challenge(said.SASLAuthBytes)
		}
	}
	return err
}
