package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// inUse returns the bytes of live heap objects and goroutine stacks.
func inUse() int64 {
	m := collected()
	return int64(m.HeapAlloc + m.StackInuse)
}

// onHeap returns the bytes of live heap objects. Where goroutines have ended it is what tells of leaks: a few that
// live keep the memory of many stacks that lay beside theirs.
func onHeap() int64 { return int64(collected().HeapAlloc) }

func collected() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // the pools keep what they hold for one collection
	runtime.ReadMemStats(&m)
	return m
}

// Two requests in one segment, two answers, with equal correlation ids.
func TestPipelined(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dispatchtest.ApiVersions(), dispatchtest.Heartbeat(echo))
	c := r.dial()
	c.next = 7
	c.sendRaw(bytes.Repeat(frame(kmsg.NewPtrApiVersionsRequest(), 3, 7), 2))
	for range 2 {
		require.Len(t, c.answer(kmsg.NewPtrApiVersionsRequest(), 3).(*kmsg.ApiVersionsResponse).ApiKeys, 2)
	}

	const batch = 1000
	var requests []byte
	for i := range batch {
		requests = append(requests, frame(quick(int32(i)), 4, 7)...)
	}
	go c.Write(requests)
	for i := range batch {
		require.Equal(t, int16(i), code(c.answer(quick(0), 4)))
	}
}

// echo answers the generation as code.
func echo(_ context.Context, _ handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = int16(req.Generation)
	return resp, nil
}

// What a client may ask that is not served.
func TestNotServed(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dispatchtest.ApiVersions(), dispatchtest.Heartbeat(nil))
	c := r.dial()
	for _, version := range []int16{5, 6, 127, -1} {
		c.next++
		b := frame(kmsg.NewPtrApiVersionsRequest(), 0, c.next)
		binary.BigEndian.PutUint16(b[6:], uint16(version))
		c.sendRaw(b)
		resp := c.answer(kmsg.NewPtrApiVersionsRequest(), 0).(*kmsg.ApiVersionsResponse)
		require.Equal(t, int16(35), resp.ErrorCode)
		require.Equal(t, []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 4}}, resp.ApiKeys)
	}
	c.ask(kmsg.NewPtrApiVersionsRequest(), 4) // and the connection is open

	beyond := r.dial()
	b := frame(quick(0), 4, 1)
	binary.BigEndian.PutUint16(b[6:], 5)
	beyond.sendRaw(b)
	beyond.expectClosed()
	r.closed("unsupported_version", 1)

	sasl := r.dial()
	sasl.send(&kmsg.SASLHandshakeRequest{Mechanism: "PLAIN"}, 0)
	sasl.expectClosed()
	r.closed("unknown_key", 1)
	require.Equal(t, 2, r.logs.Len(), "one line each")
	for _, line := range r.logs.All() {
		require.Equal(t, zap.DebugLevel, line.Level)
		require.Equal(t, "test", line.ContextMap()["client_id"])
	}
}

// What no length can be closes at once, with one line at debug, and the audit tells of it:
// a client that speaks TLS to a listener that does not is a common mistake.
func TestIllegalLengths(t *testing.T) {
	t.Parallel()
	a := newRefusals()
	r := startWith(t, []Option{WithAudit(a)}, nil, dispatchtest.Heartbeat(nil))
	for i, b := range []struct {
		sent []byte
		why  string
	}{
		{[]byte{0x7f, 0xff, 0xff, 0xff}, ""},
		{[]byte{0, 0, 0, 0}, ""},
		{[]byte{0xff, 0xff, 0xff, 0xff}, ""},
		{[]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03}, "; the client speaks TLS, where nothing is encrypted"},
		{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "; the client speaks HTTP"},
	} {
		c := r.dial()
		c.sendRaw(b.sent)
		c.expectClosed()
		r.closed("bad_frame", i+1)
		require.Regexp(t, `^default 127\.0\.0\.1: illegal frame length: -?\d+ bytes, legal are 1 to \d+`+b.why+"$", <-a.told)
		require.Equal(t, i+1, r.logs.FilterLevelExact(zap.DebugLevel).Len())
	}
	require.Equal(t, 5, r.logs.Len())
	c := r.dial() // who is known is no stranger's affair
	c.ask(quick(0), 4)
	c.sendRaw([]byte{0, 0, 0, 0})
	c.expectClosed()
	r.closed("bad_frame", 6)
	require.Empty(t, a.told)
}

// The tests below measure the memory of the process, so nothing runs beside them.

// A legal prefix of 100 MiB costs nothing.
func TestPrefixCostsNothing(t *testing.T) {
	r := start(t, nil, dispatchtest.Heartbeat(nil))
	const clients = 100
	var all []*client
	for range clients {
		c := r.dial()
		c.ask(quick(0), 4)
		all = append(all, c)
	}
	before := inUse()
	for _, c := range all {
		c.sendRaw(binary.BigEndian.AppendUint32(nil, 100<<20))
	}
	r.eventually(func() bool { return inUse()-before < clients*4<<10 }, "less than 4 KiB each")
}

// A connection without a request in work costs less than 16 KiB, even after a
// call that waited.
func TestIdleCost(t *testing.T) {
	p := newParked()
	r := start(t, nil, p.handlers()...)
	const clients = 500
	own := func() int64 { // what the test's side of a connection costs
		before := inUse()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer ln.Close()
		var pairs []net.Conn
		for range clients {
			near, err := net.Dial("tcp", ln.Addr().String())
			require.NoError(t, err)
			far, err := ln.Accept()
			require.NoError(t, err)
			pairs = append(pairs, near, far)
		}
		defer func() {
			for _, c := range pairs {
				c.Close()
			}
		}()
		return (inUse() - before) / 2
	}()
	before := inUse()
	var all []*client
	for range clients {
		c := r.dial()
		c.send(waiting(), 4)
		all = append(all, c)
	}
	for range clients {
		<-p.arrived
	}
	r.eventually(func() bool { return runtime.NumGoroutine() > 2*clients }, "each connection is read on")
	for range clients {
		p.answer <- 0
	}
	for _, c := range all {
		c.answer(waiting(), 4)
		c.ask(quick(0), 4)
	}
	var each int64
	r.eventually(func() bool {
		each = (inUse() - before - own) / clients
		return each < idleLimit
	}, "less than the limit each")
	t.Logf("an idle connection costs %d bytes", each)
}

// The largest frame on many connections that stay open. The buffers are
// given back with the answers.
func TestLargestFrames(t *testing.T) {
	const size = 4 << 20
	r := start(t, func(c *Config) { c.MaxFrameSize = size }, dispatchtest.Produce())
	request := frame(produceOf(size-200), 9, 1)
	require.LessOrEqual(t, len(request), size)
	var all []*client
	for range 50 {
		all = append(all, r.dial())
	}
	before := onHeap()
	for _, c := range all {
		c.next = 1
		c.sendRaw(request)
		resp := c.answer(kmsg.NewPtrProduceRequest(), 9).(*kmsg.ProduceResponse)
		require.EqualValues(t, size-200, resp.Topics[0].Partitions[0].BaseOffset)
	}
	r.eventually(func() bool { return onHeap()-before < 2<<20 }, "memory is back at its base")
}

// Half a request and a reset, again and again; acks=0 without end.
func TestResetsAndSilence(t *testing.T) {
	r := start(t, nil, dispatchtest.Produce(), dispatchtest.Heartbeat(nil))
	r.dial().ask(quick(0), 4)
	goroutines, before := runtime.NumGoroutine(), onHeap()

	const resets = 300
	request := frame(produceOf(300<<10), 9, 1)
	for i := range resets {
		c := r.dial()
		c.sendRaw(request[:1+i*len(request)/resets/2])
		require.NoError(t, c.Conn.(*net.TCPConn).SetLinger(0))
		c.Close()
	}
	r.closed("client_closed", resets)

	c := r.dial()
	silent := produceOf(10)
	silent.Acks = 0
	const requests = 20_000
	one := frame(silent, 9, 1)
	for range requests / 100 {
		c.sendRaw(bytes.Repeat(one, 100))
	}
	c.ask(quick(0), 4)
	require.Equal(t, requests*len(one), int(value(t, r.metrics.received))-2*len(frame(quick(0), 4, 1)))
	c.Close()
	r.eventually(func() bool { return runtime.NumGoroutine() <= goroutines }, "goroutines are back at their base")
	r.eventually(func() bool { return onHeap()-before < 1<<20 }, "memory is back at its base")
}

// Many requests on one connection, flat memory.
func TestFlatMemory(t *testing.T) {
	r := start(t, nil, dispatchtest.Heartbeat(nil))
	c := r.dial()
	b := frame(quick(0), 4, 1)
	exchange := func(n int) {
		for range n {
			c.sendRaw(b)
			c.receive()
		}
	}
	exchange(1000)
	before := onHeap()
	exchange(20_000)
	r.eventually(func() bool { return onHeap()-before < 256<<10 }, "memory is flat")
}

// Large frames share the budget: one that finds it spent waits, and closes.
// Small requests do not wait behind it.
func TestBudget(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	fetch := dispatchtest.Fetch(func(ctx context.Context, call handler.Call, _ *kmsg.FetchRequest) ([]byte, error) {
		if err := call.Reserve(ctx, 5<<20); err != nil {
			return nil, err
		}
		<-hold
		return nil, nil
	})
	r := start(t, func(c *Config) {
		c.MaxFrameSize, c.RequestMemory, c.MemoryBudget = 4<<20, 1<<20, 5<<20
		c.BudgetWait = 10 * time.Millisecond
	}, dispatchtest.Produce(), dispatchtest.Heartbeat(nil), fetch)
	holder := r.dial()
	holder.send(kmsg.NewPtrFetchRequest(), 11)
	r.eventually(func() bool {
		l := r.budget.Lease()
		defer l.Release()
		return l.Reserve(context.Background(), 1<<20) != nil
	}, "the budget is spent")

	large := r.dial()
	go large.Write(frame(produceOf(3<<20), 9, 1))
	large.expectClosed()
	r.closed("memory_budget", 1)
	require.Equal(t, 1, r.logs.FilterLevelExact(zap.WarnLevel).Len())

	small := r.dial()
	small.ask(quick(0), 4)
	small.ask(produceOf(10<<10), 9)

	close(hold)
	holder.answer(kmsg.NewPtrFetchRequest(), 11)
	next := r.dial()
	next.ask(produceOf(3<<20), 9)
}

// A failing and a panicking handler close their connection and no other. Each
// is logged once.
func TestHandlerFaults(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dispatchtest.Heartbeat(
		func(_ context.Context, _ handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			switch req.Group {
			case "fail":
				return nil, errors.New("broken")
			case "refuse":
				return nil, &handler.Refusal{Err: errors.New("not this")}
			case "panic":
				panic("at the disco")
			}
			return kmsg.NewPtrHeartbeatResponse(), nil
		}))
	other := r.dial()
	for reason, group := range map[string]string{"handler_error": "fail", "panic": "panic", "refused": "refuse"} {
		c := r.dial()
		req := quick(0)
		req.Group = group
		c.send(req, 4)
		c.expectClosed()
		r.closed(reason, 1)
		other.ask(quick(0), 4)
	}
	require.Equal(t, 1, r.logs.FilterLevelExact(zap.WarnLevel).Len())
	refused := r.logs.FilterLevelExact(zap.DebugLevel).All()
	require.Len(t, refused, 1, "clients cause this as often as they like")
	require.Equal(t, "refused", refused[0].ContextMap()["reason"])
	fault := r.logs.FilterLevelExact(zap.ErrorLevel).All()[0].ContextMap()
	require.Equal(t, "Heartbeat (key 12) v4: panic: at the disco", fault["error"])
	require.Contains(t, fault["stack"], "TestHandlerFaults")
}

// One connection above max_connections is closed; when one ends, another fits.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *Config) { c.MaxConnections = 2 }, dispatchtest.Heartbeat(nil))
	first, second := r.dial(), r.dial()
	first.ask(quick(0), 4)
	second.ask(quick(0), 4)
	for range 3 {
		r.expectRefused(0)
	}
	require.Equal(t, 3.0, value(t, r.metrics.refused.WithLabelValues("max_connections")))
	require.Equal(t, 1, r.logs.FilterMessageSnippet("max_connections").Len(), "told once")
	first.Close()
	r.eventually(func() bool { return r.connections() == 1 }, "room for another")
	r.dial().ask(quick(0), 4)
}
