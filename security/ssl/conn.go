package ssl

import (
	"crypto/tls"
	"net"
	"time"
)

// conn is a connection that is secured.
type conn struct {
	*tls.Conn
	below net.Conn
}

// notice is how long a client may keep the end of a connection waiting which it is
// told of.
const notice = 10 * time.Millisecond

// Close tells the client of the end, if that can be done at once, and closes the
// connection. A write under way fails then.
func (c *conn) Close() error {
	limit := time.AfterFunc(notice, func() { c.below.Close() })
	defer limit.Stop()
	return c.Conn.Close()
}
