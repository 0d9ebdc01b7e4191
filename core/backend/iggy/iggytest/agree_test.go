package iggytest_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// The tests in the files agree_*_test.go say how Iggy answers. They run with the
// real server and with the stand-in: what differs is a fault of the stand-in.

// peer is a logged-in connection whose calls must be answered.
type peer struct {
	t *testing.T
	*wiretest.Conn
}

// agree runs a test with both servers, each started for it.
func agree(t *testing.T, test func(t *testing.T, server iggytest.Server), opts ...iggytest.Option) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		test(t, start(t, append(opts, iggytest.NoFsync())...))
	})
}

func newPeer(t *testing.T, server iggytest.Server) *peer {
	t.Helper()
	return &peer{t, login(t, server.Address())}
}

// ok returns the reply to a request that is not refused.
func (p *peer) ok(code uint32, body []byte) []byte {
	p.t.Helper()
	status, reply, err := p.Call(code, body)
	require.NoError(p.t, err)
	require.Zero(p.t, status)
	return reply
}

// refused sees a request refused with a status and nothing else.
func (p *peer) refused(want, code uint32, body []byte) {
	p.t.Helper()
	status, reply, err := p.Call(code, body)
	require.NoError(p.t, err)
	require.Equal(p.t, want, status)
	require.Empty(p.t, reply)
}

// gone sees the answer to a question for what is not there: nothing.
func (p *peer) gone(code uint32, body []byte) {
	p.t.Helper()
	require.Empty(p.t, p.ok(code, body))
}

const (
	never     = math.MaxUint64
	unlimited = math.MaxUint64
)

// settings are the numbers of a CreateTopic or an UpdateTopic, with the name.
func settings(to []byte, compression uint8, expiry, size uint64, replication uint8, name string) []byte {
	to = append(to, compression)
	to = binary.LittleEndian.AppendUint64(to, expiry)
	to = binary.LittleEndian.AppendUint64(to, size)
	return wiretest.String8(append(to, replication), name)
}

func createTopic(stream, name string, partitions uint32, expiry, size uint64) []byte {
	body := binary.LittleEndian.AppendUint32(wiretest.Name(nil, stream), partitions)
	return settings(body, 1, expiry, size, 1, name)
}

func names(all ...string) []byte {
	var body []byte
	for _, name := range all {
		body = wiretest.Name(body, name)
	}
	return body
}

// topic makes a stream and a topic in it.
func (p *peer) topic(stream, name string, partitions uint32) {
	p.t.Helper()
	p.ok(wiretest.CreateStream, wiretest.String8(nil, stream))
	p.ok(wiretest.CreateTopic, createTopic(stream, name, partitions, never, unlimited))
}

// send sends payloads in one request to partition 0 of s/t.
func (p *peer) send(payloads ...string) {
	p.t.Helper()
	p.ok(wiretest.SendMessages, wiretest.SendBody("s", "t", 0, messages(payloads...)...))
}

func messages(payloads ...string) []wiretest.Message {
	var all []wiretest.Message
	for _, payload := range payloads {
		all = append(all, wiretest.Message{Payload: []byte(payload), Origin: 1})
	}
	return all
}

// poll polls partition 0 of s/t.
func (p *peer) poll(kind uint8, value uint64, count uint32) wiretest.Polled {
	p.t.Helper()
	return wiretest.ParsePolled(p.ok(wiretest.PollMessages, wiretest.PollBody("s", "t", 0, kind, value, count)))
}

// polled sees a poll return messages with these offsets, and CurrentOffset.
func (p *peer) polled(kind uint8, value uint64, count uint32, current uint64, offsets ...uint64) {
	p.t.Helper()
	found := p.poll(kind, value, count)
	require.Equal(p.t, current, found.Current, "current offset")
	require.Equal(p.t, offsets, offsetsOf(found.Messages))
	require.EqualValues(p.t, len(offsets), found.Count)
}

func offsetsOf(messages []wiretest.Message) []uint64 {
	var all []uint64
	for _, m := range messages {
		all = append(all, m.Offset)
	}
	return all
}

// described is the beginning of the reply to GetStream, GetTopic and the like.
type described struct {
	id      uint32
	created uint64
}

func describe(reply []byte) described {
	return described{binary.LittleEndian.Uint32(reply), binary.LittleEndian.Uint64(reply[4:])}
}

// recent sees that a time in µs is about now.
func recent(t *testing.T, µs uint64) {
	t.Helper()
	require.WithinDuration(t, time.Now(), time.UnixMicro(int64(µs)), wait)
}
