package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/admin/internal/gate"
)

const (
	// headerTimeout is how long a request's headers may take, and its whole.
	headerTimeout = 5 * time.Second
	// writeTimeout is how long an answer may take, from the end of the headers
	// on. A handler that needs longer asks http.ResponseController for it.
	writeTimeout = time.Minute
	// idleTimeout closes a connection without requests.
	idleTimeout = time.Minute
	// maxHeader is the most bytes of a request's headers.
	maxHeader = 16 << 10
	// maxConnections is how many there may be; one more takes the place of another.
	// Kafka clients need the files of the process, too.
	maxConnections = 128
	// endGrace is how long requests may take to end when the gateway stops.
	endGrace = 2 * time.Second
)

// Listener serves the routes of all modules on an address of its own.
type Listener struct {
	cfg  Config
	log  *zap.Logger
	mux  *http.ServeMux
	gate gate.Gate

	addr   atomic.Pointer[net.TCPAddr]
	server *http.Server
	end    context.CancelFunc // of all requests
	done   chan struct{}      // closed when nothing is served any more
}

// New returns a listener that serves nothing yet.
func New(cfg Config, log *zap.Logger) *Listener {
	return &Listener{cfg: cfg, log: log.Named("admin"), mux: http.NewServeMux()}
}

// Mount adds the routes; it is called before Start, once. The error names every
// pattern that is there twice, and what serves it.
func (l *Listener) Mount(routes []Route) error {
	slices.SortFunc(routes, func(a, b Route) int { // fx gives them in no order
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(nameOf(a.Handler), nameOf(b.Handler)))
	})
	var errs []error
	for i, r := range routes {
		switch {
		case i > 0 && r.Pattern == routes[i-1].Pattern:
			errs = append(errs, fmt.Errorf("two routes of the admin listener have the pattern %q: %s and %s",
				r.Pattern, nameOf(routes[i-1].Handler), nameOf(r.Handler)))
		case r.Handler == nil:
			errs = append(errs, fmt.Errorf("the route %q of the admin listener has no handler", r.Pattern))
		default:
			errs = append(errs, l.handle(r))
		}
	}
	return errors.Join(errs...)
}

// handle adds one route. What the mux panics with, for a pattern that it cannot
// read or that overlaps with another one, is the error.
func (l *Listener) handle(r Route) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the route %q of the admin listener (%s): %v", r.Pattern, nameOf(r.Handler), p)
		}
	}()
	h := r.Handler
	if !r.Always {
		h = l.whileUsable(h)
	}
	l.mux.Handle(r.Pattern, h)
	return nil
}

// nameOf names a handler for messages: its function, or its type.
func nameOf(h http.Handler) string {
	if v := reflect.ValueOf(h); v.Kind() == reflect.Func {
		return runtime.FuncForPC(v.Pointer()).Name()
	}
	return fmt.Sprintf("%T", h)
}

// Start listens and begins to serve the routes that are served always. With no
// address it does nothing.
func (l *Listener) Start(ctx context.Context) error {
	if l.cfg.Listen == "" {
		return nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.cfg.Listen)
	if err != nil {
		return explain(l.cfg.Listen, err)
	}
	addr := ln.Addr().(*net.TCPAddr)
	base, end := context.WithCancel(context.Background())
	l.end, l.done = end, make(chan struct{})
	l.server = &http.Server{
		Handler:           l.protect(l.mux, addr.IP.IsLoopback()),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         newCrowd(maxConnections).changed,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          l.stdLog(),
	}
	if !addr.IP.IsLoopback() {
		l.log.Warn("the admin listener is not on the loopback interface and asks nobody for a password: "+
			"let a firewall or a network policy decide who reaches it", zap.Stringer("address", addr))
	}
	l.addr.Store(addr)
	l.log.Info("the admin listener takes connections", zap.String("url", l.URL()))
	go func() {
		defer close(l.done)
		if err := l.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("the admin listener has ended", zap.Error(err))
		}
	}()
	return nil
}

// Usable begins to serve the other routes: what they depend on has started.
func (l *Listener) Usable() { l.gate.Open() }

// Unusable ends them, and waits for requests in work.
func (l *Listener) Unusable(ctx context.Context) error { return l.gate.Shut(ctx) }

// Stop ends the listener and its connections.
func (l *Listener) Stop(ctx context.Context) error {
	if l.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endGrace)
	defer cancel()
	l.end()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = l.server.Close() // whoever reads that slowly does not hold up the end
	}
	<-l.done
	return err
}

// Addr returns the address that the listener got; nil before Start and when there
// is none.
func (l *Listener) Addr() net.Addr {
	if addr := l.addr.Load(); addr != nil {
		return addr
	}
	return nil
}

// URL returns the address as a URL without a path, "http://127.0.0.1:9644"; ""
// where Addr is nil.
func (l *Listener) URL() string {
	addr := l.addr.Load()
	if addr == nil {
		return ""
	}
	return "http://" + addr.String()
}

// explain says of a failure to listen what to do.
func explain(addr string, err error) error {
	const none = ` (port 0 picks a free one, "" means none)`
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("admin.listen: %s is in use, maybe by another gateway: set admin.listen to another port%s: %w", addr, none, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("admin.listen: no permission to listen on %s: set admin.listen to a port above 1023%s: %w", addr, none, err)
	}
	return fmt.Errorf("admin.listen: %w; set it to an address of this machine%s", err, none)
}
