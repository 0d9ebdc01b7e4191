package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// refused is a failure to connect that another attempt does not mend: it names
// the key of the configuration that does.
type refused struct {
	key   string
	cause error
}

func (r *refused) Error() string { return r.key + ": " + r.cause.Error() }
func (r *refused) Unwrap() error { return r.cause }

// tlsConfig returns what TLS connections are made with; nil for plain ones.
func (c Config) tlsConfig() (*tls.Config, error) {
	if !c.TLS.Enabled {
		return nil, nil
	}
	name := c.TLS.ServerName
	if name == "" {
		host, _, err := net.SplitHostPort(c.Address)
		if err != nil {
			return nil, fmt.Errorf("iggy.address: %w", err)
		}
		name = host
	}
	// Large records: the small ones that TLS begins with save time to the first
	// byte and cost a system call each.
	cfg := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
	if c.TLS.CAFile == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(c.TLS.CAFile)
	if err != nil {
		return nil, fmt.Errorf("iggy.tls.ca_file: %w", err)
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("iggy.tls.ca_file: %s holds no certificate in PEM", c.TLS.CAFile)
	}
	return cfg, nil
}

// dial connects to the server, TCP_NODELAY set, and speaks TLS when it should.
// ctx bounds all of it.
func dial(ctx context.Context, address string, cfg *tls.Config) (server, raw net.Conn, err error) {
	// Keep-alive finds out that the server's machine has gone for good.
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	raw, err = dialer.DialContext(ctx, "tcp", address)
	if err != nil || cfg == nil {
		return raw, raw, err
	}
	secure := tls.Client(raw, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, nil, handshakeError(err)
	}
	return secure, raw, nil
}

// speaksTLS makes a TLS handshake and hangs up. Whose certificate it is does not
// matter, as nothing is said.
func speaksTLS(ctx context.Context, address string) bool {
	server, _, err := dial(ctx, address, &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- it only asks whether TLS is spoken, and hangs up
	if err != nil {
		return false
	}
	_ = server.Close()
	return true
}

// handshakeError tells a server that has the wrong certificate, or none, from
// one that is not there.
func handshakeError(err error) error {
	var wrong *tls.CertificateVerificationError
	if errors.As(err, &wrong) {
		return &refused{"iggy.tls.ca_file, iggy.tls.server_name", fmt.Errorf("the certificate of the Iggy server is not accepted: %w", err)}
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) {
		return &refused{"iggy.tls.enabled", errors.New("the Iggy server does not speak TLS")}
	}
	return err
}

// connect puts a relay on the connection and the SDK on the relay. The relay's
// listener takes one connection and is closed.
func connect(server, raw net.Conn, maxReply int64, heard func()) (*tcp.IggyTcpClient, *relay, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		_ = raw.Close()
		return nil, nil, err
	}
	defer func() { _ = l.Close() }()
	// The kernel completes the connection before it is accepted. The SDK tries
	// for ever where it cannot: only when the process is out of descriptors, and
	// until it gets one.
	sdk, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(l.Addr().String()))
	if err != nil {
		_ = raw.Close()
		return nil, nil, err
	}
	_ = l.SetDeadline(time.Now().Add(time.Second))
	mine, err := l.Accept()
	if err != nil {
		_ = raw.Close()
		_ = sdk.Close()
		return nil, nil, err
	}
	return sdk, newRelay(server, raw, mine, maxReply, heard), nil
}

// login logs the SDK in. Its panics are errors.
func (c Config) login(sdk iggcon.Client) error {
	err := safely(func() error {
		if c.Token != "" {
			_, err := sdk.LoginWithPersonalAccessToken(c.Token)
			return err
		}
		_, err := sdk.LoginUser(c.Username, c.Password)
		return err
	})
	code := Code(err)
	if c.Token != "" && code == ierror.ResourceNotFoundCode {
		err = fmt.Errorf("there is no such personal access token (%d)", code)
	}
	switch code {
	case ierror.InvalidCredentialsCode, ierror.InvalidUsernameCode, ierror.InvalidPasswordCode, ierror.UserInactiveCode,
		ierror.UnauthenticatedCode, ierror.UnauthorizedCode, ierror.ResourceNotFoundCode,
		ierror.InvalidPersonalAccessTokenCode, ierror.PersonalAccessTokenExpiredCode:
		return &refused{c.loginKey(), fmt.Errorf("the Iggy server at %s refuses the login: %w", c.Address, err)}
	}
	return err
}

func (c Config) loginKey() string {
	if c.Token != "" {
		return "iggy.token"
	}
	return "iggy.username, iggy.password"
}

// ErrBadReply: a reply of the server cannot be read. It is also a
// backend.ErrUnavailable.
var ErrBadReply = errors.New("unreadable reply of the Iggy server")

// safely turns a panic of the SDK, whose decoders index without looking, into an
// error.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrBadReply, p)
		}
	}()
	return f()
}
