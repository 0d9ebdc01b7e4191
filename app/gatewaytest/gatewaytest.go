// Package gatewaytest starts whole gateways for tests: the real server, all
// handlers, the store in memory, on a free port of 127.0.0.1.
//
//	addr := gatewaytest.Start(t)
//	addr := gatewaytest.Start(t, gatewaytest.Coordinator(&coordinatortest.Fake{...}))
//	addr := gatewaytest.Start(t, gatewaytest.Iggy("127.0.0.1:8090", "orders"))
//	addr := gatewaytest.Start(t, mykey.Module, gatewaytest.Config(func(c *app.Config) { c.NodeID = 7 }))
//
// Groups do not wait for more members before their first generation, so tests
// are fast; a Config brings the delay back. What the gateway logs at warn or
// above goes to the test's log.
package gatewaytest

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/server"
)

// patience bounds start and stop: far more than either ever takes.
const patience = time.Minute

// Option is what Start takes, for packages that pass options on.
type Option = fx.Option

// Start runs a gateway until the end of the test and returns the address of its
// first listener. The
// options are modules to add, and those of this package. A gateway that does
// not start or stop in order fails the test.
func Start(t testing.TB, opts ...fx.Option) (addr string) {
	t.Helper()
	s := setup{config: app.DefaultConfig(), plugins: gateway.Plugins()}
	s.config.Server.Listen = "127.0.0.1:0"
	s.config.Admin.Listen = ""
	s.config.Storage.Backend = "memory"
	s.config.Groups.InitialRebalanceDelay = 0
	for _, opt := range opts {
		if own, ok := opt.(option); ok {
			own.change(&s)
		} else {
			s.modules = append(s.modules, opt)
		}
	}
	var srv *server.Server
	var second struct {
		fx.In
		Admin *admin.Listener `optional:"true"`
	}
	gw := fx.New(
		app.Options(s.config, zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))),
		s.plugins,
		fx.Options(s.modules...),
		fx.Populate(&srv, &second),
	)
	if err := gw.Err(); err != nil {
		t.Fatalf("gatewaytest: the gateway does not fit together: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := gw.Start(ctx); err != nil {
		t.Fatalf("gatewaytest: start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := gw.Stop(ctx); err != nil {
			t.Errorf("gatewaytest: stop: %v", err)
		}
	})
	if s.adminTo != nil {
		if second.Admin == nil {
			t.Fatalf("gatewaytest: the gateway is composed without gateway.Admin()")
		}
		*s.adminTo = second.Admin.URL()
	}
	for _, to := range s.listenersTo {
		for _, b := range srv.Bound() {
			if b.Name == to.name {
				*to.addr = b.Addr.String()
			}
		}
	}
	return srv.Addr().String()
}

// Config changes the configuration before the gateway starts. Several changes
// happen in order.
func Config(change func(*app.Config)) fx.Option {
	return newOption(func(s *setup) { change(&s.config) })
}

// Iggy has the gateway keep everything in the Iggy server at an address: topics
// in the stream, and its own state in one beside it, stream-gateway, so that
// gateways with different streams may share a server. It logs in as the user of
// the servers of iggytest, and takes a server that is busy for a minute for no
// silent one; a Config after it brings other settings.
//
//	gatewaytest.Start(t, gatewaytest.Iggy(iggytest.Real(t).Address(), "orders"))
func Iggy(address, stream string) fx.Option {
	return Config(func(c *app.Config) {
		c.Storage.Backend = string(chosen.Iggy)
		c.Iggy.Username, c.Iggy.Password = iggytest.Username, iggytest.Password
		c.Iggy.Address, c.Iggy.Stream, c.Iggy.InternalStream = address, stream, stream+"-gateway"
		c.Iggy.RequestTimeout = patience
	})
}

// Plugins composes the gateway from the given modules instead of
// gateway.Plugins().
func Plugins(modules ...fx.Option) fx.Option {
	return newOption(func(s *setup) { s.plugins = fx.Options(modules...) })
}

// Coordinator puts c in the place of the gateway's own coordinator.
func Coordinator(c coordinator.Coordinator) fx.Option {
	return Plugins(gateway.Admin(), gateway.Core(), gateway.Handlers(), coordinatortest.Module(c), gateway.Backend())
}

// Admin starts the admin listener, too, which gateways of tests go without
// otherwise, and puts its address into url: "http://127.0.0.1:34567".
//
//	var url string
//	addr := gatewaytest.Start(t, gatewaytest.Admin(&url))
func Admin(url *string) fx.Option {
	return newOption(func(s *setup) { s.config.Admin.Listen, s.adminTo = "127.0.0.1:0", url })
}

// Listener adds a listener, on a free port of 127.0.0.1 unless c names an address, and
// puts its address into addr. The listener of Start goes on to be the one named
// "default"; a Config can take it away.
//
//	var secure string
//	plain := gatewaytest.Start(t, gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &secure))
func Listener(name string, c server.ListenerConfig, addr *string) fx.Option {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	return newOption(func(s *setup) {
		listeners := maps.Clone(s.config.Server.Listeners)
		if listeners == nil {
			listeners = map[string]server.ListenerConfig{}
		}
		listeners[name] = c
		s.config.Server.Listeners = listeners
		s.listenersTo = append(s.listenersTo, namedAddr{name, addr})
	})
}

// setup is what Start builds a gateway from.
type setup struct {
	config  app.Config
	plugins fx.Option
	modules []fx.Option
	adminTo *string
	// listenersTo is where the addresses of named listeners go.
	listenersTo []namedAddr
}

type namedAddr struct {
	name string
	addr *string
}

// option is an fx.Option for the type's sake only: Start reads it before fx
// sees anything.
type option struct {
	fx.Option
	change func(*setup)
}

// newOption returns an option that fx refuses, should it ever get there: inside
// fx.Options or fx.Module it would be overlooked.
func newOption(change func(*setup)) fx.Option {
	return option{fx.Error(errors.New("options of gatewaytest are passed to Start itself, not inside other options")), change}
}
