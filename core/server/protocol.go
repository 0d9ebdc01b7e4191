package server

import (
	"context"
	"net"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/security"
)

// Protocol is a way to secure the connections of a listener, which its protocol
// key names: "PLAINTEXT", "SASL_SSL".
type Protocol struct {
	Name string
	// Login makes clients log in by SASL before anything else.
	Login bool
	// Open makes the transport of one listener, once, at the start. Its errors name
	// the keys that are wrong. Nil leaves the connections as they are.
	Open func(ListenerConfig) (Transport, error)
}

// Transport secures the connections of one listener. It passes
// securitytest.Transports.
type Transport interface {
	// Secure agrees with the client on how to talk, and returns the connection to
	// go on with, which closes nc when it is closed, and who the client is by that:
	// security.Anonymous unless it proved more. It gives up when ctx ends; the error
	// says what was wrong, and nc is closed by the caller. Reads and writes of the
	// returned connection may fail for a deadline and go on after it when nc's own
	// do not fail: the server sets deadlines at nc.
	Secure(ctx context.Context, nc net.Conn) (net.Conn, security.Principal, error)
	// Close ends what the transport itself runs, such as a watch over its files.
	Close() error
}

// Logins begins the logins of connections; core/sasl does.
type Logins interface {
	// Session begins the login of a connection to a listener that offers the
	// mechanisms; none stands for all that are configured. who is the client as its
	// connection tells.
	Session(who security.Requester, mechanisms []string) dispatch.Session
	// Check says what is wrong with the mechanisms of a listener: one that is not
	// configured, or, where none is listed, that none is. Nil when they will do.
	Check(mechanisms []string) error
	// Offered returns the mechanisms that a listener offers which lists these, in the
	// order in which clients are told of them; none stands for all that are configured.
	Offered(mechanisms []string) []string
	// MaxToken is the longest token of a client, in bytes. Until it is logged in, a
	// client may send nothing that is longer, but for the header.
	MaxToken() int
}
