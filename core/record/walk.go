package record

import (
	"context"
	"fmt"
)

// fields is what the walk keeps of one record.
type fields struct {
	timestampDelta int64
	offsetDelta    int32
	size           int32 // of the record, its length prefix not counted
	nullKey        bool
}

// record reads one record; one longer than limit is refused before its content
// is looked at. Lengths inside it are held against its own length, so that
// whatever they say no more than that is read.
func (s *source) record(limit int32) (fields, error) {
	var f fields
	size, err := s.int32()
	if err != nil {
		return f, err
	}
	if size < 0 || size > limit {
		return f, fmt.Errorf("%w: a record of %d bytes, limit %d", ErrInvalid, size, limit)
	}
	f.size = size
	end := s.pos() + int64(size)
	if err := s.skip(1); err != nil { // attributes, unused
		return f, err
	}
	if f.timestampDelta, err = s.varint(); err != nil {
		return f, err
	}
	if f.offsetDelta, err = s.int32(); err != nil {
		return f, err
	}
	if f.nullKey, err = s.skipBytes(end); err != nil { // key
		return f, err
	}
	if _, err = s.skipBytes(end); err != nil { // value
		return f, err
	}
	headers, err := s.int32()
	if err != nil {
		return f, err
	}
	// The smallest header has two length bytes.
	if headers < 0 || int64(headers) > (end-s.pos())/2 {
		return f, fmt.Errorf("%w: %d headers in %d bytes", ErrInvalid, headers, end-s.pos())
	}
	for range headers {
		null, err := s.skipBytes(end)
		if err == nil && null {
			err = fmt.Errorf("%w: a header without a name", ErrInvalid)
		}
		if err == nil {
			_, err = s.skipBytes(end)
		}
		if err != nil {
			return f, err
		}
	}
	if s.pos() != end {
		return f, fmt.Errorf("%w: a record of %d bytes has %d", ErrInvalid, size, int64(size)+s.pos()-end)
	}
	return f, nil
}

// skipBytes passes over a length and as many bytes, none of which may lie
// beyond end. A negative length means null.
func (s *source) skipBytes(end int64) (null bool, err error) {
	n, err := s.int32()
	if err != nil || n < 0 {
		return true, err
	}
	if int64(n) > end-s.pos() {
		return false, fmt.Errorf("%w: a field of %d bytes with %d left", ErrInvalid, n, end-s.pos())
	}
	return false, s.skip(int64(n))
}

// walk calls visit for each record with its index, until visit has seen enough.
// A walk over all records also makes sure that nothing follows them.
func (b Batch) walk(ctx context.Context, limit int32, visit func(index int32, f fields) (more bool, err error)) error {
	plan, err := b.plan()
	if err != nil {
		return err
	}
	var s *source
	if plan.codec == None {
		s = &source{buf: plan.data}
	} else {
		d, err := plan.open(ctx)
		if err != nil {
			return err
		}
		defer d.close()
		s = &d.source
	}
	for i := range b.Count {
		f, err := s.record(limit)
		if err != nil {
			return err
		}
		if more, err := visit(i, f); !more || err != nil {
			return err
		}
	}
	return s.done()
}
