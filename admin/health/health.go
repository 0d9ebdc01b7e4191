// Package health answers the questions of those who start and stop gateways:
// /livez, whether the process works, and /readyz, whether it serves clients.
package health

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/server"
)

// patience bounds what one part may take to say how it is.
const patience = 2 * time.Second

// Healthier is what a backend or a coordinator may also be, where being there is
// not enough to serve.
type Healthier interface {
	// Healthy returns nil or, in words for people, why the part cannot serve now.
	// It may be called before the start and after the end, and does not block
	// beyond the end of ctx.
	Healthy(ctx context.Context) error
}

// Live answers 200 as long as the process answers anything.
func Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "alive")
	})
}

// Ready answers 200 while clients are served, else 503 and a line for each part
// that does not work.
func Ready(s *server.Server, b backend.Backend, c coordinator.Coordinator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if faults := check(r.Context(), s, b, c); len(faults) > 0 {
			answer(w, http.StatusServiceUnavailable, append([]string{"not ready"}, faults...)...)
			return
		}
		answer(w, http.StatusOK, "ready")
	})
}

// check returns what does not work, a line each.
func check(ctx context.Context, s *server.Server, b backend.Backend, c coordinator.Coordinator) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var faults []string
	note := func(part string, err error) {
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", part, err))
		}
	}
	note("listener", s.Ready())
	note("store", ofStore(ctx, b))
	if h, ok := c.(Healthier); ok {
		note("coordinator", h.Healthy(ctx))
	}
	return faults
}

// ofStore asks a store for what each has ready once it is open.
func ofStore(ctx context.Context, b backend.Backend) error {
	if h, ok := b.(Healthier); ok {
		return h.Healthy(ctx)
	}
	_, err := b.ClusterID(ctx)
	return err
}

func answer(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, strings.Join(lines, "\n"))
}
