package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The memory in bytes of decoders, beside what the data makes them hold.
const (
	readBuffer = 32 << 10
	// gzipMemory: window, Huffman tables and input buffer.
	gzipMemory = 64 << 10
	// zstdMemory: block buffers of twice 128 KiB around the window, and
	// literals, sequences and tables.
	zstdMemory = 768 << 10
	// smallestWindow and largestWindow are powers of two. The larger is the
	// limit of the decoder in the Java client, 128 MiB.
	smallestWindow = 17
	largestWindow  = 27
	// pooledWindow is the largest window whose decoder is kept for reuse;
	// producers need more from zstd level 20 on.
	pooledWindow = 23
)

// DecoderMemory returns the memory in bytes that walking the records takes; 0
// when they are not compressed, or so broken that no decoder will start. The
// number is read from the compressed data, and the decoders hold to it: more
// than that is refused, not allocated.
func (b Batch) DecoderMemory() int64 {
	plan, err := b.plan()
	if err != nil {
		return 0
	}
	return plan.memory
}

// plan is how the records of a batch are decompressed.
type plan struct {
	codec  Codec
	data   []byte
	memory int64
	window int // zstd: the power of two that the window may have
}

func (b Batch) plan() (plan, error) { return planOf(b.Codec(), b.Bytes[HeaderSize:]) }

func planOf(codec Codec, data []byte) (plan, error) {
	p := plan{codec: codec, data: data}
	var err error
	switch p.codec {
	case None:
	case Gzip:
		p.memory = gzipMemory + readBuffer
	case Snappy:
		p.memory, err = snappyMemory(p.data)
		p.memory += readBuffer
	case LZ4:
		p.data, p.memory, err = lz4Frame(p.data)
		p.memory += readBuffer
	case Zstd:
		p.window, err = zstdWindow(p.data)
		p.memory = 1<<p.window + zstdMemory + readBuffer
	default:
		err = fmt.Errorf("compression %d has no meaning", p.codec)
	}
	if err != nil {
		return plan{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return p, nil
}

// zstdWindow returns the power of two that holds the window of the first frame.
func zstdWindow(data []byte) (int, error) {
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return 0, err
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = max(window, h.FrameContentSize)
	}
	power := max(smallestWindow, bits.Len64(max(window, 1)-1))
	if power > largestWindow {
		return 0, fmt.Errorf("zstd window of %d bytes", window)
	}
	return power, nil
}

// decoder decompresses the records of one batch at a time.
type decoder struct {
	source
	data bytes.Reader
	pool *sync.Pool // nil: not to be kept

	gzip   gzip.Reader
	snappy snappyReader
	lz4    *lz4.Reader
	zstd   *zstd.Decoder
}

// The decoders that wait for work, by codec; those of zstd by window too, as a
// decoder's window is limited when it is made.
var (
	gzipPool, snappyPool, lz4Pool sync.Pool
	zstdPools                     [pooledWindow + 1]sync.Pool
)

// open returns a decoder for compressed records; the caller closes it.
func (p plan) open(ctx context.Context) (*decoder, error) {
	d, err := p.decoder()
	if err != nil {
		return nil, err
	}
	d.data.Reset(p.data)
	d.source = source{ctx: ctx, mem: d.mem}
	switch p.codec {
	case Gzip:
		err, d.in = d.gzip.Reset(&d.data), &d.gzip
	case Snappy:
		d.snappy.reset(p.data)
		d.in = &d.snappy
	case LZ4:
		d.lz4.Reset(&d.data)
		d.in = d.lz4
	case Zstd:
		err, d.in = d.zstd.Reset(&d.data), d.zstd
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return d, nil
}

// decoder takes a decoder from its pool, or makes one.
func (p plan) decoder() (*decoder, error) {
	var pool *sync.Pool
	switch {
	case p.codec == Gzip:
		pool = &gzipPool
	case p.codec == Snappy:
		pool = &snappyPool
	case p.codec == LZ4:
		pool = &lz4Pool
	case p.window <= pooledWindow:
		pool = &zstdPools[p.window]
	}
	if pool != nil {
		if d, ok := pool.Get().(*decoder); ok {
			return d, nil
		}
	}
	d := &decoder{pool: pool, source: source{mem: make([]byte, readBuffer)}}
	switch p.codec {
	case LZ4:
		d.lz4 = lz4.NewReader(nil)
	case Zstd:
		var err error
		// Concurrency 1 starts no goroutines. Small inputs would be decoded as
		// a whole, at any size, if they were not told to stream.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(1<<p.window), zstd.WithDecodeBuffersBelow(0))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
	}
	return d, nil
}

// close lets go of the data and gives the decoder back.
func (d *decoder) close() {
	d.data.Reset(nil)
	d.source = source{mem: d.mem}
	d.snappy.reset(nil)
	if d.lz4 != nil {
		d.lz4.Reset(nil)
	}
	if d.zstd != nil && (d.zstd.Reset(nil) != nil || d.pool == nil) {
		d.zstd.Close()
		return
	}
	if d.pool != nil {
		d.pool.Put(d)
	}
}
