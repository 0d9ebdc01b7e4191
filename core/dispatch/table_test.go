package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTable(t *testing.T) {
	t.Parallel()
	table, err := NewTable([]handler.Handler{
		dispatchtest.ApiVersions(), dispatchtest.Heartbeat(nil), dispatchtest.Produce(),
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []handler.Range{
		{Key: 0, Min: 0, Max: 11}, // advertised from 0, served from 3
		{Key: 12, Min: 0, Max: 4},
		{Key: 18, Min: 0, Max: 4},
	}, table.APIs())
	var keys []int16
	for _, s := range table.Specs() {
		keys = append(keys, s.Key)
	}
	require.Equal(t, []int16{0, 12, 18}, keys)
	require.Equal(t, int16(3), table.Specs()[0].Min)
}

// A replacement takes the place of the handler of its key, whatever the order.
func TestReplacement(t *testing.T) {
	t.Parallel()
	other := answering(func(*kmsg.HeartbeatRequest) int16 { return 99 })
	table, err := NewTable([]handler.Handler{dispatchtest.Heartbeat(nil), dispatchtest.Produce()}, []handler.Handler{other})
	require.NoError(t, err)
	require.Len(t, table.Specs(), 2)
	require.Equal(t, other.Spec().Origin, table.Specs()[1].Origin)
	resp, err := table.entries[12].Handle(context.Background(), handler.Call{}, kmsg.NewPtrHeartbeatRequest())
	require.NoError(t, err)
	require.Equal(t, int16(99), resp.(*kmsg.HeartbeatResponse).ErrorCode)
}

// A replacement that wraps the handler of its key is named with its own type.
func TestReplacementThatWraps(t *testing.T) {
	t.Parallel()
	type audited struct{ handler.Handler }
	inner := dispatchtest.Heartbeat(nil)
	table, err := NewTable([]handler.Handler{inner}, []handler.Handler{audited{inner}})
	require.NoError(t, err)
	require.Equal(t, "dispatch.audited around "+inner.Spec().Origin, table.Specs()[0].Origin)

	table, err = NewTable([]handler.Handler{inner}, []handler.Handler{dispatchtest.Heartbeat(nil)})
	require.NoError(t, err)
	require.Equal(t, inner.Spec().Origin, table.Specs()[0].Origin)
}

// answering is a Heartbeat handler that answers a code.
func answering(code func(*kmsg.HeartbeatRequest) int16) handler.Handler {
	return dispatchtest.Heartbeat(
		func(_ context.Context, _ handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			r := kmsg.NewPtrHeartbeatResponse()
			r.ErrorCode = code(req)
			return r, nil
		})
}

// changed is a handler whose Spec has been tampered with.
type changed struct {
	handler.Handler
	spec handler.Spec
}

func (c changed) Spec() handler.Spec { return c.spec }

func with(h handler.Handler, change func(*handler.Spec)) handler.Handler {
	c := changed{h, h.Spec()}
	change(&c.spec)
	return c
}

func named(origin string) handler.Handler {
	return with(dispatchtest.Heartbeat(nil), func(s *handler.Spec) { s.Origin = origin })
}

// mute is a handler without requests.
type mute struct{ changed }

func (mute) NewRequest() kmsg.Request { return nil }

// All faults are reported together, sorted, with both functions named.
func TestFaults(t *testing.T) {
	t.Parallel()
	set := func(origin string, change func(*handler.Spec)) handler.Handler {
		return with(named(origin), change)
	}
	foreign := handler.InvalidRequest(func(*kmsg.ListGroupsResponse, int16) {})
	handlers := []handler.Handler{
		nil,
		named("b.Answer"), named("a.Answer"),
		set("turned", func(s *handler.Spec) { s.Key, s.Min, s.Max = 14, 3, 2 }),
		set("beyond", func(s *handler.Spec) { s.Max = 5 }),
		set("policyless", func(s *handler.Spec) { s.BadRequest = handler.Policy{} }),
		set("foreign", func(s *handler.Spec) { s.BadRequest = foreign }),
		set("advertising", func(s *handler.Spec) { s.AdvertisedMin = 1 }),
		mute{changed{named("mute"), func() handler.Spec { s := named("mute").Spec(); s.Key = 13; return s }()}},
		handler.New(0, 4, guard.Shape{}, handler.CloseConnection,
			(func(context.Context, handler.Call, *kmsg.LeaveGroupRequest) (*kmsg.LeaveGroupResponse, error))(nil)),
	}
	replacements := []handler.Handler{named("y.Replace"), named("x.Replace"), nil,
		with(dispatchtest.Produce(), func(s *handler.Spec) { s.Origin = "z.Replace" })}
	want := strings.TrimSpace(`
the handlers do not fit together:
  a handler is nil
  a replacement is nil
  key 0 (Produce): the replacement z.Replace replaces nothing: no handler serves the key
  key 12 (Heartbeat): advertising: advertises versions from 1, serves them from 0
  key 12 (Heartbeat): beyond: serves version 5, the codec knows versions to 4
  key 12 (Heartbeat): foreign: its policy for bad requests answers with the response of another key
  key 12 (Heartbeat): more than one handler: a.Answer and advertising and b.Answer and beyond and foreign and policyless
  key 12 (Heartbeat): more than one replacement: x.Replace and y.Replace
  key 12 (Heartbeat): policyless: no policy for bad requests: choose handler.CloseConnection or handler.InvalidRequest
  key 13 (LeaveGroup): more than one handler: mute and nil function
  key 13 (LeaveGroup): mute: NewRequest returns nil
  key 13 (LeaveGroup): nil function: there is no function to answer with
  key 14 (SyncGroup): turned: its requests have the key 12
  key 14 (SyncGroup): turned: the versions 3 to 2 are not a range`)
	for range 3 {
		_, err := NewTable(handlers, replacements)
		require.EqualError(t, err, want)
		slices.Reverse(handlers)
		slices.Reverse(replacements)
	}
}

// Middleware wraps every handler, the first one outermost.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	var trace []string
	layer := func(name string) Middleware {
		return func(h handler.Handler) handler.Handler {
			return traced{h, func() { trace = append(trace, name) }}
		}
	}
	table, err := NewTable([]handler.Handler{dispatchtest.Heartbeat(nil)}, nil, layer("outer"), layer("inner"))
	require.NoError(t, err)
	_, err = table.entries[12].Handle(context.Background(), handler.Call{}, kmsg.NewPtrHeartbeatRequest())
	require.NoError(t, err)
	require.Equal(t, []string{"outer", "inner"}, trace)
}

// A layer that denies everything closes every connection, and no handler is
// called.
func TestDenyAll(t *testing.T) {
	t.Parallel()
	called := false
	denied := errors.New("denied")
	deny := func(h handler.Handler) handler.Handler { return refusing{h, denied} }
	table, err := NewTable([]handler.Handler{
		answering(func(*kmsg.HeartbeatRequest) int16 { called = true; return 0 }),
		dispatchtest.ApiVersions(), dispatchtest.Produce(),
	}, nil, deny)
	require.NoError(t, err)
	d, err := New(table, defaults, nil)
	require.NoError(t, err)
	b := &bench{Dispatcher: d, t: t}
	for _, r := range d.routes {
		for v := r.spec.Min; v <= r.spec.Max; v++ {
			b.fails(payload(r.NewRequest(), v), HandlerFailed, denied)
		}
	}
	require.False(t, called)
}

type refusing struct {
	handler.Handler
	err error
}

func (h refusing) Handle(context.Context, handler.Call, kmsg.Request) (kmsg.Response, error) {
	return nil, h.err
}

type traced struct {
	handler.Handler
	note func()
}

func (h traced) Handle(ctx context.Context, call handler.Call, req kmsg.Request) (kmsg.Response, error) {
	h.note()
	return h.Handler.Handle(ctx, call, req)
}
