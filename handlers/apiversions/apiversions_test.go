package apiversions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(cluster.New(s, admintest.Node())), s
}

func TestConform(t *testing.T)  { admintest.Conform(t, open) }
func TestReadme(t *testing.T)   { admintest.Readme(t, open) }
func Fuzz(f *testing.F)         { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T) { admintest.Anything(t, open) }

// apis is a small table: the row of key 0 shows a minimum that is not served.
var apis = []handler.Range{{Key: 0, Min: 0, Max: 13}, {Key: 1, Min: 4, Max: 18}, {Key: 18, Min: 0, Max: 5}}

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := open(t)
		return handlertest.Env{Handler: h, Call: handler.Call{APIs: apis}, Commands: s.Commands()}
	})
}

// A version that is not served gets the version 0 layout with one row, so that
// the client can find a version to try again with.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	resp := h.Spec().Unsupported(handler.Call{APIs: apis})
	require.EqualValues(t, 0, resp.GetVersion())
	require.Equal(t, []byte{
		0, 35, // UNSUPPORTED_VERSION
		0, 0, 0, 1, 0, 18, 0, 0, 0, 5, // one row
	}, resp.AppendTo(nil))
}

// The id of the cluster is asked of the backend until it has answered once.
func TestClusterIDIsKept(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	asked := 0
	s.Before = func(string) error {
		if asked++; asked == 1 {
			return backend.ErrUnavailable
		}
		return nil
	}
	id := "another"
	req := &kmsg.ApiVersionsRequest{Version: 5, ClientSoftwareName: "a", ClientSoftwareVersion: "1", ClusterID: &id, NodeID: 1}
	for _, want := range []int16{0, 129, 129, 129} {
		resp, err := h.Handle(context.Background(), handler.Call{}, req)
		require.NoError(t, err)
		require.Equal(t, want, resp.(*kmsg.ApiVersionsResponse).ErrorCode)
	}
	require.Equal(t, 2, asked)
}

// A login is told of the answers that have no error, which before it may be one.
func TestLoginIsTold(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	login := &sasltest.Login{}
	for _, c := range []struct {
		name string
		told int
	}{{"", 0}, {"a", 1}, {"-", 1}, {"b", 2}} {
		req := &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: c.name, ClientSoftwareVersion: "1"}
		_, err := h.Handle(context.Background(), handler.Call{Login: login}, req)
		require.NoError(t, err)
		require.Equal(t, c.told, login.Told, "after %q", c.name)
	}
}
