package securitytest_test

import (
	"context"
	"net"
	"testing"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

// plain is the transport that changes nothing.
type plain struct{}

func (plain) Secure(_ context.Context, nc net.Conn) (net.Conn, security.Principal, error) {
	return nc, security.Anonymous, nil
}

func (plain) Close() error { return nil }

func TestTransportsOfNothing(t *testing.T) {
	securitytest.Transports(t, func(*testing.T) securitytest.Transported {
		return securitytest.Transported{Transport: plain{}, Clients: []securitytest.TransportClient{{
			Name: "anybody", Principal: security.Anonymous,
			Connect: func(_ context.Context, nc net.Conn) (net.Conn, error) { return nc, nil },
		}}}
	})
}
