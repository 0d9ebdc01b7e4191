package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/guard"
)

const testMax = 100 << 20

// framed puts a length prefix before each payload.
func framed(payloads ...[]byte) []byte {
	var b []byte
	for _, p := range payloads {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

// next reads one whole frame and copies its payload.
func next(r *Reader, lease *guard.Lease) ([]byte, error) {
	if err := r.Await(); err != nil {
		return nil, err
	}
	size, err := r.Prefix()
	if err != nil {
		return nil, err
	}
	f, err := r.Frame(context.Background(), size, lease)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return bytes.Clone(f.Payload), nil
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// Frames of any sizes come out of any fragmentation as they went in.
func TestFramesAnyFragmentation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(MinPayload, 64),
			rapid.IntRange(ReadAhead-16, ReadAhead+16), rapid.IntRange(MinPayload, 300<<10)), 1, 12).Draw(t, "sizes")
		var payloads [][]byte
		for _, n := range sizes {
			payloads = append(payloads, pattern(n))
		}
		chunks := rapid.SliceOfN(rapid.IntRange(1, 100<<10), 1, 8).Draw(t, "chunks")
		src := &chunked{b: framed(payloads...), sizes: chunks}
		r := NewReader(src, new(Pool), testMax)
		for i, want := range payloads {
			got, err := next(r, new(guard.Lease))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "frame %d of %d bytes", i, len(want))
		}
		_, err := next(r, new(guard.Lease))
		require.Equal(t, io.EOF, err)
	})
}

// chunked delivers its bytes in pieces of the given sizes, round robin.
type chunked struct {
	b     []byte
	sizes []int
	i     int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(c.b), c.sizes[c.i%len(c.sizes)])
	c.i++
	n = copy(p[:n], c.b)
	c.b = c.b[n:]
	return n, nil
}

// Several small frames that arrive together cost one read.
func TestSmallFramesCostOneRead(t *testing.T) {
	t.Parallel()
	src := &chunked{b: framed(pattern(50), pattern(60), pattern(70)), sizes: []int{1 << 20}}
	r := NewReader(src, new(Pool), testMax)
	for range 3 {
		_, err := next(r, new(guard.Lease))
		require.NoError(t, err)
	}
	require.Equal(t, 1, src.i)
}

// An illegal length is refused at the prefix, and a legal one reserves
// nothing.
func TestPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		prefix []byte
	}{
		{"the largest", []byte{0x7f, 0xff, 0xff, 0xff}},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}},
		{"the most negative", []byte{0x80, 0, 0, 0}},
		{"zero", []byte{0, 0, 0, 0}},
		{"one above the limit", binary.BigEndian.AppendUint32(nil, testMax+1)},
		{"TLS hello", []byte{0x16, 0x03, 0x01, 0x02, 0x00}},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := next(NewReader(bytes.NewReader(c.prefix), new(Pool), testMax), new(guard.Lease))
			require.ErrorIs(t, err, ErrFrameSize)
		})
	}
	t.Run("a byte, as some tokens of logins have", func(t *testing.T) {
		t.Parallel()
		f, err := next(NewReader(bytes.NewReader([]byte{0, 0, 0, 1, 7}), new(Pool), testMax), new(guard.Lease))
		require.NoError(t, err)
		require.Equal(t, []byte{7}, f)
	})
	t.Run("the limit itself", func(t *testing.T) {
		t.Parallel()
		// A reader without a pool panics when it lends a buffer.
		r := NewReader(bytes.NewReader(binary.BigEndian.AppendUint32(nil, testMax)), nil, testMax)
		size, err := r.Prefix()
		require.NoError(t, err)
		require.Equal(t, testMax, size)
		_, err = r.Frame(context.Background(), size, new(guard.Lease))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// The end of the stream is told apart: between frames or inside one.
func TestEnds(t *testing.T) {
	t.Parallel()
	whole := framed(pattern(20), pattern(3<<10), pattern(200<<10))
	ends := map[int]bool{0: true, 24: true, 24 + 4 + 3<<10: true, len(whole): true}
	for _, cut := range []int{0, 1, 3, 4, 5, 23, 24, 25, 27, 28, 29, 1000, 24 + 4 + 3<<10, 100 << 10, len(whole) - 1, len(whole)} {
		r := NewReader(bytes.NewReader(whole[:cut]), new(Pool), testMax)
		var err error
		for err == nil {
			_, err = next(r, new(guard.Lease))
		}
		if ends[cut] {
			require.Equal(t, io.EOF, err, "cut at %d", cut)
		} else {
			require.Equal(t, io.ErrUnexpectedEOF, err, "cut at %d", cut)
		}
	}
}

// growth checks each buffer that a frame is read into against what had arrived.
type growth struct {
	t       *testing.T
	src     io.Reader
	arrived int
}

func (g *growth) Read(p []byte) (int, error) {
	if limit := 2*g.arrived + 64<<10; g.arrived+len(p) > limit {
		g.t.Errorf("%d bytes have arrived, the buffer has room for %d", g.arrived, g.arrived+len(p))
	}
	n, err := g.src.Read(p[:min(len(p), 10_000)])
	g.arrived += n
	return n, err
}

// A buffer is never larger than twice what has arrived and 64 KiB.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for _, size := range []int{ReadAhead, 64 << 10, 64<<10 + 1, 1 << 20, 5_000_001} {
		payload := pattern(size)
		r := NewReader(&growth{t: t, src: bytes.NewReader(framed(payload))}, new(Pool), testMax)
		got, err := next(r, new(guard.Lease))
		require.NoError(t, err)
		require.True(t, bytes.Equal(payload, got))
	}
}

// What a frame holds beyond the free part is charged before it is read, and a
// spent budget refuses the frame.
func TestCharge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size  int
		total int64
		err   error
	}{
		{64 << 10, 1, nil},
		{1 << 20, 1<<20 - 64<<10, nil},
		{1 << 20, 1<<20 - 64<<10 - 1, guard.ErrBudget},
	} {
		budget := guard.NewBudget(c.total, 0, time.Millisecond)
		lease := budget.LeaseAbove(64 << 10)
		r := NewReader(bytes.NewReader(framed(pattern(c.size))), new(Pool), testMax)
		_, err := next(r, &lease)
		require.ErrorIs(t, err, c.err, "%d of %d", c.size, c.total)
		require.LessOrEqual(t, lease.Held(), c.total)
		if c.err == nil {
			require.Equal(t, max(0, int64(c.size)-64<<10), lease.Held())
		}
		lease.Release()
		all := budget.Lease()
		require.NoError(t, all.Reserve(context.Background(), c.total), "everything was given back")
		all.Release()
	}
}

// A frame that is in use survives what the detached reader reads.
func TestDetach(t *testing.T) {
	t.Parallel()
	first, second := pattern(100), bytes.Repeat([]byte{9}, 2000)
	stream := framed(first, second, second)
	r := NewReader(io.MultiReader(bytes.NewReader(stream[:150]), bytes.NewReader(stream[150:])), new(Pool), testMax)
	size, err := r.Prefix()
	require.NoError(t, err)
	f, err := r.Frame(context.Background(), size, new(guard.Lease))
	require.NoError(t, err)
	r.Detach()
	for range 2 {
		got, err := next(r, new(guard.Lease))
		require.NoError(t, err)
		require.Equal(t, second, got)
	}
	require.Equal(t, first, f.Payload)
	f.Release()
	require.Nil(t, f.Payload)
}

// Errors of the source come through as they are.
func TestSourceError(t *testing.T) {
	t.Parallel()
	broken := errors.New("cable")
	for _, cut := range []int{0, 2, 10, 50_000} {
		src := io.MultiReader(bytes.NewReader(framed(pattern(200 << 10))[:cut]), iotest.ErrReader(broken))
		_, err := next(NewReader(src, new(Pool), testMax), new(guard.Lease))
		require.ErrorIs(t, err, broken)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	var p Pool
	for _, c := range []struct{ ask, get int }{
		{0, 4 << 10}, {1, 4 << 10}, {4 << 10, 4 << 10}, {4<<10 + 1, 8 << 10}, {1 << 20, 1 << 20}, {128<<20 + 1, 128<<20 + 1},
	} {
		b := p.Get(c.ask)
		require.Empty(t, b.B)
		require.GreaterOrEqual(t, cap(b.B), c.get, "asked for %d", c.ask)
		p.Put(b)
	}
	p.Put(nil)
	p.Put(&Buffer{})
	p.Put(&Buffer{B: make([]byte, 100)})
	b := p.Get(10)
	require.GreaterOrEqual(t, cap(b.B), 10)
	b.B = append(b.B, make([]byte, 5000)...)
	p.Put(b) // a grown buffer goes to the class that it can serve
	require.GreaterOrEqual(t, cap(p.Get(4<<10).B), 4<<10)
}

// FuzzFrames: any stream is cut into frames that put together again give the
// stream, or refused; the pool never pays for what did not arrive.
func FuzzFrames(f *testing.F) {
	f.Add(framed(pattern(20), pattern(3000)), uint16(7))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff}, uint16(1))
	f.Add([]byte{0x06, 0x40, 0, 0, 1, 2, 3}, uint16(1))
	f.Fuzz(func(t *testing.T, stream []byte, chunk uint16) {
		src := &chunked{b: stream, sizes: []int{max(1, int(chunk))}}
		budget := guard.NewBudget(2*int64(len(stream))+1, 0, 0)
		r := NewReader(src, new(Pool), testMax)
		var back []byte
		for {
			lease := budget.LeaseAbove(64 << 10)
			payload, err := next(r, &lease)
			lease.Release()
			if err == nil {
				back = append(back, framed(payload)...)
				continue
			}
			if !errors.Is(err, ErrFrameSize) && err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Fatalf("unforeseen: %v", err)
			}
			break
		}
		require.True(t, bytes.HasPrefix(stream, back))
	})
}
