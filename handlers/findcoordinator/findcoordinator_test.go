package findcoordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/findcoordinator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open() handler.Handler { return findcoordinator.New(&settings.Node{ID: 1}) }

// call is a request that came to gateway.example:9092.
func call() handler.Call {
	return handler.Call{Listener: handler.Listener{Host: "gateway.example", Port: 9092}}
}

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, open(), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, open()) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: open(), Call: call()}
	})
}

// The address is that of the listener which the request came to.
func TestAddressIsTheListeners(t *testing.T) {
	t.Parallel()
	h := findcoordinator.New(&settings.Node{ID: 7})
	second := handler.Call{Listener: handler.Listener{Host: "second", Port: 2}}
	resp, err := h.Handle(t.Context(), second, &kmsg.FindCoordinatorRequest{Version: 3})
	require.NoError(t, err)
	got := resp.(*kmsg.FindCoordinatorResponse)
	require.Equal(t, "second", got.Host)
	require.Equal(t, int32(2), got.Port)
	require.Equal(t, int32(7), got.NodeID)
}

func TestEveryRefusalAtEveryVersion(t *testing.T) {
	t.Parallel()
	h := open()
	for _, tc := range []struct {
		keyType int8
		code    int16
	}{
		{1, kerr.TransactionalIDAuthorizationFailed.Code},
		{2, kerr.InvalidRequest.Code}, {3, kerr.InvalidRequest.Code}, {-1, kerr.InvalidRequest.Code},
	} {
		for v := int16(1); v <= 6; v++ {
			req := &kmsg.FindCoordinatorRequest{Version: v, CoordinatorType: tc.keyType, CoordinatorKeys: []string{"k"}}
			resp, err := h.Handle(t.Context(), handler.Call{}, req)
			require.NoError(t, err)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoError(t, err)
			got := back.(*kmsg.FindCoordinatorResponse)
			if v < 4 {
				require.Equal(t, tc.code, got.ErrorCode, "v%d", v)
				require.Equal(t, int32(-1), got.NodeID)
				require.Equal(t, int32(-1), got.Port)
				require.Empty(t, got.Host)
				require.NotEmpty(t, got.ErrorMessage)
				continue
			}
			require.Zero(t, got.ErrorCode)
			require.Len(t, got.Coordinators, 1)
			entry := got.Coordinators[0]
			require.Equal(t, tc.code, entry.ErrorCode, "v%d", v)
			require.Equal(t, "k", entry.Key)
			require.Equal(t, int32(-1), entry.NodeID)
			require.Equal(t, int32(-1), entry.Port)
			require.Empty(t, entry.Host)
			require.NotEmpty(t, entry.ErrorMessage)
		}
	}
}

// A key of no byte gets an address back, so many of them are paid for first.
func TestManyKeysAreCharged(t *testing.T) {
	t.Parallel()
	h := open()
	req := &kmsg.FindCoordinatorRequest{Version: 4, CoordinatorKeys: make([]string, 10_000)}
	var charged handlertest.Charges
	resp, err := h.Handle(t.Context(), handler.Call{Memory: &charged, Listener: call().Listener}, req)
	require.NoError(t, err)
	require.Len(t, resp.(*kmsg.FindCoordinatorResponse).Coordinators, 10_000)
	resp.SetVersion(4)
	require.Greater(t, charged.Sum(), int64(len(resp.AppendTo(nil))))

	handlertest.Spent(t, h, req)
}
