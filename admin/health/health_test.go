package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/core/settings"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

// newServer returns a server that has not been started.
func newServer(t *testing.T) *server.Server {
	t.Helper()
	table, err := dispatch.NewTable(nil, nil)
	require.NoError(t, err)
	d, err := dispatch.New(table, dispatch.Limits{}, nil)
	require.NoError(t, err)
	c := server.DefaultConfig()
	c.Listen = "127.0.0.1:0"
	s, err := server.New(c, d, guard.NewBudget(c.MemoryBudget, 0, 0), &settings.Node{}, zap.NewNop(), nil)
	require.NoError(t, err)
	return s
}

func ask(h http.Handler) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

// open is a store that is open; moody ones say more of their health.
type open struct{ backend.Backend }

func (open) ClusterID(context.Context) (string, error) { return "abc", nil }

type moody struct {
	open
	err error
}

func (m *moody) Healthy(context.Context) error { return m.err }

// loading is a coordinator that has something to read first.
type loading struct{ coordinator.Coordinator }

func (loading) Healthy(context.Context) error { return errors.New("3 of 5 groups are loaded") }

func TestReady(t *testing.T) {
	t.Parallel()
	s, groups := newServer(t), &coordinatortest.Fake{}
	failing := backendtest.Failing(nil, backend.ErrUnavailable)

	code, text := ask(Ready(s, failing, loading{}))
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "not ready\nlistener: no connections are accepted yet\nstore: backend unavailable\n"+
		"coordinator: 3 of 5 groups are loaded\n", text)

	require.NoError(t, s.Start(t.Context()))
	code, text = ask(Ready(s, open{}, groups))
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ready\n", text)

	m := &moody{err: errors.New("the Iggy server at iggy:8090 does not answer")}
	code, text = ask(Ready(s, m, groups))
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "not ready\nstore: the Iggy server at iggy:8090 does not answer\n", text)
	m.err = nil
	code, _ = ask(Ready(s, m, groups))
	require.Equal(t, http.StatusOK, code)

	require.NoError(t, s.Stop(t.Context()))
	code, text = ask(Ready(s, open{}, groups))
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "not ready\nlistener: the gateway stops: no connections are accepted any more\n", text)
}

func TestLive(t *testing.T) {
	t.Parallel()
	code, text := ask(Live())
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "alive\n", text)
}
