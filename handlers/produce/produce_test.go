package produce_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/topicconfig"
	"github.com/iggykafka/gateway/handlers/produce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, produce.New(nil)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, produce.New(nil), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, produce.New(nil)) }

// fake is a store that keeps what it is given.
type fake struct {
	backend.Backend
	topics   []backend.Topic
	lookups  int
	appended [][]backend.Append
	ctx      context.Context
	answer   func(backend.Append) backend.Appended
}

var defaults = topicconfig.Config{
	Delete: true, MaxMessageBytes: 1_000_000, MaxDecompressedBytes: 1_000_000,
	TimestampAfterMaxMs: 3600000, TimestampBeforeMaxMs: math.MaxInt64,
}

// topic adds a topic with two partitions and a config that differs from the
// defaults by change.
func (f *fake) topic(name string, change func(*topicconfig.Config)) uuid.UUID {
	t := backend.Topic{Name: name, ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), Partitions: 2, Config: defaults}
	if change != nil {
		change(&t.Config)
	}
	f.topics = append(f.topics, t)
	return t.ID
}

func (f *fake) find(is func(backend.Topic) bool) (backend.Topic, error) {
	f.lookups++
	for _, t := range f.topics {
		if is(t) {
			return t, nil
		}
	}
	return backend.Topic{}, backend.ErrUnknownTopic
}

func (f *fake) Topic(_ context.Context, name string) (backend.Topic, error) {
	return f.find(func(t backend.Topic) bool { return t.Name == name })
}

func (f *fake) TopicByID(_ context.Context, id uuid.UUID) (backend.Topic, error) {
	return f.find(func(t backend.Topic) bool { return t.ID == id })
}

func (f *fake) Append(ctx context.Context, batches []backend.Append) []backend.Appended {
	f.ctx = ctx
	f.appended = append(f.appended, batches)
	var out []backend.Appended
	for _, b := range batches {
		a := backend.Appended{BaseOffset: 40 + int64(b.Partition.Index), LogStart: 7, AppendTime: -1}
		if f.answer != nil {
			a = f.answer(b)
		}
		out = append(out, a)
	}
	return out
}

// store returns a fake with a topic of each kind.
func store() *fake {
	f := new(fake)
	f.topic("plain", nil)
	f.topic("small", func(c *topicconfig.Config) { c.MaxMessageBytes = 80 })
	f.topic("narrow", func(c *topicconfig.Config) { c.MaxDecompressedBytes = 80 })
	f.topic("compact", func(c *topicconfig.Config) { c.Compact = true })
	f.topic("bounded", func(c *topicconfig.Config) { c.TimestampBeforeMaxMs = 1000 })
	f.topic("stamped", func(c *topicconfig.Config) { c.LogAppendTime = true })
	return f
}

func request(version, acks int16, topics ...kmsg.ProduceRequestTopic) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis, r.Topics = version, acks, 30_000, topics
	return r
}

func topic(name string, parts ...kmsg.ProduceRequestTopicPartition) kmsg.ProduceRequestTopic {
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = name, parts
	return t
}

func part(index int32, records []byte) kmsg.ProduceRequestTopicPartition {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = index, records
	return p
}

func answer(t *testing.T, s produce.Store, req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	t.Helper()
	resp, err := produce.New(s).Handle(context.Background(), handler.Call{}, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, req.Version)
	require.NoError(t, err)
	return back.(*kmsg.ProduceResponse)
}

// Each row breaks everything that later rows break too, so that the codes
// prove the order of the checks.
func TestOrderOfChecks(t *testing.T) {
	// damage is a batch with one fault more for each lower step.
	const (
		fine = iota
		oldTimestamp
		undecodable
		badCount
		control
		badCRC
		tooLarge
		badAcks
		cutShort
		unknownTopic
		transactional
		transactionalID
	)
	build := func(step int) *kmsg.ProduceRequest {
		b := recordtest.Values("value")
		if step >= tooLarge {
			b = recordtest.Values(strings.Repeat("value", 200))
		}
		if step < oldTimestamp {
			b = b.At(time.Now().UnixMilli())
		}
		if step >= control {
			b.Attributes |= 0x20
		}
		if step >= transactional {
			b.Attributes |= 0x10
		}
		raw := b.Bytes()
		if step >= undecodable {
			raw[record.HeaderSize+4] = 0x7e // length of the key
		}
		if step >= badCount {
			raw[60] = 9
		}
		recordtest.Seal(raw)
		if step >= badCRC {
			raw[17] ^= 1
		}
		if step >= cutShort {
			raw = raw[:len(raw)-1]
		}
		req := request(9, -1, topic("strict", part(0, raw)))
		if step >= badAcks {
			req.Acks = 2
		}
		if step >= unknownTopic {
			req.Topics[0].Topic = "nobody"
		}
		if step >= transactionalID {
			req.TransactionID = kmsg.StringPtr("tx")
		}
		return req
	}
	for step, code := range []int16{
		fine: 0, oldTimestamp: 32, undecodable: 87, badCount: 87, control: 87, badCRC: 2, tooLarge: 10,
		badAcks: 21, transactional: 53, cutShort: 87, unknownTopic: 3, transactionalID: 53,
	} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			f := new(fake)
			f.topic("strict", func(c *topicconfig.Config) { c.MaxMessageBytes, c.TimestampBeforeMaxMs = 200, 60000 })
			p := answer(t, f, build(step)).Topics[0].Partitions[0]
			require.Equal(t, kerr.TypedErrorForCode(code), kerr.TypedErrorForCode(p.ErrorCode))
			if code != 0 {
				require.Empty(t, f.appended)
				require.Equal(t, []int64{-1, -1, -1}, []int64{p.BaseOffset, p.LogAppendTime, p.LogStartOffset})
				return
			}
			require.Len(t, f.appended, 1)
			require.Equal(t, []int64{40, -1, 7}, []int64{p.BaseOffset, p.LogAppendTime, p.LogStartOffset})
		})
	}
}

// What a broker of Kafka 4.4 answers to the same bytes, unless it says otherwise.
func TestChecks(t *testing.T) {
	good := recordtest.Values("value").Bytes()
	edit := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	with := func(more ...byte) []byte { return append(bytes.Clone(good), more...) }
	bit := func(attributes int16, b recordtest.Batch) recordtest.Batch { b.Attributes = attributes; return b }
	for name, c := range map[string]struct {
		topic   string
		index   int32
		records []byte
		version int16
		want    *kerr.Error
		says    string
	}{
		"good":                          {"plain", 0, good, 9, nil, ""},
		"unknown topic":                 {"nobody", 0, good, 9, kerr.UnknownTopicOrPartition, ""},
		"no name":                       {"", 0, good, 9, kerr.UnknownTopicOrPartition, ""},
		"name that no topic can have":   {"a b/c", 0, good, 9, kerr.UnknownTopicOrPartition, ""},
		"index too large":               {"plain", 2, good, 9, kerr.UnknownTopicOrPartition, ""},
		"negative index":                {"plain", -1, good, 9, kerr.UnknownTopicOrPartition, ""},
		"null records":                  {"plain", 0, nil, 9, kerr.InvalidRecord, "cut short"}, // Kafka 4.4 never answers
		"empty records":                 {"plain", 0, []byte{}, 9, kerr.InvalidRecord, "cut short"},
		"part of a header":              {"plain", 0, good[:50], 9, kerr.InvalidRecord, "cut short"},
		"cut short":                     {"plain", 0, good[:len(good)-1], 9, kerr.InvalidRecord, "cut short"},
		"magic 0":                       {"plain", 0, edit(16, 0), 9, kerr.InvalidRecord, "format 0"},
		"magic 1":                       {"plain", 0, edit(16, 1), 9, kerr.InvalidRecord, "format 1"},
		"magic 3":                       {"plain", 0, edit(16, 3), 9, kerr.CorruptMessage, "magic 3"},
		"length below a header":         {"plain", 0, edit(8, 0, 0, 0, 20), 9, kerr.CorruptMessage, "length 20"},
		"length below anything":         {"plain", 0, edit(8, 0, 0, 0, 5), 9, kerr.CorruptMessage, "length 5"},
		"two batches":                   {"plain", 0, with(good...), 9, kerr.InvalidRecord, "more than one"},
		"an old batch behind":           {"plain", 0, with(edit(16, 1)...), 9, kerr.InvalidRecord, "more than one"},
		"5 bytes behind":                {"plain", 0, with(1, 2, 3, 4, 5), 9, nil, ""},
		"most of a batch behind":        {"plain", 0, with(good[:len(good)-1]...), 9, nil, ""},
		"12 zeros behind":               {"plain", 0, with(make([]byte, 12)...), 9, kerr.CorruptMessage, "length 0"},
		"zstd from v7":                  {"plain", 0, recordtest.Values("v").Compressed(record.Zstd).Bytes(), 7, nil, ""},
		"zstd below v7":                 {"plain", 0, recordtest.Values("v").Compressed(record.Zstd).Bytes(), 6, kerr.UnsupportedCompressionType, ""},
		"lz4 below v7":                  {"plain", 0, recordtest.Values("v").Compressed(record.LZ4).Bytes(), 3, nil, ""},
		"transactional batch":           {"plain", 0, bit(0x10, recordtest.Values("v").From(5, 0, 0)).Bytes(), 9, kerr.TransactionalIDAuthorizationFailed, "not served"},
		"largest batch":                 {"small", 0, recordtest.Values("0123456789ab").Bytes(), 9, nil, ""},
		"batch too large":               {"small", 0, recordtest.Values("0123456789abc").Bytes(), 9, kerr.MessageTooLarge, "81 bytes"},
		"CRC":                           {"plain", 0, edit(17, 1, 2, 3, 4), 9, kerr.CorruptMessage, "CRC"},
		"control batch":                 {"plain", 0, bit(0x20, recordtest.Values("v")).Bytes(), 9, kerr.InvalidRecord, "control"},
		"codec 6":                       {"plain", 0, bit(6, recordtest.Values("v")).Bytes(), 9, kerr.InvalidRecord, "compression 6"},                           // Kafka: −1
		"garbage for gzip":              {"plain", 0, recordtest.Values("v").Compressed(record.Gzip).WithPayload([]byte("garbage")), 9, kerr.InvalidRecord, ""}, // Kafka: −1
		"base offset":                   {"plain", 0, recordtest.Seal(edit(7, 9)), 9, kerr.InvalidRecord, "base offset 9"},
		"producer without sequence":     {"plain", 0, recordtest.Values("v").From(5, 0, -1).Bytes(), 9, kerr.InvalidRecord, "sequence"},
		"large record":                  {"narrow", 0, recordtest.Values(strings.Repeat("x", 100)).Bytes(), 9, nil, ""},
		"record that grows too large":   {"narrow", 0, recordtest.Values(strings.Repeat("x", 100)).Compressed(record.Gzip).Bytes(), 9, kerr.InvalidRecord, "limit 80"},
		"null key":                      {"compact", 0, good, 9, kerr.InvalidRecord, "without key"},
		"empty key":                     {"compact", 0, recordtest.New(recordtest.Record{Key: []byte{}}).Bytes(), 9, nil, ""},
		"old":                           {"bounded", 0, good, 9, kerr.InvalidTimestamp, "rejected due to invalid timestamp"},
		"no timestamp":                  {"bounded", 0, recordtest.Values("v").At(-1).Bytes(), 9, nil, ""},
		"two hours ahead":               {"plain", 0, recordtest.Values("v").At(time.Now().UnixMilli() + 7200000).Bytes(), 9, kerr.InvalidTimestamp, ""},
		"two hours ahead, LogAppend":    {"stamped", 0, recordtest.Values("v").At(time.Now().UnixMilli() + 7200000).Bytes(), 9, nil, ""},
		"LogAppendTime of the producer": {"stamped", 0, bit(8, recordtest.Values("v")).Bytes(), 9, kerr.InvalidTimestamp, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := store()
			p := answer(t, f, request(c.version, 1, topic(c.topic, part(c.index, c.records)))).Topics[0].Partitions[0]
			require.Equal(t, c.index, p.Partition)
			if c.want == nil {
				require.Zero(t, p.ErrorCode)
				require.Nil(t, p.ErrorMessage)
				require.Len(t, f.appended, 1)
				require.Len(t, f.appended[0], 1)
				return
			}
			require.Equal(t, c.want, kerr.TypedErrorForCode(p.ErrorCode))
			require.Empty(t, f.appended)
			if c.says != "" {
				require.NotNil(t, p.ErrorMessage)
				require.Contains(t, *p.ErrorMessage, c.says)
			}
		})
	}
}

func TestBytesArriveAsSent(t *testing.T) {
	f := store()
	sent := recordtest.New(recordtest.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kmsg.Header{{Key: "b"}, {Key: "a"}, {Key: "b"}}}).
		Compressed(record.Zstd).From(9, 2, 77).Bytes()
	answer(t, f, request(9, 1, topic("plain", part(1, bytes.Clone(sent)))))
	got := f.appended[0][0]
	require.Equal(t, backend.Partition{Topic: f.topics[0].ID, Index: 1}, got.Partition)
	require.Equal(t, sent, got.Batch.Bytes)
	require.Equal(t, int32(77), got.Batch.BaseSequence)
}

// A wrong largest timestamp, and a LogAppendTime bit where the topic has none,
// are set right before the batch is stored.
func TestHeaderIsSetRight(t *testing.T) {
	for name, b := range map[string]recordtest.Batch{
		"largest timestamp": {Records: []recordtest.Record{{Timestamp: 5000}, {Timestamp: 4000}}, ProducerID: -1, MaxTimestamp: 17},
		"LogAppendTime bit": {Records: []recordtest.Record{{Timestamp: 5000}}, ProducerID: -1, Attributes: 8},
	} {
		t.Run(name, func(t *testing.T) {
			f := store()
			require.Zero(t, answer(t, f, request(9, 1, topic("plain", part(0, b.Bytes())))).Topics[0].Partitions[0].ErrorCode)
			got, _, err := record.Parse(f.appended[0][0].Batch.Bytes)
			require.NoError(t, err)
			require.Equal(t, int64(5000), got.MaxTimestamp)
			require.False(t, got.LogAppendTime())
			require.True(t, got.ValidCRC())
		})
	}
}

func TestRecordErrors(t *testing.T) {
	now := time.Now().UnixMilli()
	b := recordtest.Values("old", "good", "older").At(now)
	b.Records[0].Timestamp, b.Records[2].Timestamp = now-60000, now-90000
	p := answer(t, store(), request(8, 1, topic("bounded", part(0, b.Bytes())))).Topics[0].Partitions[0]
	require.Len(t, p.ErrorRecords, 2)
	require.Equal(t, int32(0), p.ErrorRecords[0].RelativeOffset)
	require.Equal(t, int32(2), p.ErrorRecords[1].RelativeOffset)
	require.Contains(t, *p.ErrorRecords[1].ErrorMessage, fmt.Sprintf("Timestamp %d of message with offset 2 is out of range", now-90000))

	// Below v8 there is no place for them.
	p = answer(t, store(), request(7, 1, topic("bounded", part(0, b.Bytes())))).Topics[0].Partitions[0]
	require.Equal(t, kerr.InvalidTimestamp.Code, p.ErrorCode)
	require.Empty(t, p.ErrorRecords)
}

// A small compressed batch with very many bad records gets a small answer.
func TestRecordErrorsAreBounded(t *testing.T) {
	many := recordtest.Values(make([]string, 20_000)...).Compressed(record.Zstd).Bytes()
	require.Less(t, len(many), 900_000)
	var parts []kmsg.ProduceRequestTopicPartition
	for i := range 2 {
		parts = append(parts, part(int32(i), many))
	}
	resp := answer(t, store(), request(9, 1, topic("bounded", parts...)))
	total := 0
	for _, p := range resp.Topics[0].Partitions {
		require.Equal(t, kerr.InvalidTimestamp.Code, p.ErrorCode)
		total += len(p.ErrorRecords)
	}
	require.Equal(t, 1000, total)
}

func TestTransactionalID(t *testing.T) {
	req := request(9, -1, topic("plain", part(0, recordtest.Values("v").Bytes()), part(9, nil)), topic("nobody", part(0, nil)))
	req.TransactionID = kmsg.StringPtr("tx")
	f := store()
	for _, topic := range answer(t, f, req).Topics {
		for _, p := range topic.Partitions {
			require.Equal(t, kerr.TransactionalIDAuthorizationFailed.Code, p.ErrorCode)
		}
	}
	require.Empty(t, f.appended)

	req.TransactionID = kmsg.StringPtr("")
	require.Zero(t, answer(t, f, req).Topics[0].Partitions[0].ErrorCode, "an empty id is none")
}

// The last of several entries for a partition counts, and a topic named twice
// is one topic; this is what Kafka does.
func TestRepeats(t *testing.T) {
	one, two := recordtest.Values("first").Bytes(), recordtest.Values("second").Bytes()
	f := store()
	resp := answer(t, f, request(9, 1,
		topic("plain", part(1, one), part(0, one), part(1, nil)),
		topic("small"),
		topic("compact", part(0, nil)),
		topic("plain", part(1, two)),
	))
	require.Len(t, resp.Topics, 2)
	require.Equal(t, "plain", resp.Topics[0].Topic)
	require.Equal(t, "compact", resp.Topics[1].Topic)
	require.Len(t, resp.Topics[0].Partitions, 2)
	require.Equal(t, int32(1), resp.Topics[0].Partitions[0].Partition)
	require.Equal(t, int64(41), resp.Topics[0].Partitions[0].BaseOffset)
	require.Equal(t, int64(40), resp.Topics[0].Partitions[1].BaseOffset)
	require.Len(t, f.appended, 1, "one call for the whole request")
	require.Equal(t, two, f.appended[0][0].Batch.Bytes)
	require.Equal(t, one, f.appended[0][1].Batch.Bytes)
}

func TestTopicIDs(t *testing.T) {
	f := store()
	good := recordtest.Values("v").Bytes()
	byID := func(id uuid.UUID, index int32) kmsg.ProduceRequestTopic {
		t := topic("", part(index, good))
		t.TopicID = id
		return t
	}
	unknown := uuid.New()
	resp := answer(t, f, request(13, 1, byID(unknown, 0), byID(uuid.Nil, 0), byID(f.topics[0].ID, 0), byID(f.topics[1].ID, 5)))
	var got []string
	for _, t := range resp.Topics {
		got = append(got, fmt.Sprint(uuid.UUID(t.TopicID), " ", t.Partitions[0].ErrorCode))
	}
	require.Equal(t, []string{
		unknown.String() + " 100", uuid.Nil.String() + " 100", f.topics[0].ID.String() + " 0", f.topics[1].ID.String() + " 3",
	}, got)

	// A topic that goes away in the middle.
	f.answer = func(backend.Append) backend.Appended { return backend.Appended{Err: backend.ErrUnknownTopic} }
	require.Equal(t, kerr.UnknownTopicID.Code, answer(t, f, request(13, 1, byID(f.topics[0].ID, 0))).Topics[0].Partitions[0].ErrorCode)
	require.Equal(t, kerr.UnknownTopicOrPartition.Code, answer(t, f, request(12, 1, topic("plain", part(0, good)))).Topics[0].Partitions[0].ErrorCode)
}
