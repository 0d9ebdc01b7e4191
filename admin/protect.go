package admin

import (
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"go.uber.org/zap"
)

// protect puts around all routes what concerns them all.
func (l *Listener) protect(next http.Handler, loopback bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		switch {
		case loopback && !l.ours(r.Host):
			http.Error(w, "this host name is not the admin listener's: use the address of admin.listen, or localhost", http.StatusMisdirectedRequest)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the admin listener only shows: GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		defer l.survive(w, r)
		next.ServeHTTP(w, r)
	})
}

// setHeaders says that responses are for this origin alone: no frames, no other
// site's scripts, nothing guessed. There is no CORS header, so that scripts of
// other origins cannot read any.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// ours reports whether a Host header names a listener on the loopback interface:
// localhost, a loopback address, or the name in admin.listen. With any other name
// a page of that name's owner could read what is served here.
func (l *Listener) ours(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	configured, _, _ := net.SplitHostPort(l.cfg.Listen)
	return strings.EqualFold(host, "localhost") || strings.EqualFold(host, configured)
}

// survive answers for a handler that panicked.
func (l *Listener) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p) // which net/http takes without a word
	}
	l.log.Error("a page of the admin listener panicked", zap.String("path", r.URL.Path), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	http.Error(w, "an error of the gateway; its log says more", http.StatusInternalServerError)
}

// whileUsable serves a route between start and stop of what it depends on.
func (l *Listener) whileUsable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, leave, ok := l.gate.Enter(r.Context())
		if !ok {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the gateway is starting or stopping; /readyz says more", http.StatusServiceUnavailable)
			return
		}
		defer leave()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
