// Package admin is the gateway's second listener, for the people who run it:
// metrics, health, profiles, and pages to look at. It speaks HTTP, is bound to
// the loopback interface by default, and never shares a port with Kafka clients.
//
// What it serves are plugins: a module provides an [Out], and the listener serves
// its route.
//
// # What a route may rely on
//
// Only GET and HEAD arrive, and with a listener on the loopback interface only
// requests whose Host header names it, so that no page of another site can read
// along by DNS rebinding. Responses carry strict security headers, which a
// handler may set anew. A handler is called after what its module depends on has
// started, and has returned before that is stopped: the request's context ends
// then. A panic is logged, and answered with 500.
package admin

import (
	"net/http"

	"go.uber.org/fx"
)

// Route is what the listener serves under a pattern of [http.ServeMux], such as
// "GET /metrics". Two routes with one pattern stop the start.
type Route struct {
	Pattern string
	Handler http.Handler
	// Always serves the route also while the gateway starts and stops, when the
	// store and the groups must not be asked. Others get 503 then.
	Always bool
}

// Out is what a module provides to have its route served.
type Out struct {
	fx.Out
	Route Route `group:"gateway.admin"`
}
