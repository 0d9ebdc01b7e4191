// Package admin is the gateway's second listener, for the people who run it:
// metrics, health, profiles, and pages to look at. It speaks HTTP, is bound to
// the loopback interface by default, and never shares a port with Kafka clients.
//
// What it serves are plugins: a module provides an [Out], and the listener serves
// its route.
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
}

// Out is what a module provides to have its route served.
type Out struct {
	fx.Out
	Route Route `group:"gateway.admin"`
}
