// Package rawclient is a connection on which Kafka requests are sent one by
// one, at exactly the version and in exactly the order that the caller wants:
// for measurements and for tests that no client library would let through.
package rawclient

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Conn is one connection with at most one request in flight. It is not safe
// for concurrent use.
type Conn struct {
	net.Conn
	reader  *bufio.Reader
	format  *kmsg.RequestFormatter
	buf     []byte
	counter int32
}

// Dial connects to a server. Requests carry the given client id.
func Dial(addr, clientID string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return New(c, clientID), nil
}

// New talks over a connection that is there, such as one of TLS.
func New(c net.Conn, clientID string) *Conn {
	return &Conn{Conn: c, reader: bufio.NewReaderSize(c, 4<<10), format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))}
}

// Call sends a request and reads its response. io.EOF means that the server
// closed the connection instead of answering.
func (c *Conn) Call(req kmsg.Request) (kmsg.Response, error) {
	if err := c.Send(req); err != nil {
		return nil, err
	}
	return c.Receive(req)
}

// Send writes a request; its answer must be received before the next one.
func (c *Conn) Send(req kmsg.Request) error {
	c.counter++
	c.buf = c.format.AppendRequest(c.buf[:0], req, c.counter)
	_, err := c.Write(c.buf)
	return err
}

// Receive reads the response to the request that was sent last.
func (c *Conn) Receive(req kmsg.Request) (kmsg.Response, error) {
	frame, err := c.ReadFrame()
	if err != nil {
		return nil, err
	}
	return c.Decode(req, frame)
}

// Decode reads the response in a frame that answers the request sent last.
func (c *Conn) Decode(req kmsg.Request, frame []byte) (kmsg.Response, error) {
	header := 4
	if req.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		header++ // an empty tag section
	}
	if len(frame) < header || int32(binary.BigEndian.Uint32(frame)) != c.counter { // #nosec G115 -- the same bits
		return nil, fmt.Errorf("an answer of %d bytes that is not to request %d", len(frame), c.counter)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	err := resp.ReadFrom(frame[header:])
	if err != nil && req.Key() == kmsg.ApiVersions.Int16() {
		// KIP-511: a version that the server does not know is answered as v0.
		resp.SetVersion(0)
		err = resp.ReadFrom(frame[header:])
	}
	return resp, err
}

// ReadFrame reads one frame without its length. It is valid until the next call
// of any method.
func (c *Conn) ReadFrame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.reader, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	_, err := io.ReadFull(c.reader, c.buf)
	return c.buf, err
}
