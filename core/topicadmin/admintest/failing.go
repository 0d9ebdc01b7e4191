package admintest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

// Codes are what a handler answers when its store fails.
type Codes struct{ Unavailable, OutcomeUnknown, Storage int16 }

// The codes of requests about topics, about the logs of partitions, and about
// where logs lie; see package errcode.
var (
	TopicCodes = Codes{41, 7, 56}
	LogCodes   = Codes{6, 7, 56}
	DiskCodes  = Codes{56, 56, 56}
)

// Failing is FailingWith for requests about topics.
func Failing(t *testing.T, s *Topics, h handler.Handler, request func(version int16) kmsg.Request, codes func(kmsg.Response) []int16) {
	t.Helper()
	FailingWith(t, TopicCodes, s, "", h, request, codes)
}

// FailingWith puts a request to a handler whose store fails in one method, or in
// every one for "", at every version and for every kind of failure. The answer
// must decode in the layout of its version, and codes, which returns the error
// codes of a response, must give at least one, and only the one that the failure
// has.
func FailingWith(t *testing.T, want Codes, s *Topics, method string, h handler.Handler, request func(version int16) kmsg.Request, codes func(kmsg.Response) []int16) {
	t.Helper()
	call := handler.Call{MaxFrame: 1 << 20}
	for _, c := range []struct {
		err  error
		code int16
	}{
		{backend.ErrUnavailable, want.Unavailable},
		{backend.ErrOutcomeUnknown, want.OutcomeUnknown},
		{context.DeadlineExceeded, want.OutcomeUnknown},
		{backend.ErrStorage, want.Storage},
		{errors.New("nobody foresaw this"), -1},
	} {
		err := fmt.Errorf("topic t: %w", c.err)
		s.Before = func(called string) error {
			if method == "" || method == called {
				return err
			}
			return nil
		}
		for v := h.Spec().Min; v <= h.Spec().Max; v++ {
			req := request(v)
			req.SetVersion(v)
			resp, err := h.Handle(context.Background(), call, req)
			require.NoErrorf(t, err, "v%d", v)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoErrorf(t, err, "v%d: %v", v, c.err)
			got := codes(back)
			require.NotEmptyf(t, got, "v%d", v)
			for _, code := range got {
				require.Equalf(t, c.code, code, "v%d: %v", v, c.err)
			}
		}
	}
	s.Before = nil
}

// Expired puts a request to a handler whose context has ended. The handler must
// answer REQUEST_TIMED_OUT (7) for each topic and leave the store as it is, which
// has topics a and b.
func Expired(t *testing.T, open func(testing.TB) (handler.Handler, *Topics), req kmsg.Request, codes func(kmsg.Response) []int16) {
	t.Helper()
	h, s := openTwo(t, open)
	before := s.String()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req.SetVersion(h.Spec().Max)
	resp, err := h.Handle(ctx, handler.Call{MaxFrame: 1 << 20}, req)
	require.NoError(t, err)
	require.Equal(t, []int16{7, 7}, codes(resp))
	require.Equal(t, before, s.String())
}

// Spent puts a request to a handler that gets no memory. The connection must close, and
// the store, which has topics a and b, must stay as it is.
func Spent(t *testing.T, open func(testing.TB) (handler.Handler, *Topics), req kmsg.Request) {
	t.Helper()
	h, s := openTwo(t, open)
	before := s.String()
	handlertest.Spent(t, h, req)
	require.Equal(t, before, s.String())
}

// openTwo is open with the topics a and b in the store.
func openTwo(t *testing.T, open func(testing.TB) (handler.Handler, *Topics)) (handler.Handler, *Topics) {
	t.Helper()
	h, s := open(t)
	for _, name := range []string{"a", "b"} {
		_, err := s.Create(name, 1, nil)
		require.NoError(t, err)
	}
	return h, s
}
