package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// listen opens a listening socket. Its errors say what to do; key is the one that
// names addr.
func listen(ctx context.Context, key, addr string) (net.Listener, error) {
	cfg := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4,
	}}
	// Kafka clients do not speak multipath TCP; its sockets only cost more.
	cfg.SetMultipathTCP(false)
	ln, err := cfg.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use, maybe by another gateway or by a Kafka broker: "+
			"stop that, or set %[1]s to another port (0 picks a free one): %[3]w", key, addr, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: no permission to listen on %s: set %[1]s to a port above 1023: %[3]w", key, addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this machine does not have the address of %s: "+
			"set %[1]s to one that it has, or to 0.0.0.0 for all (then advertise, too): %[3]w", key, addr, err)
	}
	return nil, fmt.Errorf("%s: %w", key, err)
}

// advertised returns the address to tell clients: what the config says of it,
// completed by what the listener got.
func advertised(config string, got *net.TCPAddr) (host string, port int32) {
	host, port = got.IP.String(), int32(got.Port) // #nosec G115 -- a port
	if h, p, err := parseAdvertise(config); config != "" && err == nil {
		host = h
		if p != 0 {
			port = int32(p) // #nosec G115 -- a port
		}
	}
	return host, port
}

// kafkaHost writes a peer's address as Kafka does: a slash and the address, an
// IPv6 one without abbreviation.
func kafkaHost(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return "/" + addr.String()
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	if ip = ip.Unmap(); ip.Is4() {
		return "/" + ip.String()
	}
	groups := make([]string, 8)
	for i, b := 0, ip.As16(); i < len(groups); i++ {
		groups[i] = fmt.Sprintf("%x", int(b[2*i])<<8|int(b[2*i+1]))
	}
	return "/" + strings.Join(groups, ":")
}
