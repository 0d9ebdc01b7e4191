package dispatch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/wire"
)

const correlation = 0x0a0b0c0d

var defaults = Limits{MaxFrame: 100 << 20, RequestMemory: 64 << 20}

// bench is a dispatcher under test with one caller.
type bench struct {
	*Dispatcher
	t     testing.TB
	from  Caller
	lease guard.Lease
	pool  wire.Pool
	reg   *prometheus.Registry
}

func open(t testing.TB, l Limits, handlers ...handler.Handler) *bench {
	t.Helper()
	table, err := NewTable(handlers, nil)
	require.NoError(t, err)
	b := &bench{t: t, from: Caller{Host: "/10.0.0.7"}, reg: prometheus.NewRegistry()}
	b.Dispatcher, err = New(table, l, b.reg)
	require.NoError(t, err)
	return b
}

// payload encodes a request as its frame's payload.
func payload(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, req, correlation)[4:]
}

// raw is a payload with any body.
func raw(key, version int16, rest ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, correlation)
	return append(append(b, 0, 2, 'm', 'e'), rest...)
}

// ask dispatches a payload and returns the answer behind its length prefix.
func (b *bench) ask(payload []byte) ([]byte, error) {
	b.t.Helper()
	out, err := b.Dispatch(context.Background(), &b.from, payload, &b.lease, &b.pool)
	if err != nil {
		require.Nil(b.t, out)
		return nil, err
	}
	if out == nil {
		return nil, nil
	}
	answer := whole(b.t, out)
	require.Equal(b.t, uint32(correlation), binary.BigEndian.Uint32(answer[4:]), "correlation id")
	return answer[4:], nil
}

// whole returns an answer as it goes on the wire, and releases it.
func whole(t testing.TB, out *Answer) []byte {
	t.Helper()
	answer := bytes.Join(out.Pieces(), nil)
	require.Len(t, answer, out.Size())
	require.Equal(t, len(answer)-4, int(binary.BigEndian.Uint32(answer)), "length prefix")
	out.Release()
	return answer
}

// fails dispatches a payload that must close, for a reason.
func (b *bench) fails(payload []byte, why Reason, cause error) *Error {
	b.t.Helper()
	_, err := b.ask(payload)
	require.ErrorIs(b.t, err, cause)
	var failed *Error
	require.ErrorAs(b.t, err, &failed)
	require.Equal(b.t, why, failed.Reason)
	return failed
}

// metric returns a sample of the registry: "name" or "name{value of its label}".
func (b *bench) metric(sample string) float64 {
	b.t.Helper()
	families, err := b.reg.Gather()
	require.NoError(b.t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			if len(m.Label) > 0 {
				name += "{" + m.Label[0].GetValue() + "}"
			}
			if name == "kafka_gateway_"+sample {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	b.t.Fatalf("no metric %s", sample)
	return 0
}

// Every version is answered in its own layout, under the right header.
func TestVersions(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.ApiVersions(), dispatchtest.Produce(),
		answering(func(req *kmsg.HeartbeatRequest) int16 { return int16(len(req.Group)) }))
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group = "seven77"
		got, err := b.ask(payload(req, version))
		require.NoError(t, err)
		want := kmsg.NewPtrHeartbeatResponse()
		want.ErrorCode = 7
		want.SetVersion(version)
		head := []byte{0x0a, 0x0b, 0x0c, 0x0d}
		if version == 4 {
			head = append(head, 0)
		}
		require.Equal(t, want.AppendTo(head), got, "Heartbeat v%d", version)

		// ApiVersions never has tags in its header.
		got, err = b.ask(payload(kmsg.NewPtrApiVersionsRequest(), version))
		require.NoError(t, err)
		list := kmsg.NewPtrApiVersionsResponse()
		list.ApiKeys = []kmsg.ApiVersionsResponseApiKey{
			{ApiKey: 0, MinVersion: 0, MaxVersion: 11}, {ApiKey: 12, MaxVersion: 4}, {ApiKey: 18, MaxVersion: 4}}
		list.SetVersion(version)
		require.Equal(t, list.AppendTo([]byte{0x0a, 0x0b, 0x0c, 0x0d}), got, "ApiVersions v%d", version)
	}
	require.Equal(t, 5.0, b.metric("request_duration_seconds{Heartbeat}"))
	require.Equal(t, 0.0, b.metric("requests_in_flight"))
}

// What a handler is told of its caller.
func TestCall(t *testing.T) {
	t.Parallel()
	var got handler.Call
	b := open(t, defaults, dispatchtest.Heartbeat(
		func(_ context.Context, call handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			got = call
			return kmsg.NewPtrHeartbeatResponse(), nil
		}))
	drain, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.from.Drain = drain
	_, err := b.ask(payload(kmsg.NewPtrHeartbeatRequest(), 4))
	require.NoError(t, err)
	require.NotNil(t, got.Memory)
	require.NotNil(t, got.Waited)
	got.Memory, got.Waited = nil, nil
	require.Equal(t, handler.Call{
		ClientID: "me", Host: "/10.0.0.7", MaxFrame: 100 << 20,
		APIs: []handler.Range{{Key: 12, Min: 0, Max: 4}}, Drain: drain,
	}, got)

	// A null client id after one with a name.
	_, err = b.ask(append(raw(12, 0)[:8], 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0))
	require.NoError(t, err)
	require.Empty(t, got.ClientID)
}

// A version that is not served gets the answer of the oldest layout where the
// key has one, whatever its header looks like. Elsewhere it closes.
func TestUnsupportedVersions(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.ApiVersions(), dispatchtest.Heartbeat(nil), dispatchtest.Produce())
	want := []byte{0x0a, 0x0b, 0x0c, 0x0d,
		0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4} // code, one row
	versions := []int16{5, 6, 127, -1, -1 << 15, 1<<15 - 1}
	for _, version := range versions {
		for _, rest := range [][]byte{nil, {0}, {0xff, 0xff, 0xff}} {
			got, err := b.ask(raw(18, version, rest...))
			require.NoError(t, err)
			require.Equal(t, want, got, "v%d", version)
		}
		failed := b.fails(raw(12, version), UnsupportedVersion, ErrUnsupportedVersion)
		require.Equal(t, "me", failed.ClientID)
		require.EqualError(t, failed, fmt.Sprintf("Heartbeat (key 12) v%d: "+
			"the version is outside the served range, 0 to 4", version))
	}
	require.Equal(t, float64(3*len(versions)), b.metric("unsupported_version_requests_total{ApiVersions}"))
	require.Equal(t, float64(len(versions)), b.metric("unsupported_version_requests_total{Heartbeat}"))
	// Advertised, but not served.
	for version := range int16(3) {
		b.fails(raw(0, version), UnsupportedVersion, ErrUnsupportedVersion)
	}
}

// A key that is not served closes, its body unread.
func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.Heartbeat(nil))
	for i, key := range []int16{17, 36, 24, -1, 1<<15 - 1} {
		failed := b.fails(raw(key, 0), UnknownKey, ErrUnknownKey)
		require.Equal(t, key, failed.Key)
		require.Equal(t, float64(i+1), b.metric("unknown_key_requests_total"))
	}
}

func TestBadHeaders(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.Heartbeat(nil), dispatchtest.ApiVersions())
	for _, p := range [][]byte{
		nil, {0, 12}, raw(12, 0)[:9],
		append(raw(12, 0)[:8], 0x7f, 0xff, 'x'),  // the client id runs out
		append(raw(18, 99)[:8], 0x7f, 0xff, 'x'), // at an unsupported version, too
		raw(12, 4),                               // no tag section
	} {
		b.fails(p, BadHeader, wire.ErrHeader)
	}
}

// A body that does not decode meets the key's policy; bytes after the last
// field are ignored.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	describe := func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
		return kmsg.NewPtrDescribeGroupsResponse(), nil
	}
	b := open(t, defaults, dispatchtest.Heartbeat(nil), dispatchtest.DescribeGroups(describe))
	invalid := []byte{0x0a, 0x0b, 0x0c, 0x0d, 0, byte(kerr.InvalidRequest.Code)}
	got, err := b.ask(raw(12, 0))
	require.NoError(t, err)
	require.Equal(t, invalid, got)
	got, err = b.ask(raw(12, 4, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)) // a varint without an end
	require.NoError(t, err)
	require.Equal(t, []byte{0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 0, 0, 0, byte(kerr.InvalidRequest.Code), 0}, got)

	failed := b.fails(raw(15, 0, 0xff, 0xff, 0xff, 0xff), BadRequest, guard.ErrMalformed) // a null where none may be
	require.Contains(t, failed.Error(), "DescribeGroups (key 15) v0: bad request: malformed")
	require.Equal(t, 2.0, b.metric("bad_requests_total{Heartbeat}"))
	require.Equal(t, 1.0, b.metric("bad_requests_total{DescribeGroups}"))

	got, err = b.ask(raw(15, 0, 0, 0, 0, 0, 1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, []byte{0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 0}, got)
}

// What a body would decode to is bounded for one request, and charged.
func TestMemory(t *testing.T) {
	t.Parallel()
	var held int64
	var b *bench
	describe := func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
		held = b.lease.Held()
		return kmsg.NewPtrDescribeGroupsResponse(), nil
	}
	b = open(t, Limits{MaxFrame: 1 << 20, RequestMemory: 1000 * 16}, dispatchtest.DescribeGroups(describe))
	budget := guard.NewBudget(20_000, 0, time.Millisecond)
	b.lease = budget.Lease()
	of := func(n int) []byte {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = make([]string, n)
		return payload(req, 0)
	}
	_, err := b.ask(of(1000))
	require.NoError(t, err)
	require.EqualValues(t, 16_000, held)
	b.fails(of(1001), BadRequest, guard.ErrTooCostly)

	// The first answer is not written yet: its lease holds what it took.
	b.lease = budget.Lease()
	b.fails(of(1000), OverBudget, guard.ErrBudget)
}

// What handlers do wrong closes the connection, each for its reason.
func TestHandlerFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var fn func() (*kmsg.HeartbeatResponse, error)
	b := open(t, defaults, dispatchtest.Heartbeat(
		func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			return fn()
		}))
	request := payload(kmsg.NewPtrHeartbeatRequest(), 4)

	fn = func() (*kmsg.HeartbeatResponse, error) { return nil, broken }
	require.Nil(t, b.fails(request, HandlerFailed, broken).Stack)
	fn = func() (*kmsg.HeartbeatResponse, error) { return nil, fmt.Errorf("group: %w", guard.ErrBudget) }
	b.fails(request, OverBudget, guard.ErrBudget)
	fn = func() (*kmsg.HeartbeatResponse, error) { return nil, context.Canceled }
	b.fails(request, HandlerFailed, context.Canceled)
	fn = func() (*kmsg.HeartbeatResponse, error) { return nil, &handler.Refusal{Err: broken} }
	require.EqualError(t, b.fails(request, Refused, broken), "Heartbeat (key 12) v4: "+broken.Error())

	fn = func() (*kmsg.HeartbeatResponse, error) { panic("at the disco") }
	failed := b.fails(request, Panicked, ErrPanic)
	require.Contains(t, string(failed.Stack), "TestHandlerFailures")
	require.EqualError(t, failed, "Heartbeat (key 12) v4: panic: at the disco")
	require.Equal(t, 1.0, b.metric("handler_panics_total"))
	require.Equal(t, 0.0, b.metric("requests_in_flight"))

	fn = func() (*kmsg.HeartbeatResponse, error) { return kmsg.NewPtrHeartbeatResponse(), nil }
	_, err := b.ask(request)
	require.NoError(t, err, "the dispatcher goes on")
}

// A wrapper can break what the types of New hold: an answer of another key is
// not sent.
func TestWrongResponse(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, wrong{dispatchtest.Heartbeat(nil)})
	b.fails(payload(kmsg.NewPtrHeartbeatRequest(), 0), HandlerFailed, errWrongResponse)
}

type wrong struct{ handler.Handler }

func (wrong) Handle(context.Context, handler.Call, kmsg.Request) (kmsg.Response, error) {
	return kmsg.NewPtrListGroupsResponse(), nil
}

// Silence is no answer and no error.
func TestSilence(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.Produce())
	req := kmsg.NewPtrProduceRequest()
	req.Acks = 0
	got, err := b.ask(payload(req, 7))
	require.NoError(t, err)
	require.Nil(t, got)
}

// An answer of exactly the limit is sent, one byte more closes.
func TestAnswerSize(t *testing.T) {
	t.Parallel()
	const limit = 50_000
	var records []byte
	b := open(t, Limits{MaxFrame: limit, RequestMemory: 1 << 20}, dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil }))
	request := payload(kmsg.NewPtrFetchRequest(), 11)
	got, err := b.ask(request)
	require.NoError(t, err)
	records = make([]byte, limit-len(got))
	got, err = b.ask(request)
	require.NoError(t, err)
	require.Len(t, got, limit)
	records = append(records, 0)
	failed := b.fails(request, AnswerTooLarge, ErrAnswerTooLarge)
	require.True(t, strings.HasSuffix(failed.Error(), "answer above max_frame_size: 50001 bytes, 50000 allowed"))
}

// The registry refuses a second dispatcher: its metrics have a name.
func TestMetricsTwice(t *testing.T) {
	t.Parallel()
	table, err := NewTable(nil, nil)
	require.NoError(t, err)
	reg := prometheus.NewRegistry()
	_, err = New(table, defaults, reg)
	require.NoError(t, err)
	_, err = New(table, defaults, reg)
	require.ErrorContains(t, err, "metrics of the dispatcher: duplicate")
	_, err = New(table, defaults, nil)
	require.NoError(t, err)
}

// FuzzDispatch: whatever the payload, there is an answer or an *Error, and what
// is answered is well formed.
func FuzzDispatch(f *testing.F) {
	describe := func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
		return kmsg.NewPtrDescribeGroupsResponse(), nil
	}
	records := func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return nil, nil }
	b := open(f, Limits{MaxFrame: 1 << 20, RequestMemory: 1 << 20}, dispatchtest.ApiVersions(), dispatchtest.Heartbeat(nil),
		dispatchtest.DescribeGroups(describe), dispatchtest.Produce(), dispatchtest.Fetch(records))
	for _, s := range b.Dispatcher.routes {
		for v := s.spec.Min; v <= s.spec.Max; v++ {
			f.Add(payload(s.NewRequest(), v))
		}
	}
	f.Add(raw(18, 127))
	f.Fuzz(func(t *testing.T, p []byte) {
		var from Caller
		var lease guard.Lease
		out, err := b.Dispatch(context.Background(), &from, p, &lease, &b.pool)
		var failed *Error
		switch {
		case err != nil:
			require.ErrorAs(t, err, &failed)
			require.NotEqual(t, Panicked, failed.Reason)
		case out != nil:
			require.Equal(t, p[4:8], whole(t, out)[4:8], "correlation id")
		}
	})
}

// Buffers that a handler borrows are charged twice, hold until the answer is released,
// and are taken back however the call ends, whether the answer has a copy of them or not.
func TestBuffers(t *testing.T) {
	t.Parallel()
	var fault error
	const size = 100 << 10
	fetch := dispatchtest.Fetch(func(ctx context.Context, call handler.Call, _ *kmsg.FetchRequest) ([]byte, error) {
		lent, err := call.Buffer(ctx, size)
		require.NoError(t, err)
		require.Len(t, lent, size)
		copy(lent, "records")
		return lent, fault
	})
	for _, fetch := range []handler.Handler{fetch, using(fetch, func(s *handler.Spec) { s.Parts = nil })} {
		b := open(t, defaults, fetch)
		b.lease = guard.NewBudget(1<<20, 0, time.Second).Lease()
		for range 3 {
			answer, err := b.Dispatch(t.Context(), &b.from, payload(kmsg.NewPtrFetchRequest(), 4), &b.lease, &b.pool)
			require.NoError(t, err)
			require.EqualValues(t, 2*size, b.lease.Held())
			require.Len(t, b.from.memory.lent, 1)
			require.Contains(t, string(whole(t, answer)), "records")
			require.Empty(t, b.from.memory.lent)
			b.lease.Release()
		}
		fault = errors.New("failed with a buffer in hand")
		_, err := b.ask(payload(kmsg.NewPtrFetchRequest(), 4))
		require.ErrorIs(t, err, fault)
		require.Empty(t, b.from.memory.lent)
		fault = nil
	}
	small := open(t, Limits{MaxFrame: size, RequestMemory: 1 << 20}, fetch)
	small.fails(payload(kmsg.NewPtrFetchRequest(), 4), AnswerTooLarge, ErrAnswerTooLarge)
	require.Empty(t, small.from.memory.lent)
}
