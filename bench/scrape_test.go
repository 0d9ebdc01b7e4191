package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

// One address is compared with itself, with and without its metrics being read.
func TestScrape(t *testing.T) {
	var scrapes atomic.Int64
	metrics := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { scrapes.Add(1) }))
	defer metrics.Close()
	out := filepath.Join(t.TempDir(), "out.json")
	addr := gatewaytest.Start(t)
	require.NoError(t, run(t.Context(), []string{
		"-only", "latency", "-rate", "100", "-duration", "2500ms", "-json", out, "-scrape", metrics.URL, addr,
	}))
	require.GreaterOrEqual(t, scrapes.Load(), int64(3), "one look whether the URL works, and one a second")
	raw, err := os.ReadFile(out)
	require.NoError(t, err)
	var rows []row
	require.NoError(t, json.Unmarshal(raw, &rows))
	require.NotNil(t, rows[0].Ratio)

	require.ErrorContains(t, run(t.Context(), []string{"-scrape", metrics.URL, addr, addr}), "compares one address with itself")
	metrics.Config.Handler = http.NotFoundHandler()
	require.ErrorContains(t, run(t.Context(), []string{"-scrape", metrics.URL, addr}), "404")
}
