package record

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

// source is what records are read from: bytes at hand, and where there is a
// reader, more of them once those are used up. It keeps nothing that was read.
type source struct {
	buf  []byte // not read yet
	past int64  // bytes handed out by earlier fills and skips

	ctx context.Context // looked at by every fill
	in  io.Reader       // nil: buf is all there is
	mem []byte          // what fill reads into
	end error           // why in gave no more
}

// pos is the number of bytes read so far, counted from any fixed point.
func (s *source) pos() int64 { return s.past - int64(len(s.buf)) }

// fill reads more bytes behind those at hand. It reports false at the end and
// after an error, which is then in s.end.
func (s *source) fill() bool {
	if s.in == nil || s.end != nil {
		return false
	}
	if s.end = s.ctx.Err(); s.end != nil {
		return false
	}
	kept := copy(s.mem, s.buf)
	n := 0
	// A reader may give nothing without an error, but not for ever.
	for tries := 0; n == 0 && s.end == nil; tries++ {
		if tries == 100 {
			s.end = io.ErrNoProgress
			break
		}
		n, s.end = s.in.Read(s.mem[kept:])
	}
	s.past += int64(n)
	s.buf = s.mem[:kept+n]
	return n > 0
}

// done reports whether nothing follows. It reads on to find out, so that the
// checksum behind compressed data is looked at too.
func (s *source) done() error {
	if len(s.buf) > 0 || s.fill() {
		return fmt.Errorf("%w: bytes after the last record", ErrInvalid)
	}
	if s.end != nil && s.end != io.EOF {
		return s.broken()
	}
	return nil
}

// broken is the error of a read that found the end.
func (s *source) broken() error {
	switch {
	case s.ctx != nil && s.ctx.Err() != nil:
		return s.ctx.Err()
	case s.end != nil && s.end != io.EOF:
		return fmt.Errorf("%w: %w", ErrInvalid, s.end)
	}
	return fmt.Errorf("%w: records end early", ErrInvalid)
}

// varint reads a zigzag varint of at most 64 bits.
func (s *source) varint() (int64, error) {
	if len(s.buf) > 0 && s.buf[0] < 0x80 {
		u := s.buf[0]
		s.buf = s.buf[1:]
		return int64(u>>1) ^ -int64(u&1), nil
	}
	return s.longVarint()
}

func (s *source) longVarint() (int64, error) {
	for {
		v, n := binary.Varint(s.buf)
		switch {
		case n > 0:
			s.buf = s.buf[n:]
			return v, nil
		case n < 0:
			return 0, fmt.Errorf("%w: a varint over 64 bits", ErrInvalid)
		case !s.fill():
			return 0, s.broken()
		}
	}
}

// int32 reads a zigzag varint that must fit 32 bits.
func (s *source) int32() (int32, error) {
	v, err := s.varint()
	if err == nil && v != int64(int32(v)) {
		err = fmt.Errorf("%w: a varint over 32 bits", ErrInvalid)
	}
	return int32(v), err
}

// skip passes over n bytes.
func (s *source) skip(n int64) error {
	for n > int64(len(s.buf)) {
		n -= int64(len(s.buf))
		s.buf = nil
		if !s.fill() {
			return s.broken()
		}
	}
	s.buf = s.buf[n:]
	return nil
}
