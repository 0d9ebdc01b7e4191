package record

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong: data decompress to more than the caller takes.
var ErrTooLong = errors.New("decompresses to more than the limit")

// Compressed is data under one of the codecs that are not a batch's records:
// what a client pushes.
type Compressed struct{ plan plan }

// NewCompressed looks at the beginning of compressed data. ErrInvalid for a codec
// without a meaning, and for data so broken that no decoder will start.
func NewCompressed(codec Codec, data []byte) (Compressed, error) {
	plan, err := planOf(codec, data)
	return Compressed{plan}, err
}

// Memory returns the memory in bytes that decompressing takes beside the result:
// 0 for None. The decoders hold to it.
func (c Compressed) Memory() int64 { return c.plan.memory }

// Bytes returns the data decompressed; for None they are the very bytes that
// were given. ErrTooLong above limit bytes, ErrInvalid for broken data, the error
// of ctx when it ends first.
func (c Compressed) Bytes(ctx context.Context, limit int) ([]byte, error) {
	if c.plan.codec == None {
		if len(c.plan.data) > limit {
			return nil, ErrTooLong
		}
		return c.plan.data, nil
	}
	d, err := c.plan.open(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var out []byte
	for d.fill() {
		if len(d.buf) > limit-len(out) {
			return nil, ErrTooLong
		}
		out, d.buf = append(out, d.buf...), nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.end != io.EOF:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, d.end)
	}
	return out, nil
}
