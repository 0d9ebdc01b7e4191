package health_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// ready asks a gateway whether it is.
func ready(t *testing.T, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url + "/readyz")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// A gateway is not ready while its Iggy server does not answer, and is again when
// it does.
func TestReadyFollowsIggy(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	var url string
	gatewaytest.Start(t, gatewaytest.Admin(&url), gatewaytest.Iggy(server.Address(), "orders"), gatewaytest.Config(func(c *app.Config) {
		c.Iggy.RequestTimeout, c.Iggy.ConnectTimeout = 300*time.Millisecond, 300*time.Millisecond
	}))
	until := func(status int, text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			got, body := ready(t, url)
			return got == status && body == text
		}, time.Minute, 10*time.Millisecond)
	}
	until(http.StatusOK, "ready\n")
	server.Kill()
	until(http.StatusServiceUnavailable, "not ready\nstore: the Iggy server at "+server.Address()+" does not answer\n")
	server.Start()
	until(http.StatusOK, "ready\n")
}

// A gateway that starts or stops says so at /readyz: the admin listener is there
// before the store is opened, and still when it has been closed.
func TestReadyAtStartAndStop(t *testing.T) {
	t.Parallel()
	var during []string
	t.Run("gateway", func(t *testing.T) {
		gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Admin.Listen = "127.0.0.1:0" }),
			// What the store depends on starts before it, and stops after it.
			fx.Decorate(func(lc fx.Lifecycle, l *admin.Listener, c *topicconfig.Catalog) *topicconfig.Catalog {
				look := func() {
					_, body := ready(t, l.URL())
					during = append(during, body)
				}
				lc.Append(fx.StartStopHook(look, look))
				return c
			}))
	})
	require.Equal(t, []string{
		"not ready\nlistener: no connections are accepted yet\nstore: backend unavailable\n",
		"not ready\nlistener: the gateway stops: no connections are accepted any more\nstore: backend unavailable\n",
	}, during)
}
