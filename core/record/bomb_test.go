package record_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// bomb compresses one record with a value of size zeros, without ever holding it.
func bomb(t *testing.T, open func(io.Writer) io.WriteCloser, size int) []byte {
	body := []byte{0, 0, 0, 1} // attributes, deltas, null key
	body = binary.AppendVarint(body, int64(size))
	var out bytes.Buffer
	w := open(&out)
	write := func(b []byte) {
		_, err := w.Write(b)
		require.NoError(t, err)
	}
	write(binary.AppendVarint(nil, int64(len(body)+size+1)))
	write(body)
	zeros := make([]byte, 1<<20)
	for left := size; left > 0; left -= len(zeros) {
		write(zeros[:min(left, len(zeros))])
	}
	write([]byte{0}) // headers
	require.NoError(t, w.Close())
	return out.Bytes()
}

// What swells to 64 MiB costs no more memory than its decoder said.
func TestBombs(t *testing.T) {
	const size = 64 << 20
	for name, c := range map[string]struct {
		codec record.Codec
		open  func(io.Writer) io.WriteCloser
	}{
		"gzip": {record.Gzip, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"lz4":  {record.LZ4, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }},
		"zstd": {record.Zstd, func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			require.NoError(t, err)
			return z
		}},
	} {
		t.Run(name, func(t *testing.T) {
			raw := recordtest.Values("").Compressed(c.codec).WithPayload(bomb(t, c.open, size))
			require.Less(t, len(raw), 1<<20)
			b, _, err := record.Parse(raw)
			require.NoError(t, err)

			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = record.Check(context.Background(), b, open)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(b.DecoderMemory())+64<<10)
			require.Less(t, b.DecoderMemory(), int64(10<<20))

			rules := open
			rules.MaxRecordBytes = size
			_, err = record.Check(context.Background(), b, rules)
			require.ErrorIs(t, err, record.ErrInvalid, "a record above the limit is not read at all")
		})
	}
}

// Headers that promise much memory for few bytes are refused before anything
// is allocated.
func TestPromises(t *testing.T) {
	snappyHuge := append(binary.AppendUvarint(nil, 1<<32-1), 0)
	framed := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
	framed = append(binary.BigEndian.AppendUint32(framed, uint32(len(snappyHuge))), snappyHuge...)
	zstdWindow := func(exponent byte) []byte { return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3, 1, 0, 0} }
	lz4Head := func(flags, size byte, more ...byte) []byte {
		return append([]byte{0x04, 0x22, 0x4d, 0x18, flags, size << 4, 0}, more...)
	}
	for name, c := range map[string]struct {
		codec   record.Codec
		payload []byte
	}{
		"snappy block of 4 GiB":        {record.Snappy, snappyHuge},
		"xerial block of 4 GiB":        {record.Snappy, framed},
		"xerial block length of 4 GiB": {record.Snappy, append(framed[:16:16], 0xff, 0xff, 0xff, 0xff, 1)},
		"zstd window of 256 MiB":       {record.Zstd, zstdWindow(18)},
		"zstd window of 2 TiB":         {record.Zstd, zstdWindow(31)},
		"zstd single segment of 1 TiB": {record.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}},
		"lz4 block above its size":     {record.LZ4, lz4Head(0x60, 4, 0, 0, 2, 0)},
		"lz4 dependent blocks":         {record.LZ4, lz4Head(0x40, 4, 0, 0, 0, 0)},
		"lz4 dictionary":               {record.LZ4, lz4Head(0x61, 4, 0, 0, 0, 0)},
		"lz4 block size 3":             {record.LZ4, lz4Head(0x60, 3, 0, 0, 0, 0)},
		"lz4 without end":              {record.LZ4, lz4Head(0x60, 4)},
		"lz4 legacy frame":             {record.LZ4, []byte{0x02, 0x21, 0x4c, 0x18, 0, 0, 0, 0}},
		"lz4 skippable frame":          {record.LZ4, []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, err := record.Parse(recordtest.Values("").Compressed(c.codec).WithPayload(c.payload))
			require.NoError(t, err)
			require.Zero(t, b.DecoderMemory())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = record.Check(context.Background(), b, open)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, record.ErrInvalid)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

// A second zstd frame cannot bring a window that nobody was charged for.
func TestSecondFrameWithLargerWindow(t *testing.T) {
	encode := func(window int, plain []byte) []byte {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
		require.NoError(t, err)
		for _, b := range plain {
			_, err = w.Write([]byte{b})
			require.NoError(t, err)
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	one := recordtest.Values("hello")
	plain := one.Bytes()[record.HeaderSize:]
	check := func(windows ...int) error {
		half := len(plain) / 2
		payload := append(encode(windows[0], plain[:half]), encode(windows[1], plain[half:])...)
		b, _, err := record.Parse(one.Compressed(record.Zstd).WithPayload(payload))
		require.NoError(t, err)
		_, err = record.Check(context.Background(), b, open)
		return err
	}
	require.NoError(t, check(1<<20, 1<<20))
	require.ErrorIs(t, check(1<<20, 1<<24), record.ErrInvalid)
}

// The window of zstd's highest levels passes, and its decoder is not kept.
func TestLargeWindow(t *testing.T) {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<27), zstd.WithLowerEncoderMem(true))
	require.NoError(t, err)
	one := recordtest.Values("hello")
	_, err = w.Write(one.Bytes()[record.HeaderSize:])
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	b, _, err := record.Parse(one.Compressed(record.Zstd).WithPayload(out.Bytes()))
	require.NoError(t, err)
	require.Greater(t, b.DecoderMemory(), int64(1<<27))
	require.Less(t, b.DecoderMemory(), int64(1<<28))
	_, err = record.Check(context.Background(), b, open)
	require.NoError(t, err)
}
