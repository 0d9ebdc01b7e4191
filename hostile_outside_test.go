package gateway_test

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/clienttest/hostile"
)

// alert is what TLS may say before it closes a connection, in bytes: one record.
const alert = 7

// What closes a connection behind the login closes it before the login, too, and before the handshake of TLS; and
// what is answered there is not answered here, except that everybody may ask for ApiVersions.
func TestHostileBodiesFromOutside(t *testing.T) {
	gate := hostile.Open(t, nil)
	requests := hostileBodies()
	for name, c := range answeredBodies() {
		if c.req.Key() != kmsg.ApiVersions.Int16() {
			requests[name] = c.request
		}
	}
	for _, door := range gate.Doors() {
		if door.In {
			continue
		}
		t.Run(door.Name, func(t *testing.T) {
			for name, request := range requests {
				c := enter(t, door)
				_, err := c.Write(request)
				require.NoError(t, err, name)
				if tcp, ok := c.(*net.TCPConn); ok { // TLS may have to wait for more
					require.NoError(t, tcp.CloseWrite())
				}
				got, err := io.ReadAll(c)
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Fatal(name, ": the connection stays open")
				}
				if !door.Secured && len(got) > 0 && got[0] == 0x15 {
					require.LessOrEqual(t, len(got), alert, name)
				} else {
					require.Empty(t, got, name)
				}
				c.Close()
			}
			for _, inner := range gate.Inner() {
				served(t, inner)
			}
		})
	}
}

// Before the login, requests of every key, whole and damaged, close their connections without a byte: at their last
// version here, and at the others in TestBeforeLogin.
func TestEveryKeyIsClosedBeforeTheLogin(t *testing.T) {
	_, handlers, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	gate := hostile.Open(t, nil)
	gate.TLS.CurvePreferences = cheapest
	for _, door := range gate.Doors() {
		if !door.Login || door.In || door.Name == "SASL_SSL, before the handshake" {
			continue
		}
		t.Run(door.Name, func(t *testing.T) {
			enter(t, door).Close()
			goroutines, before := runtime.NumGoroutine(), heap()
			for _, h := range handlers {
				if h.Spec().BeforeLogin {
					continue
				}
				version := h.Spec().Max
				bodies := [][]byte{{}, {0xff, 0xff, 0xff, 0xff}}
				for _, body := range oneOfEachKind(h, version) {
					bodies = append(bodies, body.Bytes)
				}
				for _, body := range bodies {
					require.Nil(t, (&sender{t: t, door: door}).send(kmsg.NameForKey(h.Spec().Key), requestOf(requestAt(h, version), body)))
				}
			}
			require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, patience, 20*time.Millisecond, "goroutines are left")
			require.Eventually(t, func() bool { return heap() < before+16<<20 }, patience, 50*time.Millisecond, "memory is left")
		})
	}
}
