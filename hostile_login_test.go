package gateway_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// secured starts a gateway with a SASL_SSL listener, and returns a way to connect to it
// by TLS, without a login.
func secured(t *testing.T, more ...func(*app.Config)) (addr, admin string, dial func(t *testing.T) net.Conn) {
	t.Helper()
	ca := ssltest.NewAuthority(t)
	files := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	opts := []func(*app.Config){func(c *app.Config) { c.TLS.Certificate, c.TLS.Key = files.Certificate, files.Key }}
	gatewaytest.Start(t,
		gatewaytest.Config(func(c *app.Config) {
			for _, change := range append(opts, more...) {
				change(c)
			}
		}),
		gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_SSL"}, &addr), gatewaytest.Admin(&admin))
	return addr, admin, func(t *testing.T) net.Conn {
		t.Helper()
		c := tls.Client(raw(t, addr), &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
		require.NoError(t, c.Handshake())
		return c
	}
}

// Before the login every key but three closes, at each version, and nothing larger
// than a token is read.
func TestBeforeLogin(t *testing.T) {
	_, _, dial := secured(t)
	for key := int16(0); key <= 92; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for version := int16(0); version <= req.MaxVersion(); version++ {
			switch kmsg.Key(key) {
			case kmsg.ApiVersions, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
				continue
			}
			req.SetVersion(version)
			c := dial(t)
			_, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
			require.NoError(t, err)
			closedWithoutAByte(t, c)
			c.Close()
		}
	}
	c := dial(t)
	_, err := c.Write(binary.BigEndian.AppendUint32(nil, 1<<20))
	require.NoError(t, err)
	closedWithoutAByte(t, c)
}

// Connections that take all places and say nothing, at all or after a handshake, keep
// neither the operators' listener nor new clients out for long, and leave nothing behind.
func TestFloodBeforeLogin(t *testing.T) {
	const places = 200
	addr, admin, dial := secured(t, func(c *app.Config) { c.Server.MaxConnections = places })
	dial(t).Close()
	goroutines := runtime.NumGoroutine()
	var silent []net.Conn
	for i := range 3 * places {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			continue // there was no place, and the end came before the client knew of the beginning
		}
		if i%2 == 0 {
			_, _ = c.Write([]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00}) // the beginning of a hello
		}
		silent = append(silent, c)
	}
	require.GreaterOrEqual(t, len(silent), places)
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		answer, err := http.Get(admin + path)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
	}
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { // those that were silent for long enough lose their places
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		defer c.Close()
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		_ = c.SetDeadline(time.Now().Add(patience))
		if secure.Handshake() != nil {
			return false
		}
		_, err = secure.Write(frame(18, 0, false, ""))
		if err != nil {
			return false
		}
		_, err = io.ReadFull(secure, make([]byte, 4))
		return err == nil
	}, time.Minute, 100*time.Millisecond, "a new client gets an answer")
	for _, c := range silent {
		c.Close()
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, time.Minute, 10*time.Millisecond,
		"goroutines are back at their base")
}
