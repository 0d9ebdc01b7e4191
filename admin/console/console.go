// Package console is the pages of the admin listener: topics, groups with their
// members and lag, the requests of the last minutes, listeners and what was
// refused, and the API keys, to look at in a browser. Nothing can be changed here.
//
// Pages are rendered by the server and work without script; a little script
// renews the live page and remembers the colour scheme. Everything comes from the
// binary: no page asks another server for anything.
//
// # Bounds
//
// Names, client ids, metadata and assignments are written by clients, and are
// taken for hostile: html/template escapes them, and characters that cannot be
// seen are shown by their code. A page asks for at most pageTimeout, lists at most
// pageSize rows, and looks at no more than maxBounds partitions and maxLookups
// committed offsets; where that leaves something out, the page says so.
package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Root is the path that all pages lie below.
const Root = "/console/"

const (
	// pageTimeout is how long a page may take to ask the store and the groups.
	pageTimeout = 5 * time.Second
	// pageSize is the number of rows of a table before it goes on on the next page.
	pageSize = 50
	// longPageSize is the same for members and partitions, which are short.
	longPageSize = 100
	// pagesAtOnce is how many pages ask the store together: more wait, so that many
	// windows cost no more than this.
	pagesAtOnce = 4
)

// Store is the part of a [backend.Backend] that is shown.
type Store interface {
	Topic(ctx context.Context, name string) (backend.Topic, error)
	AllTopics(ctx context.Context) ([]backend.Topic, error)
	Bounds(ctx context.Context, p backend.Partition) (backend.Bounds, error)
	FetchOffsets(ctx context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error)
	OffsetGroups(ctx context.Context) ([]string, error)
	Sizes(ctx context.Context, topic uuid.UUID) ([]int64, error)
	LogDir(ctx context.Context) (backend.LogDir, error)
	ClusterID(ctx context.Context) (string, error)
}

// Groups is the part of a [coordinator.Coordinator] that is shown.
type Groups interface {
	coordinator.Describer
	coordinator.Lister
	coordinator.Historian
	coordinator.Counter
}

// Sources is where the pages take from what they show.
type Sources struct {
	Store   Store
	Groups  Groups
	Catalog *topicconfig.Catalog
	Node    *settings.Node
	APIs    []handler.Spec // by key
	Mix     *Mix
	// Security is shown on a page of its own.
	Security Security
	// Version is the gateway's.
	Version string
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Console serves the pages. Make one with [New].
type Console struct {
	Sources
	views *views
	mux   *http.ServeMux
	slots chan struct{}
}

// New returns the pages. They are served under [Root].
func New(s Sources) (*Console, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	v, err := newViews(s.Now)
	if err != nil {
		return nil, err
	}
	c := &Console{Sources: s, views: v, mux: http.NewServeMux(), slots: make(chan struct{}, pagesAtOnce)}
	c.mux.Handle("GET "+Root+"{$}", c.page("overview", c.bounded(c.overview)))
	c.mux.Handle("GET "+Root+"topics", c.page("topics", c.bounded(c.topics)))
	c.mux.Handle("GET "+Root+"topic", c.page("topic", c.bounded(c.topic)))
	c.mux.Handle("GET "+Root+"groups", c.page("groups", c.bounded(c.groups)))
	c.mux.Handle("GET "+Root+"group", c.page("group", c.bounded(c.group)))
	c.mux.Handle("GET "+Root+"live", c.page("live", c.live))
	c.mux.Handle("GET "+Root+"live/part", c.page("live-part", c.live))
	c.mux.Handle("GET "+Root+"security", c.page("security", c.bounded(c.security)))
	c.mux.Handle("GET "+Root+"apis", c.page("apis", c.apis))
	c.mux.Handle("GET "+Root+"assets/{name}", http.HandlerFunc(asset))
	c.mux.Handle("GET "+Root, c.page("", func(context.Context, *http.Request) (any, error) {
		return nil, &missing{"There is no such page."}
	}))
	return c, nil
}

// contentSecurity lets a page have this origin's scripts and styles, in files,
// and nothing else.
const contentSecurity = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves a page or one of its files.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", contentSecurity)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	c.mux.ServeHTTP(w, r)
}

// missing says what is not there.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// builder makes what a view shows.
type builder func(context.Context, *http.Request) (any, error)

// page serves what build makes for a view. A page is complete or an error page:
// it is rendered before its first byte is sent.
func (c *Console) page(view string, build builder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		shown, status := view, http.StatusOK
		data, err := build(ctx, r)
		if err != nil {
			var f failure
			shown = "failure"
			if f, status = explain(err); status == 0 {
				return // the browser has gone away
			}
			f.Again = r.URL.RequestURI()
			data = f
		}
		var body bytes.Buffer
		if err := c.views.render(&body, shown, data); err != nil {
			http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(body.Bytes())
	})
}

// bounded builds pages that ask the store, pagesAtOnce at a time.
func (c *Console) bounded(build builder) builder {
	return func(ctx context.Context, r *http.Request) (any, error) {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
			return build(ctx, r)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// failure is what a page says in place of itself.
type failure struct {
	Title  string
	Text   string
	Detail string
	Again  string // the address that was asked for
}

// explain turns an error into words, and into a status; 0 when nobody is there to
// read them.
func explain(err error) (failure, int) {
	var m *missing
	switch {
	case errors.As(err, &m):
		return failure{Title: "Not found", Text: m.text}, http.StatusNotFound
	case errors.Is(err, backend.ErrUnknownTopic), errors.Is(err, backend.ErrUnknownPartition):
		return failure{Title: "Not found", Text: "There is no such topic; it may have been deleted just now."}, http.StatusNotFound
	case errors.Is(err, context.Canceled):
		return failure{}, 0
	case errors.Is(err, context.DeadlineExceeded):
		return failure{
			Title: "No answer in time", Text: "The store or the groups took longer than " + pageTimeout.String() + " to answer.", Detail: err.Error(),
		}, http.StatusGatewayTimeout
	}
	if errors.Is(err, backend.ErrUnavailable) {
		return failure{
			Title: "The store is away", Text: "The gateway runs, but the store behind it does not answer. Clients get errors meanwhile.", Detail: err.Error(),
		}, http.StatusServiceUnavailable
	}
	return failure{Title: "The page cannot be shown", Text: "What it shows could not be found out.", Detail: err.Error()}, http.StatusInternalServerError
}
