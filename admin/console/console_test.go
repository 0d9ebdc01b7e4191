package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
)

// demoPages are the pages of the demonstration, by the name of their pictures.
var demoPages = []struct{ name, path, heading string }{
	{"overview", "/console/", "Overview"},
	{"topics", "/console/topics", "Topics"},
	{"topic", "/console/topic?name=orders", "orders"},
	{"groups", "/console/groups", "Groups"},
	{"group", "/console/group?name=billing", "billing"},
	{"live", "/console/live", "Requests"},
	{"security", "/console/security", "Security"},
	{"apis", "/console/apis", "API keys"},
}

func TestEveryPageAnswers(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	for _, p := range demoPages {
		answer := get(t, s, p.path)
		require.Equal(t, http.StatusOK, answer.Code, "%s\n%s", p.path, answer.Body)
		require.Contains(t, answer.Body.String(), p.heading)
		require.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
		require.NotContains(t, answer.Header().Get("Content-Security-Policy"), "unsafe")
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	store := demoData(t)
	for i := range 200 {
		store.add(t, fmt.Sprintf("bulk-%03d", i), 1, 10, nil)
	}
	s.Store = store
	first := get(t, s, "/console/topics?name=BULK").Body.String()
	require.Contains(t, first, "200 topics of 255")
	require.Contains(t, first, "1–50 of 200 topics")
	require.Contains(t, first, `href="/console/topics?name=BULK&amp;page=2" rel="next"`)
	require.NotContains(t, first, `rel="prev"`)
	last := get(t, s, "/console/topics?name=bulk&page=99").Body.String()
	require.Contains(t, last, "bulk-199")
	require.NotContains(t, last, `rel="next"`)
	require.Contains(t, get(t, s, "/console/topics?page=-1").Body.String(), "1–50 of")
	require.Contains(t, get(t, s, "/console/topics?name=none-such").Body.String(), "No topic has this in its name.")
}

func TestFilterOfGroups(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	for query, names := range map[string][]string{
		"state=Stable": {"analytics", "billing", "shipping-labels"}, "state=NoMembers": {"nightly-export"},
		"state=PreparingRebalance": {"fraud-model"}, "name=ING": {"billing", "shipping-labels"}, "state=Empty": nil,
	} {
		body := get(t, s, "/console/groups?"+query).Body.String()
		for _, name := range []string{"analytics", "billing", "shipping-labels", "nightly-export", "fraud-model"} {
			require.Equal(t, slices.Contains(names, name), strings.Contains(body, "/console/group?name="+name), "%s: %s", query, name)
		}
	}
}

// A group that only committed is shown with its lag, as one without members.
func TestAGroupThatStopped(t *testing.T) {
	t.Parallel()
	body := get(t, demoSources(t), "/console/group?name=nightly-export").Body.String()
	require.Contains(t, body, "No members")
	require.Contains(t, body, "No member at present.")
	require.Contains(t, body, "379,920") // the lag: twelve times 31,000, and 120 more from one partition to the next
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	for _, path := range []string{"/console/topic?name=none", "/console/topic", "/console/group?name=none", "/console/group", "/console/nothing"} {
		answer := get(t, s, path)
		require.Equal(t, http.StatusNotFound, answer.Code, path)
		require.Contains(t, answer.Body.String(), "Not found", path)
	}
	require.Equal(t, http.StatusNotFound, get(t, s, "/console/assets/..%2fconsole.go").Code)
}

// With the store away pages say so, and the overview shows the rest.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	s.Store = backendtest.Failing(nil, fmt.Errorf("dial tcp <b>: %w", backend.ErrUnavailable))
	for _, path := range []string{"/console/topics", "/console/topic?name=orders", "/console/groups", "/console/group?name=billing"} {
		answer := get(t, s, path)
		require.Equal(t, http.StatusServiceUnavailable, answer.Code, path)
		require.Contains(t, answer.Body.String(), "The store is away", path)
		require.Contains(t, answer.Body.String(), "dial tcp &lt;b&gt;", path)
	}
	overview := get(t, s, "/console/")
	require.Equal(t, http.StatusOK, overview.Code)
	require.Contains(t, overview.Body.String(), "The store does not answer.")
	require.Contains(t, overview.Body.String(), "Fetch")
	for _, path := range []string{"/console/live", "/console/apis"} {
		require.Equal(t, http.StatusOK, get(t, s, path).Code, path)
	}
}

// A topic that is deleted while its page is made costs one row.
func TestATopicGoesMeanwhile(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	store := demoData(t)
	clear(store.bounds)
	s.Store = store
	require.Equal(t, http.StatusOK, get(t, s, "/console/group?name=billing").Code)
	require.Contains(t, get(t, s, "/console/topic?name=orders").Body.String(), "deleted just now")
}

func TestFilesAreNotSentTwice(t *testing.T) {
	t.Parallel()
	pages, err := console.New(demoSources(t))
	require.NoError(t, err)
	for file, kind := range map[string]string{"console.css": "text/css", "console.js": "text/javascript", "theme.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/console/assets/"+file, nil)
		first := httptest.NewRecorder()
		pages.ServeHTTP(first, request)
		require.Equal(t, http.StatusOK, first.Code)
		require.Contains(t, first.Header().Get("Content-Type"), kind)
		request.Header.Set("If-None-Match", first.Header().Get("Etag"))
		second := httptest.NewRecorder()
		pages.ServeHTTP(second, request)
		require.Equal(t, http.StatusNotModified, second.Code)
	}
}

// away is a store that comes back.
type away struct {
	console.Store
	err error
}

func (a *away) AllTopics(ctx context.Context) ([]backend.Topic, error) {
	if a.err != nil {
		return nil, a.err
	}
	return a.Store.AllTopics(ctx)
}

func TestTheStoreComesBack(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	store := &away{s.Store, errors.New("nobody foresaw this")}
	s.Store = store
	pages, err := console.New(s)
	require.NoError(t, err)
	ask := func() *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/console/topics", nil))
		return answer
	}
	answer := ask()
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Contains(t, answer.Body.String(), "nobody foresaw this")
	store.err = nil
	answer = ask()
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, answer.Body.String(), "<h1>Topics</h1>")
}
