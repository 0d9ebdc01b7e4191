package profiles_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// Profiles are served where the operator asks for them, and nowhere else.
func TestProfiles(t *testing.T) {
	t.Parallel()
	var on, off string
	gatewaytest.Start(t, gatewaytest.Admin(&off))
	gatewaytest.Start(t, gatewaytest.Admin(&on), gatewaytest.Config(func(c *app.Config) { c.Admin.Pprof = true }))
	for _, path := range []string{"", "cmdline", "profile?seconds=1", "symbol", "trace?seconds=0.1", "heap", "goroutine?debug=1"} {
		status, text := get(t, off+"/debug/pprof/"+path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.Contains(t, text, "admin.pprof", path)
		status, text = get(t, on+"/debug/pprof/"+path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, text)
	}
}

// The other routes of a whole gateway.
func TestHealth(t *testing.T) {
	t.Parallel()
	var url string
	gatewaytest.Start(t, gatewaytest.Admin(&url))
	for path, want := range map[string]string{"/livez": "alive\n", "/readyz": "ready\n"} {
		status, text := get(t, url+path)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, want, text)
	}
}
