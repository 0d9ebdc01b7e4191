package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/iggykafka/gateway/core/guard"
)

// ErrFrameSize: a length prefix that no legal frame has.
var ErrFrameSize = errors.New("illegal frame length")

const (
	// ReadAhead is the size in bytes of the buffer that a Reader keeps. Frames
	// that fit are used in place, and cost one read.
	ReadAhead = 2 << 10
	// firstStep is the room that a frame gets once it has outgrown the
	// reader's buffer.
	firstStep = 64 << 10
)

// Reader cuts a stream into frames. It is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	pool *Pool
	max  int
	buf  []byte // the unread bytes are buf[r:w]
	r, w int
}

// NewReader returns a Reader of src. It refuses frames of more than maxFrame
// bytes, the prefix not counted, and takes buffers from pool.
func NewReader(src io.Reader, pool *Pool, maxFrame int) *Reader {
	return &Reader{src: src, pool: pool, max: maxFrame, buf: make([]byte, ReadAhead)}
}

// Frame is the payload of one frame: header and body of a request.
type Frame struct {
	Payload []byte
	pool    *Pool
	lent    *Buffer // nil: the payload lies in the reader's own buffer
}

// Release gives the memory of the frame back; its payload must not be used any
// more. The zero Frame may be released.
func (f *Frame) Release() {
	if f.lent != nil {
		f.pool.Put(f.lent)
	}
	*f = Frame{}
}

// Detach gives the Reader a new buffer of its own, so that it may read on while
// the frame that it returned last is still in use.
func (r *Reader) Detach() {
	buf := make([]byte, ReadAhead)
	r.w = copy(buf, r.buf[r.r:r.w])
	r.r, r.buf = 0, buf
}

// Await reads until the first byte of a frame is there. The last frame must
// have been released, or the reader detached, before.
func (r *Reader) Await() error { return r.need(1) }

// Prefix reads the length prefix of the next frame and returns the length of
// its payload in bytes: between 1 and the reader's limit. It may be
// called again before the frame is read.
func (r *Reader) Prefix() (int, error) {
	if err := r.need(PrefixSize); err != nil {
		return 0, unexpected(err)
	}
	n := int(int32(binary.BigEndian.Uint32(r.buf[r.r:]))) // #nosec G115 -- the same bits, as the protocol has them
	if n < 1 || n > r.max {
		return 0, fmt.Errorf("%w: %d bytes, legal are 1 to %d%s", ErrFrameSize, n, r.max, foreign([PrefixSize]byte(r.buf[r.r:])))
	}
	return n, nil
}

// foreign says what is spoken by who begins like this, if it is known, and is not Kafka's protocol.
func foreign(begin [PrefixSize]byte) string {
	switch s := string(begin[:]); {
	case s[:2] == "\x16\x03":
		return "; the client speaks TLS, where nothing is encrypted"
	case s == "GET ", s == "HEAD", s == "POST", s == "PUT ":
		return "; the client speaks HTTP"
	}
	return ""
}

// Arrived reports whether n bytes are buffered: at least one for Await, all
// four for Prefix, the four and the payload for Frame, not to read again.
func (r *Reader) Arrived(n int) bool { return r.w-r.r >= n }

// FrameArrived reports whether a frame with a payload of size bytes is there.
func (r *Reader) FrameArrived(size int) bool { return r.Arrived(PrefixSize + size) }

// Frame reads the rest of the frame whose Prefix has returned size, and charges
// what its buffer holds to lease before each growth.
func (r *Reader) Frame(ctx context.Context, size int, lease *guard.Lease) (Frame, error) {
	if PrefixSize+size <= len(r.buf) {
		if err := r.need(PrefixSize + size); err != nil {
			return Frame{}, unexpected(err)
		}
		start := r.r + PrefixSize
		r.r = start + size
		return Frame{Payload: r.buf[start:r.r:r.r]}, nil
	}
	f := Frame{pool: r.pool}
	if err := r.large(ctx, &f, size, lease); err != nil {
		f.Release()
		return Frame{}, unexpected(err)
	}
	return f, nil
}

// large reads a frame that does not fit the reader's buffer into a lent one.
// Nothing is lent before the reader's own buffer is full, and the whole not
// before half of it has come: what comes first waits in parts, so that half of
// a frame is copied, once.
func (r *Reader) large(ctx context.Context, f *Frame, size int, lease *guard.Lease) error {
	if err := r.need(len(r.buf)); err != nil {
		return err
	}
	r.r += PrefixSize
	var store [20]*Buffer // parts double: enough for any size
	parts := store[:0]
	defer func() {
		for _, part := range parts {
			r.pool.Put(part)
		}
	}()
	have := 0
	for size > 2*have+firstStep {
		room := min(max(firstStep, have), (size-firstStep+1)/2-have)
		if err := lease.Reserve(ctx, int64(room)); err != nil {
			return err
		}
		part := r.pool.Get(room)
		part.B = part.B[:room]
		parts = append(parts, part)
		if err := r.fill(part.B); err != nil {
			return err
		}
		have += room
	}
	if err := lease.Reserve(ctx, int64(size-have)); err != nil {
		return err
	}
	f.lent = r.pool.Get(size)
	f.Payload = f.lent.B[:size]
	at := 0
	for _, part := range parts {
		at += copy(f.Payload[at:], part.B)
	}
	return r.fill(f.Payload[at:])
}

// fill reads all of p.
func (r *Reader) fill(p []byte) error {
	n := copy(p, r.buf[r.r:r.w])
	r.r += n
	_, err := io.ReadFull(r.src, p[n:])
	return err
}

// need reads until n bytes are buffered. n must not exceed the buffer.
func (r *Reader) need(n int) error {
	if r.w-r.r >= n {
		return nil
	}
	if r.r == r.w {
		r.r, r.w = 0, 0
	} else if r.r+n > len(r.buf) {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	for r.w-r.r < n {
		m, err := r.src.Read(r.buf[r.w:])
		r.w += m
		if err != nil && r.w-r.r < n {
			return err
		}
	}
	return nil
}

// unexpected turns an end of the stream inside a frame into what it is.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
