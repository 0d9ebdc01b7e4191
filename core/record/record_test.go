package record_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open are rules that let everything pass.
var open = record.Rules{MaxRecordBytes: math.MaxInt32, Earliest: math.MinInt64, Latest: math.MaxInt64, MaxRejected: 10}

// Each codec once, with the framing that makes a difference.
func codecs(b recordtest.Batch) map[string]recordtest.Batch {
	framed := b.Compressed(record.Snappy)
	framed.Xerial = true
	return map[string]recordtest.Batch{
		"none":          b,
		"gzip":          b.Compressed(record.Gzip),
		"snappy":        b.Compressed(record.Snappy),
		"snappy xerial": framed,
		"lz4":           b.Compressed(record.LZ4),
		"zstd":          b.Compressed(record.Zstd),
	}
}

func TestParse(t *testing.T) {
	whole := recordtest.Values("a", "bc").From(7, 1, 40).Bytes()
	b, rest, err := record.Parse(append(bytes.Clone(whole), "trailing"...))
	require.NoError(t, err)
	require.Equal(t, []byte("trailing"), rest)
	require.Equal(t, whole, b.Bytes)
	require.Equal(t, len(whole), cap(b.Bytes), "appending to a batch must not write over the next")

	var want kmsg.RecordBatch
	require.NoError(t, want.ReadFrom(whole))
	require.Equal(t, record.Batch{
		Bytes: whole, BaseOffset: want.FirstOffset, LeaderEpoch: want.PartitionLeaderEpoch, CRC: uint32(want.CRC),
		Attributes: want.Attributes, LastOffsetDelta: want.LastOffsetDelta, BaseTimestamp: want.FirstTimestamp,
		MaxTimestamp: want.MaxTimestamp, ProducerID: want.ProducerID, ProducerEpoch: want.ProducerEpoch,
		BaseSequence: want.FirstSequence, Count: want.NumRecords,
	}, b)
	require.Equal(t, int64(1), b.LastOffset())
	require.Equal(t, int32(41), b.LastSequence())
	require.True(t, b.ValidCRC())
}

// Sequence numbers start again at 0 after 2^31−1.
func TestLastSequenceWraps(t *testing.T) {
	b := recordtest.Values("a", "b", "c").From(7, 0, math.MaxInt32-1).Batch(t)
	require.Equal(t, int32(0), b.LastSequence())
}

func TestParseRefuses(t *testing.T) {
	good := recordtest.Values("hello").Bytes()
	put := func(at int, v ...byte) []byte {
		return append(append(bytes.Clone(good[:at]), v...), good[at+len(v):]...)
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":                   {nil, record.ErrInvalid},
		"no magic":                  {good[:16], record.ErrInvalid},
		"header cut short":          {good[:60], record.ErrInvalid},
		"records cut short":         {good[:len(good)-1], record.ErrInvalid},
		"magic 0":                   {put(16, 0), record.ErrInvalid},
		"magic 1":                   {put(16, 1), record.ErrInvalid},
		"magic 3":                   {put(16, 3), record.ErrCorrupt},
		"magic -1":                  {put(16, 0xff), record.ErrCorrupt},
		"length 0":                  {put(8, 0, 0, 0, 0), record.ErrCorrupt},
		"length below a header":     {put(8, 0, 0, 0, 48), record.ErrCorrupt},
		"negative length":           {put(8, 0xff, 0xff, 0xff, 0xff), record.ErrCorrupt},
		"largest length":            {put(8, 0x7f, 0xff, 0xff, 0xff), record.ErrInvalid},
		"magic 3 that is cut short": {put(16, 3)[:20], record.ErrCorrupt},
		"length 13 before a magic":  {put(8, 0, 0, 0, 13)[:12], record.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := record.Parse(c.in)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	batch := recordtest.New(
		recordtest.Record{Value: []byte("null key"), Timestamp: 1000},
		recordtest.Record{Key: []byte("k"), Timestamp: 3000},
		recordtest.Record{Key: []byte(""), Value: []byte(""), Timestamp: 2000, Headers: []kmsg.Header{
			{Key: "twice", Value: []byte("1")}, {Key: "twice"}, {Key: "", Value: []byte{}},
		}},
		recordtest.Record{Value: bytes.Repeat([]byte("long "), 50_000), Timestamp: 500},
	)
	for name, b := range codecs(batch) {
		t.Run(name, func(t *testing.T) {
			parsed := b.Batch(t)
			latest, err := record.Check(context.Background(), parsed, open)
			require.NoError(t, err)
			require.Equal(t, int64(3000), latest)
			require.Equal(t, b.Bytes(), parsed.Bytes, "a check changes nothing")
			if b.Codec == record.None {
				require.Zero(t, parsed.DecoderMemory())
			} else {
				require.Positive(t, parsed.DecoderMemory())
				require.Less(t, parsed.DecoderMemory(), int64(9<<20))
			}
		})
	}
}

// edit returns a sealed batch with the bytes at a place changed.
func edit(b recordtest.Batch, at int, v ...byte) []byte {
	raw := b.Bytes()
	copy(raw[at:], v)
	return recordtest.Seal(raw)
}

func TestCheckRefuses(t *testing.T) {
	good := recordtest.Values("hello", "world")
	badCRC := good.Bytes()
	badCRC[70] ^= 1
	plain := func(b recordtest.Batch) []byte { return b.Bytes()[record.HeaderSize:] }
	two := plain(good)
	for name, c := range map[string]struct {
		in   []byte
		want error
		says string
	}{
		"CRC":                            {badCRC, record.ErrCorrupt, "CRC"},
		"control bit":                    {edit(good, 21, 0, 0x20), record.ErrInvalid, "control"},
		"codec 5":                        {edit(good, 21, 0, 5), record.ErrInvalid, "compression 5"},
		"codec 7":                        {edit(good, 21, 0, 7), record.ErrInvalid, "compression 7"},
		"base offset":                    {edit(good, 0, 0, 0, 0, 0, 0, 0, 0, 9), record.ErrInvalid, "base offset 9"},
		"producer without sequence":      {good.From(5, 0, -1).Bytes(), record.ErrInvalid, "sequence -1"},
		"count 0":                        {edit(good, 57, 0, 0, 0, 0), record.ErrInvalid, "0 records"},
		"count -1":                       {edit(good, 57, 0xff, 0xff, 0xff, 0xff), record.ErrInvalid, "-1 records"},
		"count above the delta":          {edit(good, 57, 0, 0, 0, 3), record.ErrInvalid, "3 records"},
		"largest count":                  {edit(good, 57, 0x7f, 0xff, 0xff, 0xff), record.ErrInvalid, "records with"},
		"more records than present":      {claims(good, 3), record.ErrInvalid, "end early"},
		"fewer records than present":     {claims(good, 1), record.ErrInvalid, "after the last record"},
		"no records":                     {good.WithPayload(nil), record.ErrInvalid, "end early"},
		"offset delta 0 twice":           {good.WithPayload(append(two[:len(two)/2:len(two)/2], two[:len(two)/2]...)), record.ErrInvalid, "offset delta 0"},
		"record length -1":               {good.WithPayload([]byte{1}), record.ErrInvalid, "record of -1"},
		"record length beyond the batch": {good.WithPayload([]byte{0x7e, 0, 0, 0, 1, 0x70, 0}), record.ErrInvalid, "end early"},
		"record length too small":        {good.WithPayload(lengthen(two, -1)), record.ErrInvalid, ""},
		"record length too large":        {good.WithPayload(lengthen(two, 1)), record.ErrInvalid, ""},
		"varint without end":             {good.WithPayload(bytes.Repeat([]byte{0xff}, 30)), record.ErrInvalid, "over 64 bits"},
		"length over 32 bits":            {good.WithPayload([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), record.ErrInvalid, "over 32 bits"},
		"key beyond the record":          {good.WithPayload([]byte{12, 0, 0, 0, 40, 1, 0}), record.ErrInvalid, "field of 20"},
		"headers without bytes":          {good.WithPayload([]byte{20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f}), record.ErrInvalid, "headers in"},
		"negative headers":               {good.WithPayload([]byte{12, 0, 0, 0, 1, 1, 1}), record.ErrInvalid, "-1 headers"},
		"header without name":            {good.WithPayload([]byte{16, 0, 0, 0, 1, 1, 2, 1, 1}), record.ErrInvalid, "without a name"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, err := record.Parse(c.in)
			require.NoError(t, err)
			_, err = record.Check(context.Background(), b, open)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// claims returns a batch like b whose header says that it has count records.
func claims(b recordtest.Batch, count byte) []byte {
	raw := b.Bytes()
	raw[60], raw[26] = count, count-1
	return recordtest.Seal(raw)
}

// lengthen adds to the length of the first record.
func lengthen(records []byte, by int8) []byte {
	out := bytes.Clone(records)
	out[0] = byte(int8(out[0]) + 2*by)
	return out
}

func TestCheckRefusesCompressedGarbage(t *testing.T) {
	good := recordtest.Values("hello", strings.Repeat("world ", 1000))
	plain := good.Bytes()[record.HeaderSize:]
	for name, b := range codecs(good) {
		if b.Codec == record.None {
			continue
		}
		data := b.Bytes()[record.HeaderSize:]
		for what, payload := range map[string][]byte{
			"empty":      nil,
			"garbage":    []byte("this was never compressed by anyone"),
			"cut short":  data[:len(data)-9],
			"one record": recordtest.Compress(b.Codec, plain[:12]),
			"three":      recordtest.Compress(b.Codec, append(bytes.Clone(plain), plain...)),
			"nothing":    recordtest.Compress(b.Codec, nil),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				parsed, _, err := record.Parse(b.WithPayload(payload))
				require.NoError(t, err)
				_, err = record.Check(context.Background(), parsed, open)
				require.ErrorIs(t, err, record.ErrInvalid)
			})
		}
	}
}

func TestCheckRecordSize(t *testing.T) {
	// Length prefix 2 bytes; 70 bytes of value and 7 around it.
	for name, b := range codecs(recordtest.Values(strings.Repeat("x", 70))) {
		t.Run(name, func(t *testing.T) {
			rules := open
			rules.MaxRecordBytes = 77
			_, err := record.Check(context.Background(), b.Batch(t), rules)
			require.NoError(t, err)
			rules.MaxRecordBytes = 76
			_, err = record.Check(context.Background(), b.Batch(t), rules)
			if b.Codec == record.None {
				require.NoError(t, err, "the limit is for what grows")
				return
			}
			require.ErrorIs(t, err, record.ErrInvalid)
		})
	}
}

func TestCheckTimestamps(t *testing.T) {
	at := func(ms ...int64) recordtest.Batch {
		b := recordtest.New()
		for _, m := range ms {
			b.Records = append(b.Records, recordtest.Record{Timestamp: m})
		}
		return b
	}
	rules := record.Rules{MaxRecordBytes: 100, Earliest: 100, Latest: 200, MaxRejected: 2}

	latest, err := record.Check(context.Background(), at(100, 200, -1).Batch(t), rules)
	require.NoError(t, err)
	require.Equal(t, int64(200), latest)

	latest, err = record.Check(context.Background(), at(-1).Batch(t), rules)
	require.NoError(t, err)
	require.Equal(t, int64(-1), latest)

	_, err = record.Check(context.Background(), at(99, 150, 201, -2).Batch(t), rules)
	var rejected *record.Rejected
	require.ErrorAs(t, err, &rejected)
	require.ErrorIs(t, err, record.ErrTimestamp)
	require.Equal(t, []record.RejectedRecord{
		{0, "Timestamp 99 of message with offset 0 is out of range. The timestamp should be within [100, 200]"},
		{2, "Timestamp 201 of message with offset 2 is out of range. The timestamp should be within [100, 200]"},
	}, rejected.Records, "no more than MaxRejected")

	rules.LogAppendTime = true
	latest, err = record.Check(context.Background(), at(99, 150, 201, -2).Batch(t), rules)
	require.NoError(t, err)
	require.Equal(t, int64(-1), latest)
}

func TestCheckKeys(t *testing.T) {
	b := recordtest.New(recordtest.Record{Key: []byte("k")}, recordtest.Record{Timestamp: 5}, recordtest.Record{Key: []byte{}})
	rules := open
	_, err := record.Check(context.Background(), b.Batch(t), rules)
	require.NoError(t, err)
	rules.Keys = true
	_, err = record.Check(context.Background(), b.Batch(t), rules)
	require.ErrorIs(t, err, record.ErrInvalid)
	require.NotErrorIs(t, err, record.ErrTimestamp)
	var rejected *record.Rejected
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, []record.RejectedRecord{{1, "Compacted topic cannot accept message without key."}}, rejected.Records)

	// As in Kafka, one bad timestamp decides, and all bad records are listed.
	rules.Latest = recordtest.Time - 1
	_, err = record.Check(context.Background(), b.Batch(t), rules)
	require.ErrorIs(t, err, record.ErrTimestamp)
	require.ErrorAs(t, err, &rejected)
	require.Len(t, rejected.Records, 3)
}

// A check that its caller no longer waits for ends.
func TestCheckContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, b := range codecs(recordtest.Values("hello")) {
		_, err := record.Check(ctx, b.Batch(t), open)
		if b.Codec == record.None {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, context.Canceled, name)
		require.False(t, errors.Is(err, record.ErrInvalid), name)
	}
}

func TestSetters(t *testing.T) {
	b := recordtest.Values("a", "b").Batch(t)
	crc := b.CRC
	b.SetBaseOffset(1234567890123)
	b.SetLeaderEpoch(0)
	require.Equal(t, crc, b.CRC)
	require.True(t, b.ValidCRC(), "the CRC covers neither")
	b.SetCreateTime(77)
	require.NotEqual(t, crc, b.CRC)
	require.True(t, b.ValidCRC())
	require.False(t, b.LogAppendTime())
	b.SetLogAppendTime(99)
	require.True(t, b.ValidCRC())

	again, _, err := record.Parse(b.Bytes)
	require.NoError(t, err)
	require.Equal(t, b, again, "fields and bytes agree")
	require.Equal(t, int64(1234567890123), again.BaseOffset)
	require.Equal(t, int64(1234567890124), again.LastOffset())
	require.Equal(t, int32(0), again.LeaderEpoch)
	require.Equal(t, int64(99), again.MaxTimestamp)
	require.True(t, again.LogAppendTime())
}

func TestTimes(t *testing.T) {
	batch := recordtest.New(
		recordtest.Record{Timestamp: 1000}, recordtest.Record{Timestamp: 3000},
		recordtest.Record{Timestamp: 2000}, recordtest.Record{Timestamp: 3000},
	)
	type found struct {
		delta int32
		time  int64
		ok    bool
	}
	for name, b := range codecs(batch) {
		t.Run(name, func(t *testing.T) {
			parsed := b.Batch(t)
			for ms, want := range map[int64]found{
				math.MinInt64: {0, 1000, true}, 0: {0, 1000, true}, 1000: {0, 1000, true}, 1001: {1, 3000, true},
				3000: {1, 3000, true}, 3001: {}, math.MaxInt64: {},
			} {
				delta, time, ok, err := record.FindTime(parsed, ms)
				require.NoError(t, err)
				require.Equal(t, want, found{delta, time, ok}, "ms %d", ms)
			}
			delta, time, err := record.MaxTime(parsed)
			require.NoError(t, err)
			require.Equal(t, found{1, 3000, true}, found{delta, time, true})

			parsed.SetLogAppendTime(5000)
			delta, time, ok, err := record.FindTime(parsed, 4000)
			require.NoError(t, err)
			require.Equal(t, found{0, 5000, true}, found{delta, time, ok})
			delta, time, err = record.MaxTime(parsed)
			require.NoError(t, err)
			require.Equal(t, found{0, 5000, true}, found{delta, time, true})
		})
	}
}

func TestTimesOfBrokenRecords(t *testing.T) {
	b, _, err := record.Parse(recordtest.Values("a").WithPayload(binary.AppendVarint(nil, 100)))
	require.NoError(t, err)
	_, _, _, err = record.FindTime(b, 0)
	require.ErrorIs(t, err, record.ErrInvalid)
	_, _, err = record.MaxTime(b)
	require.ErrorIs(t, err, record.ErrInvalid)
}

// A producer that claims LogAppendTime, as a broker of Kafka 4.4 was seen to
// treat it.
func TestLogAppendTimeBitOfProducer(t *testing.T) {
	batch := recordtest.Values("a")
	batch.Attributes = 0x08
	for name, c := range map[string]struct {
		time  int64
		topic bool // LogAppendTime
		want  error
	}{
		"CreateTime topic":               {recordtest.Time, false, nil},
		"CreateTime topic, no timestamp": {-1, false, record.ErrTimestamp},
		"LogAppendTime topic":            {recordtest.Time, true, record.ErrTimestamp},
	} {
		t.Run(name, func(t *testing.T) {
			rules := open
			rules.LogAppendTime = c.topic
			b := batch.At(c.time).Batch(t)
			latest, err := record.Check(context.Background(), b, rules)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				b.SetCreateTime(latest)
				require.False(t, b.LogAppendTime())
				require.True(t, b.ValidCRC())
			}
		})
	}
}
