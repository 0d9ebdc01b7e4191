package metrics

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
)

// Lags are in the page in every format, once, whether it is the text that was
// written with the look or encoded for the scrape; an answer that is no page has none.
func TestLagsInEveryFormat(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.commit("g", 3)
	r := prometheus.NewRegistry()
	s := opened(f, Config{LagSeriesMax: 10, LagInterval: time.Hour})
	r.MustRegister(s)
	h := handler(r, s)
	shown := func(accept string) []*dto.Metric {
		req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		req.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		require.Equal(t, http.StatusOK, w.Code)
		var lags []*dto.Metric
		for d := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header())); ; {
			var family dto.MetricFamily
			err := d.Decode(&family)
			if errors.Is(err, io.EOF) {
				return lags
			}
			require.NoError(t, err)
			if family.GetName() == "kafka_gateway_consumer_lag_records" {
				lags = append(lags, family.Metric...)
			}
		}
	}
	text := shown("")
	require.Len(t, text, 1)
	for _, accept := range []string{
		"text/plain;version=0.0.4", string(expfmt.NewFormat(expfmt.TypeProtoDelim)),
		"application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1",
	} {
		other := shown(accept)
		require.Len(t, other, 1, accept)
		require.Equal(t, text[0].String(), other[0].String(), accept)
	}
	refused := withLags{store: s, text: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) })}
	w := httptest.NewRecorder()
	refused.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "busy\n", w.Body.String())
}

// Who asks for metrics and does not read them gives up its place: the answer
// ends, however much of it is left.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	server := httptest.NewServer(timely(50*time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for page := make([]byte, 1<<20); ; {
			if _, err := w.Write(page); err != nil {
				ended <- err
				return
			}
		}
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: gateway\r\n\r\n")
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
}
