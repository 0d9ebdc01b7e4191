package standintest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

const (
	// maxControlPayload is the largest body of a request that is no send.
	maxControlPayload = 10 << 20
	noUser            = ^uint32(0)
	// firstRead is the most memory that is taken before a request has come, in
	// bytes.
	firstRead = 1 << 20
)

// conn is a connection, served by one goroutine.
type conn struct {
	net.Conn
	life   *life
	server *Server
	id     uint32
	user   uint32 // noUser before the login

	writing sync.Mutex
	busy    bool // a request is being worked on
}

// request is one that has been read.
type request struct {
	code   uint32
	body   []byte
	status uint32 // what it is refused with, when it could not be read
	send   *send  // of a send
}

func (c *conn) run() {
	if !c.server.join(c) {
		return
	}
	defer c.server.leave(c)
	for {
		r, err := c.read()
		if err != nil {
			return
		}
		c.work(true)
		if !c.answer(r) {
			return
		}
		c.work(false)
	}
}

func (c *conn) work(busy bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.busy = busy
}

func (c *conn) working() bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.busy
}

// read reads one request. Where Iggy refuses a request before it has read all
// of it, so does this: what is left is then taken for the next request.
func (c *conn) read() (*request, error) {
	head, err := c.bytes(8)
	if err != nil {
		return nil, err
	}
	length, r := binary.LittleEndian.Uint32(head), &request{code: binary.LittleEndian.Uint32(head[4:])}
	switch {
	case length < 4:
		r.status = errInvalidCommand
	case r.code == wiretest.SendMessages:
		err = c.readSend(r, length-4)
	case length-4 > maxControlPayload:
		r.status = errInvalidCommand
	default:
		r.body, err = c.bytes(int64(length - 4))
	}
	return r, err
}

// bytes reads n bytes, and takes memory as they come.
func (c *conn) bytes(n int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(n, firstRead)) + bytes.MinRead)
	if _, err := io.CopyN(&b, c, n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// answer executes a request and replies; false when the connection ends.
func (c *conn) answer(r *request) bool {
	if !c.server.awake(c.life) {
		return false
	}
	hit := c.server.faults.strike(r)
	if !hit.before(c) {
		return false
	}
	status, reply := hit.status(), []byte(nil)
	if hit.executes() {
		if !c.server.lock(c.life) {
			return false
		}
		done, body := c.server.execute(c, r)
		c.server.mu.Unlock()
		if status == 0 {
			status, reply = done, body
		}
	}
	if !hit.after(c) || !c.server.awake(c.life) {
		return false
	}
	return hit.write(c, frame(status, reply))
}

// frame is the bytes of a reply.
func frame(status uint32, body []byte) []byte {
	w := make(writer, 0, 8+len(body))
	w.u32(status)
	w.u32(uint32(len(body)))
	return append(w, body...)
}
