package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	ierror "github.com/apache/iggy/foreign/go/errors"
)

// relayBuffer is what each direction of a relay reads at once. A frame that fits
// takes one read and one write.
const relayBuffer = 32 << 10

// ErrReplyTooLarge: a reply of the server is longer than Config.MaxReplyBytes;
// ask for less. It is also a backend.ErrUnavailable.
var ErrReplyTooLarge = errors.New("reply of the Iggy server is larger than iggy.max_reply_bytes")

var (
	errServerClosed = errors.New("the Iggy server closed the connection")
	errUnasked      = errors.New("the Iggy server sent a reply that nobody asked for")
	errStopping     = errors.New("the Iggy server is stopping")
	errServerTLS    = errors.New("the Iggy server speaks TLS")
	errSDKClosed    = errors.New("the connection was given up")
)

// relay stands between the SDK and the server: the SDK dials it instead of the
// server, so that the sockets are the gateway's own. One request is in flight at
// a time.
type relay struct {
	// server is how to talk to the server: raw itself, or TLS over it.
	server, raw net.Conn
	sdk         net.Conn
	maxReply    int64
	// heard is called for every reply.
	heard func()

	// left says that bytes of the request in flight may have left for the
	// server. After done it is final.
	left atomic.Bool
	// inFlight says that a reply is due.
	inFlight atomic.Bool
	// capture, when set, gets the next reply in the SDK's place.
	capture atomic.Pointer[capture]

	once  sync.Once
	cause error         // why it ended; valid after dead
	dead  chan struct{} // closed by end
	done  chan struct{} // closed when both directions have ended
}

// capture is where a reply goes that the SDK does not see.
type capture struct {
	most int64  // bytes of its body
	into []byte // memory for the body, where it is enough
	to   chan captured
}

// captured is a reply that did not go to the SDK.
type captured struct {
	status uint32
	body   []byte
}

// newRelay starts both directions.
func newRelay(server, raw, sdk net.Conn, maxReply int64, heard func()) *relay {
	r := &relay{server: server, raw: raw, sdk: sdk, maxReply: maxReply, heard: heard,
		dead: make(chan struct{}), done: make(chan struct{})}
	var both sync.WaitGroup
	both.Go(func() { r.end(r.requests()) })
	both.Go(func() { r.end(r.replies()) })
	go func() {
		both.Wait()
		close(r.done)
	}()
	return r
}

// end closes both sockets, which ends whatever waits for them. It never blocks:
// the TLS layer, which says goodbye, is passed by.
func (r *relay) end(cause error) {
	r.once.Do(func() {
		r.cause = cause
		close(r.dead)
		_ = r.raw.Close()
		_ = r.sdk.Close()
	})
}

// ended returns why the relay has ended, or nil while it has not.
func (r *relay) ended() error {
	select {
	case <-r.dead:
		return r.cause
	default:
		return nil
	}
}

// begin is called before a request is given to the SDK.
func (r *relay) begin() { r.left.Store(false) }

// requests copies what the SDK sends.
func (r *relay) requests() error {
	buf := make([]byte, relayBuffer)
	for {
		n, err := io.ReadAtLeast(r.sdk, buf, headerBytes)
		if err != nil {
			return errSDKClosed
		}
		size, code := requestHeader(buf)
		rest := size - int64(n)
		switch {
		case size < headerBytes || rest < 0:
			return fmt.Errorf("the SDK sent a request of %d bytes in %d", size, n)
		case code == codeClusterMetadata:
			err = r.refuseCluster(rest)
		default:
			err = r.forward(buf, n, rest)
		}
		if err != nil {
			return err
		}
	}
}

func (r *relay) forward(buf []byte, n int, rest int64) error {
	r.inFlight.Store(true)
	r.left.Store(true)
	if err := copyFrame(r.server, r.sdk, buf[:n], rest); err != nil {
		return fmt.Errorf("to the Iggy server: %w", err)
	}
	return nil
}

// refuseCluster answers like a server without clustering, so that the SDK stays
// with the relay instead of dialling the leader of a cluster by itself.
func (r *relay) refuseCluster(rest int64) error {
	if _, err := io.CopyN(io.Discard, r.sdk, rest); err != nil {
		return errSDKClosed
	}
	var reply [headerBytes]byte
	putHeader(reply[:], featureUnavailable, 0)
	_, err := r.sdk.Write(reply[:])
	return err
}

// replies copies what the server sends.
func (r *relay) replies() error {
	buf := make([]byte, relayBuffer)
	for {
		n, err := io.ReadAtLeast(r.server, buf, headerBytes)
		switch {
		case n == 0 && errors.Is(err, io.EOF):
			return errServerClosed
		case isAlert(buf[:n]):
			return errServerTLS
		case err != nil:
			return fmt.Errorf("from the Iggy server: %w", err)
		}
		if err := r.reply(buf, n); err != nil {
			return err
		}
	}
}

// reply passes one reply on, of which n bytes are in buf.
func (r *relay) reply(buf []byte, n int) error {
	status, size := replyHeader(buf)
	if !r.inFlight.Load() {
		return unasked(status)
	}
	if size > r.maxReply {
		return fmt.Errorf("%w: %d bytes", ErrReplyTooLarge, size)
	}
	// What came with a reply that nobody asked for, such as a server's farewell,
	// ends the connection, but not before the reply has been passed on.
	var after error
	if whole := headerBytes + size; int64(n) > whole {
		after = errUnasked
		if next := buf[whole:n]; len(next) >= headerBytes {
			farewell, _ := replyHeader(next)
			after = unasked(farewell)
		}
		n = int(whole)
	}
	r.heard()
	// The SDK may send the next request as soon as it has the last byte.
	r.inFlight.Store(false)
	if err := r.pass(buf[:n], headerBytes+size-int64(n), status != 0 || size == 1); err != nil {
		return err
	}
	return after
}

// unasked says what a reply is that nobody asked for: a server that stops in
// order sends one to everybody.
func unasked(status uint32) error {
	if ierror.Code(status) == ierror.DisconnectedCode {
		return errStopping
	}
	return errUnasked
}

// pass hands a reply to the SDK, or to who captures it; rest bytes of it are
// still to be read.
func (r *relay) pass(head []byte, rest int64, bodiless bool) error {
	if to := r.capture.Swap(nil); to != nil {
		return r.deliver(to, head, rest)
	}
	if bodiless {
		return r.withoutBody(head, rest)
	}
	if err := copyFrame(r.sdk, r.server, head, rest); err != nil {
		return fmt.Errorf("from the Iggy server: %w", err)
	}
	return nil
}

// withoutBody passes on the header alone: the SDK does not read the body of an
// error, nor a body of one byte, and would take it for the next reply.
func (r *relay) withoutBody(head []byte, rest int64) error {
	if _, err := io.CopyN(io.Discard, r.server, rest); err != nil {
		return fmt.Errorf("from the Iggy server: %w", err)
	}
	status, _ := replyHeader(head)
	putHeader(head, status, 0)
	_, err := r.sdk.Write(head[:headerBytes])
	return err
}

func (r *relay) deliver(to *capture, head []byte, rest int64) error {
	if rest > to.most {
		return fmt.Errorf("%w: %d bytes", ErrReplyTooLarge, rest)
	}
	status, size := replyHeader(head)
	body, err := readBody(r.server, to.into, head[headerBytes:], size)
	if err != nil {
		return fmt.Errorf("from the Iggy server: %w", err)
	}
	to.to <- captured{status, body}
	return nil
}

// trusted is how long a body may be for its memory to be made before it comes:
// a length alone costs its sender nothing.
const trusted = 4 << 20

// readBody reads a body of which the head has been read. into is memory that it
// may use.
func readBody(from io.Reader, into, head []byte, size int64) ([]byte, error) {
	if int64(cap(into)) < min(size, trusted) {
		into = make([]byte, 0, min(size, trusted))
	}
	body := append(into[:0], head...)
	for int64(len(body)) < size {
		if len(body) == cap(body) {
			body = slices.Grow(body, int(min(int64(len(body)), size-int64(len(body)))))
		}
		n, err := io.ReadFull(from, body[len(body):min(int64(cap(body)), size)])
		body = body[:len(body)+n]
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// exchange makes a request by itself while the SDK is idle. request is a whole
// frame; most bounds the body of the reply, in bytes.
func (r *relay) exchange(request []byte, most int64) (captured, error) {
	return r.exchangeInto(nil, request, most)
}

// exchangeInto is exchange with memory for the body of the reply.
func (r *relay) exchangeInto(into, request []byte, most int64) (captured, error) {
	c := &capture{most: min(most, r.maxReply), into: into, to: make(chan captured, 1)}
	r.capture.Store(c)
	r.inFlight.Store(true)
	r.left.Store(true)
	if _, err := r.server.Write(request); err != nil {
		r.end(fmt.Errorf("to the Iggy server: %w", err))
	}
	select {
	case reply := <-c.to:
		return reply, nil
	case <-r.dead:
	}
	// The reply may have come together with what ended the connection.
	select {
	case reply := <-c.to:
		return reply, nil
	default:
		return captured{}, r.cause
	}
}

// copyFrame writes what has been read of a frame and then rest more bytes from
// src. Between two plain sockets the kernel moves the rest; head's memory is used
// again otherwise.
func copyFrame(dst, src net.Conn, head []byte, rest int64) error {
	if _, err := dst.Write(head); err != nil || rest == 0 {
		return err
	}
	to, plain := dst.(*net.TCPConn)
	if _, ok := src.(*net.TCPConn); plain && ok {
		_, err := io.CopyN(to, src, rest)
		return err
	}
	buf := head[:cap(head)]
	for rest > 0 {
		n, err := src.Read(buf[:min(rest, int64(len(buf)))])
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
			rest -= int64(n)
		}
		if err != nil && rest > 0 {
			return err
		}
	}
	return nil
}
