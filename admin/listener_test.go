package admin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a listener under test and what it logged.
type running struct {
	*admin.Listener
	t    *testing.T
	logs *observer.ObservedLogs
	http *http.Client
}

// start serves routes on an address until the end of the test.
func start(t *testing.T, listen string, routes ...admin.Route) *running {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r := &running{t: t, logs: logs, Listener: admin.New(admin.Config{Listen: listen}, zap.New(core)), http: &http.Client{Transport: &http.Transport{}}}
	require.NoError(t, r.Mount(routes))
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() {
		r.http.CloseIdleConnections()
		require.NoError(t, r.Stop(context.Background()))
	})
	return r
}

// ask sends a request and returns the answer, and its body.
func (r *running) ask(method, host, path string) (*http.Response, string) {
	r.t.Helper()
	_, port, err := net.SplitHostPort(r.Addr().String())
	require.NoError(r.t, err)
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://127.0.0.1:"+port+path, nil)
	require.NoError(r.t, err)
	req.Host = host
	resp, err := r.http.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp, string(body)
}

func (r *running) status(method, host, path string) int {
	r.t.Helper()
	resp, _ := r.ask(method, host, path)
	return resp.StatusCode
}

// page answers with a text.
func page(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func always(pattern string, h http.Handler) admin.Route {
	return admin.Route{Pattern: pattern, Handler: h, Always: true}
}

// On the loopback interface only those names are answered that cannot belong to
// the owner of a web page.
func TestHostNames(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", always("GET /a", page("a")))
	for _, host := range []string{"", "localhost", "localhost:9644", "LOCALHOST", "127.0.0.1", "127.0.0.1:80", "127.8.8.8", "[::1]", "[::1]:9644"} {
		require.Equal(t, http.StatusOK, r.status("GET", host, "/a"), host)
	}
	for _, host := range []string{"evil.example", "evil.example:9644", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "127.0.0.1.evil.example", "[fe80::1]"} {
		require.Equal(t, http.StatusMisdirectedRequest, r.status("GET", host, "/a"), host)
	}
}

// Nothing can be changed, whatever a page's script or a form sends.
func TestOnlyReading(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", always("/a", page("a")))
	require.Equal(t, http.StatusOK, r.status("GET", "", "/a"))
	require.Equal(t, http.StatusOK, r.status("HEAD", "", "/a"))
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GETS"} {
		resp, _ := r.ask(method, "", "/a")
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, method)
		require.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
	}
	require.Equal(t, http.StatusNotFound, r.status("GET", "", "/b"))
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", always("GET /a", page("a")))
	for _, path := range []string{"/a", "/nothing"} {
		resp, _ := r.ask("GET", "", path)
		require.Equal(t, "DENY", resp.Header.Get("X-Frame-Options"))
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"))
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'self'")
		for name := range resp.Header {
			require.False(t, strings.HasPrefix(name, "Access-Control-"), name)
		}
	}
}

// What is not on the loopback interface is reached by names of all kinds, and the
// log says once that nobody is asked who they are.
func TestNotOnLoopback(t *testing.T) {
	t.Parallel()
	r := start(t, "0.0.0.0:0", always("GET /a", page("a")))
	require.Equal(t, http.StatusOK, r.status("GET", "gateway.internal", "/a"))
	warnings := r.logs.FilterLevelExact(zapcore.WarnLevel).All()
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Message, "asks nobody for a password")
}

// A route is served between the start and the stop of what it depends on; the
// stop ends its requests' contexts and waits for them.
func TestRoutesWhileUsable(t *testing.T) {
	t.Parallel()
	inside, ended := make(chan struct{}), make(chan struct{})
	r := start(t, "127.0.0.1:0", always("GET /health", page("h")), admin.Route{Pattern: "GET /page", Handler: page("p")},
		admin.Route{Pattern: "GET /stream", Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			close(inside)
			<-req.Context().Done()
			close(ended)
		})})
	require.Equal(t, http.StatusOK, r.status("GET", "", "/health"))
	resp, body := r.ask("GET", "", "/page")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	require.Contains(t, body, "/readyz")

	r.Usable()
	require.Equal(t, http.StatusOK, r.status("GET", "", "/page"))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r.ask("GET", "", "/stream")
	}()
	<-inside
	require.NoError(t, r.Unusable(t.Context()))
	select {
	case <-ended:
	default:
		require.Fail(t, "the request is still inside")
	}
	<-answered
	require.Equal(t, http.StatusServiceUnavailable, r.status("GET", "", "/page"))
	require.Equal(t, http.StatusOK, r.status("GET", "", "/health"))
	require.NoError(t, r.Unusable(t.Context()), "a second time does nothing")
}

// A request that has no end does not hold up the end of the gateway.
func TestStopEndsRequests(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{})
	r := start(t, "127.0.0.1:0", always("GET /stream", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		close(inside)
		<-req.Context().Done()
	})))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r.ask("GET", "", "/stream")
	}()
	<-inside
	require.NoError(t, r.Stop(t.Context()))
	<-answered
}

func TestPanicsAreAnswered(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", always("GET /a", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no such row") })))
	resp, body := r.ask("GET", "", "/a")
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	require.NotContains(t, body, "row", "what broke is for the log")
	lines := r.logs.FilterMessage("a page of the admin listener panicked").All()
	require.Len(t, lines, 1)
	require.Equal(t, "no such row", lines[0].ContextMap()["panic"])
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", always("GET /a", page("a")))
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.URL()+"/a", nil)
	require.NoError(t, err)
	req.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	resp, err := r.http.Do(req)
	if err == nil { // the server may close before all has been sent
		defer resp.Body.Close()
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
	}
}

// There are at most 128 connections, and whoever holds them all keeps nobody out:
// the one that is idle for longest goes, or that with the oldest request.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"that say nothing":       "",
		"that begin a request":   "GET /a HTTP/1.1\r\nX:",
		"that are idle":          "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"whose answer is waited": "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var open atomic.Int64
			r := start(t, "127.0.0.1:0", always("GET /a", page("a")), always("GET /slow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				open.Add(1)
				<-r.Context().Done()
				open.Add(-1)
			})))
			var ended atomic.Int64
			for range 300 {
				c, err := net.Dial("tcp", r.Addr().String())
				require.NoError(t, err)
				_, err = c.Write([]byte(request))
				require.NoError(t, err)
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = io.Copy(io.Discard, c)
					ended.Add(1)
				}()
				t.Cleanup(func() { c.Close(); <-done })
			}
			require.Equal(t, http.StatusOK, r.status("GET", "", "/a"))
			require.Eventually(t, func() bool { return ended.Load() >= 300-127 && open.Load() <= 128 }, 10*time.Second, 10*time.Millisecond)
			require.LessOrEqual(t, ended.Load(), int64(300-126), "more than had to")
		})
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	first := start(t, "127.0.0.1:0")
	second := admin.New(admin.Config{Listen: first.Addr().String()}, zap.NewNop())
	err := second.Start(t.Context())
	require.ErrorContains(t, err, "admin.listen: "+first.Addr().String()+" is in use, maybe by another gateway: set admin.listen to another port")
	require.Nil(t, second.Addr())
	require.NoError(t, second.Stop(t.Context()))
}

func TestNoListener(t *testing.T) {
	t.Parallel()
	l := admin.New(admin.Config{}, zap.NewNop())
	require.NoError(t, l.Start(t.Context()))
	require.Nil(t, l.Addr())
	require.Empty(t, l.URL())
	require.NoError(t, l.Stop(t.Context()))
}

// red and blue serve the same.
func red(http.ResponseWriter, *http.Request)  {}
func blue(http.ResponseWriter, *http.Request) {}

// All that is wrong with the routes is told at once, with what serves them.
func TestRoutesThatDoNotFit(t *testing.T) {
	t.Parallel()
	err := admin.New(admin.Config{}, zap.NewNop()).Mount([]admin.Route{
		{Pattern: "GET /x", Handler: http.HandlerFunc(red)},
		{Pattern: "GET /x", Handler: http.HandlerFunc(blue)},
		{Pattern: "GET /y/{a}/b", Handler: http.HandlerFunc(red)},
		{Pattern: "GET /y/c/{d}", Handler: http.HandlerFunc(red)},
		{Pattern: "no pattern", Handler: http.HandlerFunc(red)},
		{Pattern: "GET /z"},
	})
	const here = "github.com/iggykafka/gateway/admin_test."
	require.ErrorContains(t, err, `two routes of the admin listener have the pattern "GET /x": `+here+`blue and `+here+`red`)
	require.ErrorContains(t, err, `"GET /y/c/{d}"`)
	require.ErrorContains(t, err, `"GET /y/{a}/b"`)
	require.ErrorContains(t, err, `the route "no pattern" of the admin listener (`+here+`red)`)
	require.ErrorContains(t, err, `the route "GET /z" of the admin listener has no handler`)
}

// In a graph, the listener starts before what routes depend on, and stops after
// it; the routes are served in between.
func TestModule(t *testing.T) {
	t.Parallel()
	type store struct{}
	var l *admin.Listener
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	get := func(path string) int {
		resp, err := client.Get(l.URL() + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	var seen []int
	app := fxtest.New(t, fx.NopLogger, fx.Supply(admin.Config{Listen: "127.0.0.1:0"}, zap.NewNop()), admin.Module,
		fx.Provide(
			func(lc fx.Lifecycle) *store {
				look := func() { seen = append(seen, get("/always"), get("/page")) }
				lc.Append(fx.StartStopHook(look, look))
				return &store{}
			},
			func(*store) admin.Out { return admin.Out{Route: admin.Route{Pattern: "GET /page", Handler: page("p")}} },
			func() admin.Out { return admin.Out{Route: always("GET /always", page("p"))} },
		), fx.Populate(&l))
	app.RequireStart()
	seen = append(seen, get("/always"), get("/page"))
	app.RequireStop()
	require.Equal(t, []int{200, 503, 200, 200, 200, 503}, seen)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, admin.DefaultConfig().Validate())
	require.NoError(t, admin.Config{}.Validate())
	for _, bad := range []string{"localhost", "9644", "127.0.0.1:kafka", "127.0.0.1:65536", ":-1"} {
		require.ErrorContains(t, admin.Config{Listen: bad}.Validate(), "admin.listen: ", bad)
	}
}
