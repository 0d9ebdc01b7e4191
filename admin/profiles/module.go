// Package profiles serves the profiles of the Go runtime, where admin.pprof is
// on: /debug/pprof/ and what lies below it, for go tool pprof.
package profiles

import (
	"net/http"
	"net/http/pprof"

	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
)

// Module provides the routes. It asks for an admin.Config.
var Module = fx.Module("profiles", fx.Provide(
	route("GET /debug/pprof/", pprof.Index),
	route("GET /debug/pprof/cmdline", pprof.Cmdline),
	route("GET /debug/pprof/profile", pprof.Profile),
	route("GET /debug/pprof/symbol", pprof.Symbol),
	route("GET /debug/pprof/trace", pprof.Trace),
))

// route serves a profile always: a start or a stop that takes long is what one
// wants to see.
func route(pattern string, serve http.HandlerFunc) func(admin.Config) admin.Out {
	return func(c admin.Config) admin.Out {
		handler := serve // of this gateway: a process may have several
		if !c.Pprof {
			handler = off
		}
		return admin.Out{Route: admin.Route{Pattern: pattern, Handler: handler, Always: true}}
	}
}

// off says why there are none.
func off(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "profiles are served where admin.pprof is true", http.StatusNotFound)
}
