package aclstest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
)

// Scenarios runs the files of testdata over a handler of a list, with [Commands].
func Scenarios(t *testing.T, of func(security.ACLs) handler.Handler) {
	t.Helper()
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		l := Open(t)
		return handlertest.Env{Handler: of(l), Commands: Commands(l)}
	})
}

// Result is what a handler answers about one of the things that it was asked for.
type Result struct {
	Code    int16
	Message *string
}

// Errors puts a request for two things, at every version, to a handler without a list, and
// of lists that fail. The answer must decode in the layout of its version; results returns
// what it says of each.
func Errors(t *testing.T, of func(security.ACLs) handler.Handler, request func(version int16) kmsg.Request, results func(kmsg.Response) []Result) {
	t.Helper()
	for _, c := range []struct {
		acls security.ACLs
		want Result
	}{
		{nil, Result{54, kmsg.StringPtr("No Authorizer is configured.")}},
		{Failing{Err: backend.ErrUnavailable}, Result{41, nil}},
		{Failing{Err: security.Refuse(kerr.PolicyViolation, "full")}, Result{44, kmsg.StringPtr("full")}},
		{Failing{Err: security.Refuse(kerr.InvalidRequest, "no")}, Result{42, kmsg.StringPtr("no")}},
	} {
		h := of(c.acls)
		for v := h.Spec().Min; v <= h.Spec().Max; v++ {
			resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, request(v))
			require.NoErrorf(t, err, "v%d", v)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoErrorf(t, err, "v%d", v)
			require.Equalf(t, []Result{c.want, c.want}, results(back), "v%d", v)
		}
	}
}
