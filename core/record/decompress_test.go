package record_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/record"
)

func TestCompressed(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("what clients push "), 10_000)
	for codec, data := range map[record.Codec][]byte{
		record.None: text, record.Gzip: gzipped(t, text), record.Snappy: snappy.Encode(nil, text), record.LZ4: lz4ed(t, text), record.Zstd: zstded(t, text),
	} {
		c, err := record.NewCompressed(codec, data)
		require.NoError(t, err)
		require.Equal(t, codec != record.None, c.Memory() > 0, codec)
		out, err := c.Bytes(t.Context(), len(text))
		require.NoError(t, err, codec)
		require.Equal(t, text, out)

		_, err = c.Bytes(t.Context(), len(text)-1)
		require.ErrorIs(t, err, record.ErrTooLong, codec)
		if codec == record.None {
			continue
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = c.Bytes(gone, len(text))
		require.ErrorIs(t, err, context.Canceled, codec)

		short, err := record.NewCompressed(codec, data[:len(data)-5])
		if err == nil {
			_, err = short.Bytes(t.Context(), len(text))
		}
		require.ErrorIs(t, err, record.ErrInvalid, codec)
	}
	for _, codec := range []record.Codec{-1, 5, 9} {
		_, err := record.NewCompressed(codec, text)
		require.ErrorIs(t, err, record.ErrInvalid)
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func lz4ed(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zstded(t *testing.T, data []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	defer w.Close()
	return w.EncodeAll(data, nil)
}
