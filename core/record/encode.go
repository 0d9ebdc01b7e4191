package record

import (
	"bytes"
	"io"
	"sync"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// zstdEncodeWindow is the window of what this package compresses: consumers need
// as much memory, and batches are not much longer.
const zstdEncodeWindow = 1 << 20

// The encoders that wait for work.
var gzipWriters, lz4Writers, zstdEncoders, snappyBuffers sync.Pool

// appendCompressed appends plain to out, compressed where that makes it shorter,
// and as it is where it does not: ok is false then. So the result is never longer
// than out and plain together.
func (c Codec) appendCompressed(out, plain []byte) (_ []byte, ok bool) {
	at := len(out)
	// Most of what compresses at all fits; what does not may grow once.
	compressed, ok := c.compress(out, plain)
	if ok && len(compressed)-at < len(plain) {
		return compressed, true
	}
	return append(out[:at], plain...), false
}

// compress appends plain, compressed, to out; ok is false for a codec that there
// is none of.
func (c Codec) compress(out, plain []byte) (_ []byte, ok bool) {
	switch c {
	case Gzip:
		return stream(&gzipWriters, out, plain, newGzip)
	case LZ4:
		return stream(&lz4Writers, out, plain, newLZ4)
	case Snappy:
		return compressSnappy(out, plain), true
	case Zstd:
		return compressZstd(out, plain)
	}
	return out, false
}

// resetter is what the encoders of gzip and LZ4 have in common.
type resetter interface {
	io.WriteCloser
	Reset(io.Writer)
}

// newGzip makes writers of the fastest level, which costs a tenth of the ratio.
func newGzip() resetter {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		return gzip.NewWriter(nil)
	}
	return w
}

// newLZ4 makes the frames of the Java client: blocks of 64 KiB, no checksums,
// as the batch has its own.
func newLZ4() resetter {
	w := lz4.NewWriter(nil)
	if w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)) != nil {
		return lz4.NewWriter(nil)
	}
	return w
}

func stream(pool *sync.Pool, out, plain []byte, make func() resetter) ([]byte, bool) {
	w, ok := pool.Get().(resetter)
	if !ok {
		w = make()
	}
	buffer := bytes.NewBuffer(out)
	w.Reset(buffer)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	w.Reset(io.Discard)
	pool.Put(w)
	return buffer.Bytes(), err == nil
}

// compressSnappy writes one block, as all clients read it whether or not they
// write the framing of snappy-java.
func compressSnappy(out, plain []byte) []byte {
	mem, _ := snappyBuffers.Get().(*[]byte)
	if mem == nil {
		mem = new([]byte)
	}
	if n := snappy.MaxEncodedLen(len(plain)); cap(*mem) < n {
		*mem = make([]byte, n)
	}
	out = append(out, snappy.Encode((*mem)[:cap(*mem)], plain)...)
	if cap(*mem) <= keptPlain {
		snappyBuffers.Put(mem)
	}
	return out
}

func compressZstd(out, plain []byte) ([]byte, bool) {
	e, ok := zstdEncoders.Get().(*zstd.Encoder)
	if !ok {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdEncodeWindow),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return out, false
		}
	}
	out = e.EncodeAll(plain, out)
	zstdEncoders.Put(e)
	return out, true
}
