package iggytest_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestAgreeSend(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		sent := []wiretest.Message{
			{ID: [16]byte{1, 2, 3}, Origin: 42, Payload: []byte("payload"), Headers: []byte("not looked at"),
				Checksum: 7, Offset: 0, Timestamp: 9, Reserved: 11},
			{Payload: []byte("x")},
			{Payload: nil}, // an empty payload is taken
		}
		require.Empty(t, p.ok(wiretest.SendMessages, wiretest.SendBody("s", "t", 0, sent...)))
		got := p.poll(wiretest.ByOffset, 0, 9).Messages
		require.Len(t, got, 3)
		for i, m := range got {
			require.EqualValues(t, i, m.Offset)
			require.Equal(t, sent[i].Origin, m.Origin)
			require.Equal(t, sent[i].Reserved, m.Reserved)
			require.Equal(t, string(sent[i].Payload), string(m.Payload))
			require.Equal(t, string(sent[i].Headers), string(m.Headers))
			recent(t, m.Timestamp)
		}
		require.Equal(t, sent[0].ID, got[0].ID, "an id is kept")
		require.NotZero(t, got[1].ID, "no id gets a random one")
		require.NotEqual(t, got[1].ID, got[2].ID)
		p.send("next")
		p.polled(wiretest.FromLast, 0, 1, 3, 3)
	})
}

func TestAgreeSendRefused(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		one := messages("a")
		p.refused(1009, wiretest.SendMessages, wiretest.SendBody("x", "t", 0, one...))
		p.refused(2010, wiretest.SendMessages, wiretest.SendBody("s", "x", 0, one...))
		p.refused(3007, wiretest.SendMessages, wiretest.SendBody("s", "t", 1, one...))
		p.refused(4009, wiretest.SendMessages, wiretest.SendBody("s", "t", 0))
		p.refused(4009, wiretest.SendMessages, wiretest.SendBody("x", "t", 0)) // before the stream is looked for
		require.NoError(t, p.SetDeadline(time.Now().Add(10*wait)))             // large requests are slow on a busy machine
		big := wiretest.Message{Payload: make([]byte, 64_000_001)}
		p.refused(4022, wiretest.SendMessages, wiretest.SendBody("s", "t", 0, big))
		headers := wiretest.Message{Payload: []byte("a"), Headers: make([]byte, 100_001)}
		p.refused(4017, wiretest.SendMessages, wiretest.SendBody("s", "t", 0, one[0], headers))
		p.polled(wiretest.ByOffset, 0, 1, 0) // all or none
		most := wiretest.Message{Payload: make([]byte, 64_000_000), Headers: make([]byte, 100_000)}
		p.ok(wiretest.SendMessages, wiretest.SendBody("s", "t", 0, most))
		p.polled(wiretest.ByOffset, 1, 1, 0)
	})
}

// TestAgreeSendMalformed sends what no client does.
func TestAgreeSendMalformed(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		data := messages("abc")[0].Append(nil)
		index := func(offset, end uint32, time uint64) []byte {
			b := binary.LittleEndian.AppendUint32(nil, offset)
			b = binary.LittleEndian.AppendUint32(b, end)
			return binary.LittleEndian.AppendUint64(b, time)
		}
		right := index(0, uint32(len(data)), 0)
		two := append(data, data...)
		for name, c := range map[string]struct {
			want, count uint32
			index, data []byte
		}{
			"offset in the index":    {4031, 1, index(1, uint32(len(data)), 0), data},
			"time in the index":      {4032, 1, index(0, uint32(len(data)), 1), data},
			"shorter than a header":  {4033, 1, right, data[:63]},
			"shorter than it says":   {4033, 1, right, data[:len(data)-1]},
			"longer than it says":    {4036, 1, right, append(data, 0)},
			"an end beyond the data": {4033, 2, append(index(0, 1000, 0), right...), two},
			"an end amid a message":  {4033, 2, append(index(0, 10, 0), right...), two},
		} {
			status, _, err := p.Call(wiretest.SendMessages, wiretest.SendRaw("s", "t", 0, c.count, c.index, c.data))
			require.NoError(t, err, name)
			require.Equal(t, c.want, status, name)
		}
		p.ok(wiretest.SendMessages, wiretest.SendRaw("s", "t", 0, 1, index(0, 0, 0), data)) // the last end is not looked at
		p.polled(wiretest.ByOffset, 0, 9, 0, 0)
	})
}

func TestAgreeSendElsewhere(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 2)
		p.refused(2010, wiretest.SendMessages, wiretest.SendBody("s", "x", 9, messages("a")...))
		body := wiretest.SendBody("s", "t", 0, messages("a")...)
		const kindAt = 4 + 3 + 3
		body[kindAt] = 9
		fresh := newPeer(t, server)
		status, _, err := fresh.Call(wiretest.SendMessages, body)
		require.NoError(t, err)
		require.EqualValues(t, 3, status, "a kind of partitioning that is not there")
		topics := p.ok(wiretest.GetTopic, names("s", "t"))
		require.Zero(t, binary.LittleEndian.Uint64(topics[42:]), "nothing was sent")
	})
}
