package gateway_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/clienttest/hostile"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// sender sends requests one after the other, over a new connection whenever the
// last one was closed.
type sender struct {
	t    *testing.T
	door hostile.Door
	conn net.Conn
}

// send returns the payload that answers a request, or nil when the connection was
// closed without a byte.
func (h *sender) send(what string, request []byte) []byte {
	h.t.Helper()
	if h.conn == nil {
		conn, err := h.door.Dial()
		require.NoError(h.t, err)
		h.conn = conn
	}
	require.NoError(h.t, h.conn.SetDeadline(time.Now().Add(patience)))
	_, err := h.conn.Write(request)
	require.NoError(h.t, err, what)
	var size [4]byte
	if _, err := io.ReadFull(h.conn, size[:]); err != nil {
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			h.t.Fatalf("%s: neither an answer nor the end of the connection", what)
		}
		h.conn.Close()
		h.conn = nil
		return nil
	}
	payload := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(h.conn, payload)
	require.NoError(h.t, err, what)
	return payload
}

// request is the frame of a body at a version; the client id is null.
func requestOf(req kmsg.Request, body []byte) []byte {
	return frame(req.Key(), req.GetVersion(), req.IsFlexible(), fmt.Sprintf("%x", body))
}

// Every body that is not one of its version, of every key and version, closes its
// connection or is answered with what the key's policy says; no other connection
// notices, and nothing is left of it.
func TestEveryKeyRefusesHostileBodies(t *testing.T) {
	_, handlers, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	gate := hostile.Open(t, nil)
	gate.TLS.CurvePreferences = cheapest
	for _, door := range gate.Inner() {
		if door.Secured == door.Login { // in the clear, and behind all that there is
			choose := handlertest.Hostile
			if door.Login {
				choose = oneOfEachKind // a connection costs a handshake and a login each time
			}
			t.Run(door.Name, func(t *testing.T) { refusesHostileBodies(t, gate, door, handlers, choose) })
		}
	}
}

// oneOfEachKind returns a hostile body of each kind of fault; which one of the kind depends on the version, so that
// those of a key differ in where the fault is.
func oneOfEachKind(h handler.Handler, version int16) (chosen []handlertest.Body) {
	kinds := map[string][]handlertest.Body{}
	for _, body := range handlertest.Hostile(h, version) {
		kinds[body.Kind] = append(kinds[body.Kind], body)
	}
	r := rand.New(rand.NewPCG(uint64(h.Spec().Key), uint64(version)))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		chosen = append(chosen, kinds[kind][r.IntN(len(kinds[kind]))])
	}
	return chosen
}

// bodiesOf chooses hostile bodies of a version.
type bodiesOf func(h handler.Handler, version int16) []handlertest.Body

func refusesHostileBodies(t *testing.T, gate *hostile.Gate, door hostile.Door, handlers []handler.Handler, choose bodiesOf) {
	bystander := rawclient.New(enter(t, door), "bystander")
	require.NoError(t, bystander.SetDeadline(time.Now().Add(5*time.Minute)))
	served := func() {
		_, err := bystander.Call(kmsg.NewPtrMetadataRequest())
		require.NoError(t, err, "a connection that did nothing wrong")
	}
	served()
	goroutines, before := runtime.NumGoroutine(), heap()
	sent, kinds := 0, map[string]int{}
	for _, h := range handlers {
		spec := h.Spec()
		for v := spec.Min; v <= spec.Max; v++ {
			client := sender{t: t, door: door}
			for _, body := range choose(h, v) {
				what := fmt.Sprintf("%s v%d: %s", kmsg.NameForKey(spec.Key), v, body.Fault)
				require.Equal(t, refusal(h, v), client.send(what, requestOf(requestAt(h, v), body.Bytes)), what)
				sent++
				kinds[body.Kind]++
			}
			for _, req := range handlertest.Legal(h, v) {
				if produce, ok := req.(*kmsg.ProduceRequest); ok {
					produce.Acks = -1 // 0 asks for no answer
				}
				client.send(fmt.Sprintf("%s v%d: legal", kmsg.NameForKey(spec.Key), v), requestOf(req, req.AppendTo(nil)))
			}
			if client.conn != nil {
				client.conn.Close()
			}
		}
		for _, v := range []int16{-1, spec.Min - 1, spec.Max + 1, 127} {
			if spec.Unsupported == nil {
				what := fmt.Sprintf("%s v%d", kmsg.NameForKey(spec.Key), v)
				require.Nil(t, (&sender{t: t, door: door}).send(what, frame(spec.Key, v, v > spec.Max, "00")), what)
			}
		}
		served()
	}
	t.Logf("%d hostile bodies: %v", sent, kinds)
	require.Contains(t, scrape(t, gate.Admin), "\nkafka_gateway_handler_panics_total 0\n")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, patience, 20*time.Millisecond, "goroutines are left")
	require.Eventually(t, func() bool { return heap() < before+16<<20 }, patience, 50*time.Millisecond, "memory is left: %d → %d", before, heap())
}

// requestAt is an empty request of a version.
func requestAt(h handler.Handler, version int16) kmsg.Request {
	req := h.NewRequest()
	req.SetVersion(version)
	return req
}

// refusal is the payload that answers a bad request of a version; nil where that
// closes the connection.
func refusal(h handler.Handler, version int16) []byte {
	req := requestAt(h, version)
	answer := h.Spec().BadRequest.Answer(req)
	if answer == nil {
		return nil
	}
	answer.SetVersion(version)
	payload := []byte{0, 0, 0, 1}
	if answer.IsFlexible() && answer.Key() != kmsg.ApiVersions.Int16() {
		payload = append(payload, 0)
	}
	return answer.AppendTo(payload)
}

// scrape returns what the admin listener measures.
func scrape(t *testing.T, admin string) string {
	t.Helper()
	resp, err := http.Get(admin + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	return "\n" + strings.TrimSpace(string(text)) + "\n"
}
