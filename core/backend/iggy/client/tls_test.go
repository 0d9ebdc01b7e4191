//go:build unix

package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// certificate writes a certificate for 127.0.0.1 and the name iggy.test, and its
// key, and returns the files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "iggy.test"}, DNSNames: []string{"iggy.test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

func TestRealTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	server := iggytest.Real(t, iggytest.TLS(cert, key))
	cfg := configFor(server.Address())
	cfg.TLS = TLS{Enabled: true, CAFile: cert}

	t.Run("works", func(t *testing.T) {
		c := start(t, cfg)
		require.NoError(t, c.CheckPassword(t.Context(), iggytest.Username, iggytest.Password))
		require.ErrorIs(t, c.CheckPassword(t.Context(), iggytest.Username, "wrong"), ErrWrongPassword)
		topic := topicWith(t, c, 1)
		large := make([]byte, 3<<20)
		_, _ = rand.Read(large)
		require.NoError(t, c.Send(t.Context(), topic, 0, []iggcon.IggyMessage{message(large)}))
		got, err := c.Poll(t.Context(), topic, 0, iggcon.FirstPollingStrategy(), 1)
		require.NoError(t, err)
		require.Equal(t, large, got.Messages[0].Payload)
		// With Nagle's algorithm the last part of a request waits for the server's
		// delayed acknowledgement of the part before: 40 ms.
		c.mu.Lock()
		defer c.mu.Unlock()
		for r := range c.relays {
			require.NotEqual(t, r.server, r.raw)
			require.True(t, noDelay(t, r.raw), "TCP_NODELAY to the server")
			require.True(t, noDelay(t, r.sdk), "TCP_NODELAY to the SDK")
		}
	})
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"another authority": {func(c *Config) { c.TLS.CAFile = "" }, "iggy.tls.ca_file, iggy.tls.server_name: the certificate of the Iggy server is not accepted"},
		"another name":      {func(c *Config) { c.TLS.ServerName = "other.test" }, "iggy.tls.ca_file, iggy.tls.server_name: "},
		"no TLS":            {func(c *Config) { c.TLS = TLS{} }, "iggy.tls.enabled: the Iggy server speaks TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			test.change(&cfg)
			refusedStart(t, cfg, test.want)
		})
	}
	t.Run("by name", func(t *testing.T) {
		cfg := cfg
		cfg.TLS.ServerName = "iggy.test"
		start(t, cfg)
	})
}

func TestRealPlainRefusesTLS(t *testing.T) {
	t.Parallel()
	cfg := configFor(iggytest.Real(t).Address())
	cfg.TLS.Enabled = true
	refusedStart(t, cfg, "iggy.tls.enabled: the Iggy server does not speak TLS")
}

func refusedStart(t *testing.T, cfg Config, want string) {
	t.Helper()
	c, err := New(cfg, Options{Log: zaptest.NewLogger(t)})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	require.ErrorContains(t, c.Start(ctx), want)
	require.NoError(t, ctx.Err())
}

func noDelay(t *testing.T, conn net.Conn) bool {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var value int
	require.NoError(t, raw.Control(func(fd uintptr) {
		value, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
	}))
	require.NoError(t, err)
	return value != 0
}

func TestRealRefusesLogin(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t)
	cfg := configFor(server.Address())
	cfg.Password = "wrong"
	refusedStart(t, cfg, "iggy.username, iggy.password: ")
	cfg.Token = "none"
	refusedStart(t, cfg, "iggy.token: the Iggy server at "+cfg.Address+" refuses the login: there is no such personal access token (20)")
}
