package message_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// log is a partition of a real server, and the SDK's client that talks to it.
type log struct {
	t      *testing.T
	client iggcon.Client
	topic  iggcon.Identifier
}

func connect(t *testing.T, server *iggytest.Process) log {
	c, err := client.NewIggyClient(client.WithTcp(tcp.WithServerAddress(server.Address())))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	name, err := iggcon.NewIdentifier("message")
	require.NoError(t, err)
	return log{t, c, name}
}

func realLog(t *testing.T) (log, *iggytest.Process) {
	server := iggytest.Real(t, iggytest.NoFsync())
	l := connect(t, server)
	_, err := l.client.CreateStream("message")
	require.NoError(t, err)
	_, err = l.client.CreateTopic(l.topic, "message", 1, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, math.MaxUint64, nil)
	require.NoError(t, err)
	return l, server
}

func (l log) send(messages ...message.Message) error {
	return l.client.SendMessages(l.topic, l.topic, iggcon.PartitionId(0), messages)
}

func (l log) poll(from, count int) []message.Message {
	consumer, err := iggcon.NewIdentifier(uint32(1))
	require.NoError(l.t, err)
	partition := uint32(0)
	polled, err := l.client.PollMessages(l.topic, l.topic, iggcon.NewSingleConsumer(consumer), iggcon.OffsetPollingStrategy(uint64(from)),
		uint32(count), false, &partition)
	require.NoError(l.t, err)
	return polled.Messages
}

// shapes are records of every row of the table. Their timestamps lie as far apart
// as they can, in one request.
func shapes() []message.Record {
	headers := func(n int, value []byte) (h []message.Header) {
		for i := range n {
			h = append(h, message.Header{Name: []byte{'a' + byte(i%26), byte('a' + i/26)}, Value: value})
		}
		return h
	}
	a := message.Header{Name: []byte("a"), Value: []byte("1")}
	return []message.Record{
		{Timestamp: recordtest.Time, Value: []byte("plain")},
		{Timestamp: 0, Value: []byte("epoch")},
		{Timestamp: -1, Value: []byte("no timestamp")},
		{Timestamp: -7, Value: []byte("before the epoch")},
		{Timestamp: math.MaxInt64, Value: []byte("beyond")},
		{Timestamp: math.MaxUint64 / 1000, Value: []byte("the last that fits")},
		{Timestamp: 1, Key: []byte("key"), Value: []byte{0}},
		{Timestamp: recordtest.Time, Value: nil},
		{Timestamp: recordtest.Time, Value: []byte{}},
		{Timestamp: recordtest.Time, Key: []byte{}, Value: nil},
		{Timestamp: recordtest.Time, Key: bytes.Repeat([]byte("k"), 300), Value: []byte("v"), Headers: []message.Header{a}},
		{Timestamp: recordtest.Time, Value: []byte("v"), Headers: []message.Header{{Name: []byte("z"), Value: []byte{0xff}}, a}},
		{Timestamp: recordtest.Time, Value: []byte("v"), Headers: []message.Header{a, a, {Name: []byte{}}}},
		{Timestamp: recordtest.Time, Value: []byte("v"), Headers: []message.Header{{Name: []byte("kafka.key"), Value: []byte("mine")}, {Name: []byte{0xfe}, Value: []byte("x")}}},
		{Timestamp: recordtest.Time, Value: []byte("v"), Headers: headers(360, bytes.Repeat([]byte("h"), 255))},
		{Timestamp: recordtest.Time, Value: []byte("v"), Headers: headers(364, bytes.Repeat([]byte("h"), 255))},
	}
}

// What is sent to a real server comes back the same, from memory and from disk.
func TestRealServerKeepsMessages(t *testing.T) {
	t.Parallel()
	l, server := realLog(t)
	var records []message.Record
	for range 2 {
		records = append(records, shapes()...)
	}
	var messages []message.Message
	for i, r := range records {
		id := message.RandomID()
		if i%2 == 0 {
			id = message.NewID(int64(i), 1, int32(i), i == 0)
		}
		m, err := message.Encode(&r, id)
		require.NoError(t, err)
		messages = append(messages, m)
	}
	require.NoError(t, l.send(messages[:len(records)/2]...))
	require.NoError(t, l.send(messages[len(records)/2:]...))
	check := func(l log) {
		got := l.poll(0, len(records)+1)
		require.Len(t, got, len(records))
		for i := range got {
			require.Equal(t, messages[i].Payload, got[i].Payload)
			require.Equal(t, messages[i].UserHeaders, got[i].UserHeaders)
			require.Equal(t, messages[i].Header.Id, got[i].Header.Id)
			require.Equal(t, messages[i].Header.OriginTimestamp, got[i].Header.OriginTimestamp)
			require.Equal(t, uint64(i), got[i].Header.Offset)
			var r message.Record
			require.NoError(t, message.Decode(&got[i], &r))
			want := records[i]
			if want.Timestamp == -1 {
				want.Timestamp = int64(got[i].Header.Timestamp / 1000)
			}
			requireSame(t, want, r)
		}
		var b message.Batcher
		out, done := b.Append(nil, got, message.Want{MaxBytes: math.MaxInt32})
		require.Equal(t, len(records), done.Records)
		consumed, next := consume(t, out, 0)
		require.Len(t, consumed, len(records))
		require.Equal(t, int64(len(records)), next)
	}
	check(l)
	server.Stop()
	server.Start()
	check(connect(t, server))
}

// Messages of native clients, with user headers of all kinds.
func TestRealServerNativeMessages(t *testing.T) {
	t.Parallel()
	l, _ := realLog(t)
	text, err := iggcon.NewHeaderKeyString("text")
	require.NoError(t, err)
	raw, err := iggcon.NewHeaderKeyRaw([]byte("raw"))
	require.NoError(t, err)
	m, err := iggcon.NewIggyMessage([]byte("native"), iggcon.WithUserHeaders([]iggcon.HeaderEntry{
		{Key: text, Value: iggcon.HeaderValue{Kind: iggcon.String, Value: []byte("value")}},
		{Key: raw, Value: iggcon.HeaderValue{Kind: iggcon.Uint16, Value: []byte{1, 2}}},
		{Key: iggcon.NewHeaderKeyInt32(65), Value: iggcon.HeaderValue{Kind: iggcon.Bool, Value: []byte{1}}},
	}))
	require.NoError(t, err)
	require.NoError(t, l.send(m))
	got := l.poll(0, 1)
	require.Len(t, got, 1)
	_, _, _, _, ok := message.ParseID(got[0].Header.Id)
	require.False(t, ok && message.FromGateway(&got[0]))
	var r message.Record
	require.NoError(t, message.Decode(&got[0], &r))
	requireSame(t, message.Record{
		Timestamp: int64(m.Header.OriginTimestamp / 1000), Value: []byte("native"), Headers: []message.Header{
			{Name: []byte("text"), Value: []byte("value")}, {Name: []byte("raw"), Value: []byte{1, 2}}, {Name: []byte("A\x00\x00\x00"), Value: []byte{1}},
		},
	}, r)
}

// The server's bounds are those of this package.
func TestRealServerBounds(t *testing.T) {
	t.Parallel()
	l, _ := realLog(t)
	r := message.Record{Timestamp: 1, Value: []byte(strings.Repeat("v", message.MaxPayload))}
	m, err := message.Encode(&r, message.RandomID())
	require.NoError(t, err)
	require.NoError(t, l.send(m))
	got := l.poll(0, 1)
	require.Len(t, got, 1)
	require.True(t, bytes.Equal(m.Payload, got[0].Payload))

	m.Payload = append(m.Payload, 'v')
	m.Header.PayloadLength++
	requireCode(t, ierror.TooBigMessagePayloadCode, l.send(m))
	m.Payload, m.Header.PayloadLength = []byte("v"), 1
	m.UserHeaders = bytes.Repeat([]byte{1}, message.MaxUserHeaders)
	m.Header.UserHeaderLength = message.MaxUserHeaders
	require.NoError(t, l.send(m), "the server does not look into user headers")
	got = l.poll(1, 1)
	require.Len(t, got, 1)
	require.ErrorIs(t, message.Decode(&got[0], &r), message.ErrUnreadable)
	m.UserHeaders = append(m.UserHeaders, 1)
	m.Header.UserHeaderLength++
	requireCode(t, ierror.TooBigUserHeadersCode, l.send(m))
}

func requireCode(t *testing.T, want ierror.Code, err error) {
	t.Helper()
	var refused ierror.IggyError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.Equal(t, want, refused.Code())
}
