package console_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
)

const script = `<script>window.owned=1</script>`

// hostile are names that a client can give a group.
var hostile = []string{
	script, `"><img src=x onerror="window.owned=1">`, `' onmouseover='window.owned=1`, `javascript:window.owned=1`,
	`{{.Name}}`, "../../metrics", "..", ".", "a//b", "a?b#c&d=e%2f", "\u202egnp.exe", "tab\tnew\nline\x00", "\xff\xfe not UTF-8",
	strings.Repeat("long", 200), strings.Repeat("ü", 16_000), "", "😀 group",
}

func hostileLinks() (paths []string) {
	for _, name := range hostile {
		if len(url.QueryEscape(name)) <= 8<<10 {
			paths = append(paths, "/console/group?name="+url.QueryEscape(name))
		}
	}
	return paths
}

// hostileSources are groups that were made to harm who looks at them.
func hostileSources(t testing.TB) console.Sources {
	s := demoSources(t)
	store := demoData(t)
	s.Store = store
	clear(store.commits)
	var described []coordinator.Description
	for i, name := range hostile {
		store.commit(name, "payments", name, func(i int64) int64 { return i }, demoNow)
		instance := script
		d := coordinator.Description{Group: name, State: coordinator.Stable, ProtocolType: "consumer", Protocol: script}
		d.Members = []coordinator.MemberDescription{
			{MemberID: script + name, InstanceID: &instance, ClientID: name, ClientHost: script, Metadata: subscribe(script, name), Assignment: assign(script, 1, 2, 5)},
			{MemberID: name, ClientID: script, Metadata: []byte(script), Assignment: []byte(script)},
			{MemberID: "counts", Assignment: []byte{0, 0, 0x7f, 0xff, 0xff, 0xff}},
		}
		if i%2 == 1 {
			d.ProtocolType = script
		}
		described = append(described, d)
	}
	s.Groups = groupsOf(described, func(string) []coordinator.Rebalance {
		return []coordinator.Rebalance{{Began: demoNow, Completed: demoNow, Generation: 1, Protocol: script, Reason: script}}
	})
	return s
}

func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	s := hostileSources(t)
	list := html.UnescapeString(get(t, s, "/console/groups").Body.String())
	for _, path := range append(hostileLinks(), "/console/groups", "/console/groups?name="+url.QueryEscape(script),
		"/console/groups?state="+url.QueryEscape(script), "/console/topics?name="+url.QueryEscape(script),
		"/console/topic?name="+url.QueryEscape(script), "/console/"+url.PathEscape(script)) {
		answer := get(t, s, path)
		body := answer.Body.String()
		require.NotContains(t, body, "<script>window", path)
		require.NotContains(t, body, "<img", path)
		require.NotContains(t, body, "\u202e", path)
		require.NotContains(t, body, "\x00", path)
		require.Less(t, len(body), 1<<20, path)
	}
	for _, path := range hostileLinks() {
		require.True(t, strings.Contains(list, `href="`+path+`"`), "no link to %s", path)
		require.Equal(t, http.StatusOK, get(t, s, path).Code, path)
	}
	require.Contains(t, get(t, s, "/console/group?name="+url.QueryEscape("\u202egnp.exe")).Body.String(), `\u202egnp.exe`)
	require.Contains(t, get(t, s, "/console/group?name="+url.QueryEscape("\xff\xfe not UTF-8")).Body.String(), `\xff\xfe not UTF-8`)
}

func TestAssignmentsAreDecoded(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	require.Contains(t, get(t, s, "/console/group?name=billing").Body.String(), `<span class="number">0–3</span>`)
	hostile := get(t, hostileSources(t), "/console/group?name=..").Body.String()
	require.Contains(t, hostile, "6 bytes: 00 00 7f ff ff ff")
}

// stuck never answers before its caller gives up.
type stuck struct{ console.Store }

func (stuck) AllTopics(ctx context.Context) ([]backend.Topic, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	s.Store = stuck{s.Store}
	began := time.Now()
	answer := get(t, s, "/console/topics")
	require.Equal(t, http.StatusGatewayTimeout, answer.Code)
	require.Contains(t, answer.Body.String(), "No answer in time")
	require.Less(t, time.Since(began), 30*time.Second)
}

// counting is stuck, and counts how many ask.
type counting struct {
	console.Store
	asking, most atomic.Int64
}

func (c *counting) AllTopics(ctx context.Context) ([]backend.Topic, error) {
	n := c.asking.Add(1)
	defer c.asking.Add(-1)
	c.most.Store(max(c.most.Load(), n))
	<-ctx.Done()
	return nil, ctx.Err()
}

// Many windows that wait for a store do not ask it all at once, and keep nobody
// from the pages that need none.
func TestManyWindows(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	store := &counting{Store: s.Store}
	s.Store = store
	pages, err := console.New(s)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var windows sync.WaitGroup
	for range 20 {
		windows.Go(func() {
			pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/console/topics", nil))
		})
	}
	require.Eventually(t, func() bool { return store.asking.Load() == 4 }, 30*time.Second, time.Millisecond)
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/console/live", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	cancel()
	windows.Wait()
	require.EqualValues(t, 4, store.most.Load())
}
