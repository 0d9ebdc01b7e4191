package record

import (
	"context"
	"fmt"
)

// Record is one record of a batch.
type Record struct {
	OffsetDelta    int32
	TimestampDelta int64  // ms
	Key, Value     []byte // nil: null
	Headers        Headers
}

// firstScratch is the memory that a record is first gathered in, when it does
// not fit into a decoder's buffer; it grows as the bytes come.
const firstScratch = 4 * readBuffer

// Read calls visit for each record of the batch, in order, until it returns an
// error, which Read returns. Compressed records above limit bytes are refused;
// uncompressed ones are bounded by the batch.
//
// The record is valid during the call alone. Of an uncompressed batch its fields
// alias Bytes, and stay valid as long as those; of a compressed one they alias
// memory that the next record overwrites.
//
// Beside DecoderMemory it takes memory for one record, which grows with what is
// really there: at most twice the limit, and none where the largest record is
// below 32 KiB. Nothing is allocated per record.
//
// ErrInvalid when the records do not decode; the batch need not have been
// checked. The error of ctx, which is looked at while compressed records are
// read.
func (b Batch) Read(ctx context.Context, limit int32, visit func(*Record) error) error {
	if b.Count < 0 {
		return fmt.Errorf("%w: %d records", ErrInvalid, b.Count)
	}
	plan, err := b.plan()
	if err != nil {
		return err
	}
	var s *source
	if plan.codec == None {
		s, limit = &source{buf: plan.data}, int32(len(plan.data))
	} else {
		d, err := plan.open(ctx)
		if err != nil {
			return err
		}
		defer d.close()
		s = &d.source
	}
	var (
		r       Record
		scratch []byte
	)
	for range b.Count {
		size, err := s.int32()
		if err != nil {
			return err
		}
		if size < 0 || size > limit {
			return fmt.Errorf("%w: a record of %d bytes, limit %d", ErrInvalid, size, limit)
		}
		var body []byte
		if body, scratch, err = s.take(int(size), scratch); err != nil {
			return err
		}
		if err := r.parse(body); err != nil {
			return err
		}
		if err := visit(&r); err != nil {
			return err
		}
	}
	return s.done()
}

// take reads n bytes in one piece: those at hand, where they are enough, or
// gathered in scratch, which is returned for the next call.
func (s *source) take(n int, scratch []byte) (piece, grown []byte, err error) {
	for len(s.buf) < n && n <= len(s.mem) {
		if !s.fill() {
			return nil, scratch, s.broken()
		}
	}
	if len(s.buf) >= n {
		piece, s.buf = s.buf[:n:n], s.buf[n:]
		return piece, scratch, nil
	}
	scratch = scratch[:0]
	for len(scratch) < n {
		if len(s.buf) == 0 && !s.fill() {
			return nil, scratch, s.broken()
		}
		part := s.buf[:min(len(s.buf), n-len(scratch))]
		if cap(scratch) == 0 {
			scratch = make([]byte, 0, min(n, firstScratch))
		}
		scratch = append(scratch, part...)
		s.buf = s.buf[len(part):]
	}
	return scratch[:n:n], scratch, nil
}

// parse reads a record from its bytes, without its length.
func (r *Record) parse(body []byte) error {
	rest, ok := r.parseDeltas(body)
	if !ok {
		return fmt.Errorf("%w: a record of %d bytes has broken deltas", ErrInvalid, len(body))
	}
	if r.Key, rest, ok = cutField(rest); !ok {
		return fmt.Errorf("%w: a key beyond its record of %d bytes", ErrInvalid, len(body))
	}
	if r.Value, rest, ok = cutField(rest); !ok {
		return fmt.Errorf("%w: a value beyond its record of %d bytes", ErrInvalid, len(body))
	}
	headers, size := varint(rest)
	// The smallest header has two length bytes.
	if size <= 0 || headers < 0 || headers > int64(len(rest)-size)/2 {
		return fmt.Errorf("%w: %d headers in %d bytes", ErrInvalid, headers, len(rest))
	}
	rest = rest[size:]
	r.Headers = Headers{left: int32(headers), raw: rest[:len(rest):len(rest)]}
	return checkHeaders(int32(headers), rest)
}

func (r *Record) parseDeltas(body []byte) (rest []byte, ok bool) {
	if len(body) < 1 {
		return nil, false
	}
	rest = body[1:] // attributes, unused
	var size int
	if r.TimestampDelta, size = varint(rest); size <= 0 {
		return nil, false
	}
	rest = rest[size:]
	delta, size := varint(rest)
	if size <= 0 || delta != int64(int32(delta)) {
		return nil, false
	}
	r.OffsetDelta = int32(delta)
	return rest[size:], true
}

// checkHeaders makes sure that Next finds every header, and nothing behind them.
func checkHeaders(n int32, raw []byte) error {
	for range n {
		name, rest, ok := cutField(raw)
		if !ok {
			return fmt.Errorf("%w: a header beyond its record", ErrInvalid)
		}
		if name == nil {
			return fmt.Errorf("%w: a header without a name", ErrInvalid)
		}
		if _, raw, ok = cutField(rest); !ok {
			return fmt.Errorf("%w: a header beyond its record", ErrInvalid)
		}
	}
	if len(raw) > 0 {
		return fmt.Errorf("%w: %d bytes after a record's headers", ErrInvalid, len(raw))
	}
	return nil
}
