package message_test

import (
	"encoding/binary"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// sent is what a message is after a server has stored it.
func sent(m message.Message) message.Message {
	m.Header.Timestamp = serverTime
	return m
}

// requireSame compares records exactly: null with empty, order, repetitions. A
// record without a timestamp has the server's.
func requireSame(t require.TestingT, want, got message.Record) {
	if want.Timestamp == -1 {
		want.Timestamp = serverTime / 1000
	}
	require.Equal(t, want.Timestamp, got.Timestamp)
	require.Equal(t, want.Key, got.Key)
	require.Equal(t, want.Value, got.Value)
	require.Len(t, got.Headers, len(want.Headers))
	for i := range want.Headers {
		require.Equal(t, want.Headers[i], got.Headers[i])
	}
}

// roundTrip encodes a record, holds the message against what the server and the
// SDK demand, and reads it back.
func roundTrip(t require.TestingT, r message.Record) {
	m, err := message.Encode(&r, message.RandomID())
	require.NoError(t, err)
	require.NotEmpty(t, m.Payload)
	require.LessOrEqual(t, len(m.UserHeaders), message.MaxUserHeaders)
	require.Equal(t, len(m.Payload), int(m.Header.PayloadLength))
	require.Equal(t, len(m.UserHeaders), int(m.Header.UserHeaderLength))
	require.True(t, message.FromGateway(&m))
	entries, err := iggcon.DeserializeHeaders(m.UserHeaders)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, e := range entries {
		require.False(t, seen[string(e.Key.Value)], "no user header twice: readers keep them in a map")
		seen[string(e.Key.Value)] = true
	}
	m = sent(m)
	var got message.Record
	require.NoError(t, message.Decode(&m, &got))
	requireSame(t, r, got)
	ms, err := message.Timestamp(&m, false)
	require.NoError(t, err)
	require.Equal(t, got.Timestamp, ms)
}

// drawField draws null, and lengths around those that matter.
func drawField(t *rapid.T, label string) []byte {
	switch rapid.IntRange(0, 5).Draw(t, label+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		n := rapid.IntRange(245, 260).Draw(t, label+" length")
		return append([]byte{}, make([]byte, n)...)
	}
	return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, label)...)
}

func drawRecord(t *rapid.T) message.Record {
	r := message.Record{
		Timestamp: rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64(), rapid.Int64Range(1_600_000_000_000, 1_900_000_000_000)).Draw(t, "timestamp"),
		Key:       drawField(t, "key"), Value: drawField(t, "value"),
	}
	names := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "kafka.v", "kafka.key", "kafka.h.a"}), rapid.StringN(0, 8, -1))
	most := rapid.SampledFrom([]int{0, 3, 40}).Draw(t, "most headers")
	for range rapid.IntRange(0, most).Draw(t, "headers") {
		r.Headers = append(r.Headers, message.Header{Name: []byte(names.Draw(t, "name")), Value: drawField(t, "header")})
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, drawRecord(t)) })
}

// Decode uses r's memory for headers again, and nothing of the last record stays.
func TestDecodeAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var got message.Record
		for range 3 {
			want := drawRecord(t)
			m, err := message.Encode(&want, message.RandomID())
			require.NoError(t, err)
			m = sent(m)
			require.NoError(t, message.Decode(&m, &got))
			requireSame(t, want, got)
		}
	})
}

func TestNewID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		producer := rapid.Int64Min(0).Draw(t, "producer")
		epoch, sequence := rapid.Int16Min(0).Draw(t, "epoch"), rapid.Int32Min(0).Draw(t, "sequence")
		first := rapid.Bool().Draw(t, "first")
		id := message.NewID(producer, epoch, sequence, first)
		require.NotEqual(t, message.ID{}, id)
		gotProducer, gotEpoch, gotSequence, gotFirst, ok := message.ParseID(id)
		require.True(t, ok)
		require.Equal(t, producer, gotProducer)
		require.Equal(t, epoch, gotEpoch)
		require.Equal(t, sequence, gotSequence)
		require.Equal(t, first, gotFirst)
	})
}

func TestRandomID(t *testing.T) {
	t.Parallel()
	seen := map[message.ID]bool{}
	for range 300_000 { // about nine of these would end in a tag
		id := message.RandomID()
		tag := binary.BigEndian.Uint16(id[14:])
		_, _, _, _, ok := message.ParseID(id)
		if id[6]>>4 != 4 || id[8]>>6 != 2 || tag == 0x4b46 || tag == 0x4b66 || ok || seen[id] {
			t.Fatalf("%x is no random UUID, ends in a tag or came twice", id)
		}
		seen[id] = true
	}
	for _, id := range []message.ID{{}, message.NewID(-1, 0, 0, true), message.NewID(1, -1, 0, true), message.NewID(1, 1, -1, false)} {
		_, _, _, _, ok := message.ParseID(id)
		require.False(t, ok, "%x", id)
	}
}

// FuzzRoundTrip: any record of Kafka survives. Headers are cut out of bytes; every
// length is multiplied, so that short inputs reach the limits.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(0), []byte("key"), true, []byte("value"), true, []byte("\x01a\x01b\x01a\x00"), byte(1))
	f.Add(int64(-1), []byte{}, true, []byte{}, true, []byte("\x00\xff"), byte(0))
	f.Add(int64(1_700_000_000_000), []byte("k"), true, []byte{}, false, []byte("\x09kafka.key\x01v"), byte(200))
	f.Add(int64(1<<62), []byte{}, false, []byte("v"), true, []byte{}, byte(30))
	f.Fuzz(func(t *testing.T, ms int64, key []byte, hasKey bool, value []byte, hasValue bool, headers []byte, times byte) {
		r := message.Record{Timestamp: ms}
		if hasKey {
			r.Key = stretch(key, times)
		}
		if hasValue {
			r.Value = append([]byte{}, value...)
		}
		for len(headers) > 0 {
			var h message.Header
			h.Name, headers = cut(headers)
			if h.Name == nil {
				h.Name = []byte{}
			}
			if h.Value, headers = cut(headers); h.Value != nil {
				h.Value = stretch(h.Value, times)
			}
			r.Headers = append(r.Headers, h)
		}
		roundTrip(t, r)
	})
}

// cut reads a length byte and as many bytes; 255 is null.
func cut(b []byte) (field, rest []byte) {
	if len(b) == 0 || b[0] == 255 {
		return nil, b[min(1, len(b)):]
	}
	n := min(int(b[0]), len(b)-1)
	return append([]byte{}, b[1:1+n]...), b[1+n:]
}

func stretch(b []byte, times byte) []byte {
	out := append([]byte{}, b...)
	for range times % 8 {
		out = append(out, out...)
		if len(out) > 300 {
			break
		}
	}
	return out
}

// FuzzDecode feeds any message to Decode: it gives a record that survives being
// stored, or an ErrUnreadable, and takes no more memory than the message pays for.
func FuzzDecode(f *testing.F) {
	seed := func(r message.Record) {
		m, err := message.Encode(&r, message.RandomID())
		require.NoError(f, err)
		f.Add(m.Payload, m.UserHeaders, m.Header.OriginTimestamp, uint64(serverTime))
	}
	seed(message.Record{Timestamp: -5, Key: []byte("k"), Value: []byte("v")})
	seed(message.Record{Key: []byte{}, Headers: []message.Header{{Name: []byte("a")}, {Name: []byte("a"), Value: []byte("b")}}})
	seed(message.Record{Value: []byte{}, Headers: []message.Header{{Name: []byte("a"), Value: []byte("b")}}})
	f.Add([]byte("native"), iggcon.GetHeadersBytes([]iggcon.HeaderEntry{{
		Key: iggcon.NewHeaderKeyInt32(5), Value: iggcon.HeaderValue{Kind: iggcon.Bool, Value: []byte{1}},
	}}), uint64(0), uint64(1))
	f.Fuzz(func(t *testing.T, payload, headers []byte, origin, timestamp uint64) {
		m := message.Message{Payload: payload, UserHeaders: headers}
		m.Header.OriginTimestamp, m.Header.Timestamp = origin, timestamp
		var r message.Record
		if err := message.Decode(&m, &r); err != nil {
			require.ErrorIs(t, err, message.ErrUnreadable)
			return
		}
		require.LessOrEqual(t, len(r.Headers), (len(payload)+len(headers))/9)
		if r.Value == nil {
			require.True(t, message.FromGateway(&m))
		}
		roundTrip(t, r)
	})
}
