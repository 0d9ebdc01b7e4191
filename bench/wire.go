package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one raw connection with one request in flight: what a client library
// would add to a round trip is not measured.
type conn struct {
	net.Conn
	r       *bufio.Reader
	format  *kmsg.RequestFormatter
	buf     []byte
	counter int32
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 16<<10), format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))}, nil
}

// call sends a request and reads its response.
func (c *conn) call(req kmsg.Request) (kmsg.Response, error) {
	if err := c.send(req); err != nil {
		return nil, err
	}
	return c.receive(req)
}

func (c *conn) send(req kmsg.Request) error {
	c.counter++
	c.buf = c.format.AppendRequest(c.buf[:0], req, c.counter)
	_, err := c.Write(c.buf)
	return err
}

func (c *conn) receive(req kmsg.Request) (kmsg.Response, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	if _, err := io.ReadFull(c.r, c.buf); err != nil {
		return nil, err
	}
	header := 4
	if req.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		header++ // an empty tag section
	}
	if n < header || int32(binary.BigEndian.Uint32(c.buf)) != c.counter {
		return nil, fmt.Errorf("an answer of %d bytes that is not to request %d", n, c.counter)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(c.buf[header:])
}
