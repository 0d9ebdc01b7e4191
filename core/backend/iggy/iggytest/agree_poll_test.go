package iggytest_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestAgreePoll(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 2)
		for _, kind := range []uint8{wiretest.ByOffset, wiretest.FromFirst, wiretest.FromLast, wiretest.FromNext, wiretest.ByTimestamp} {
			p.polled(kind, 0, 10, 0) // nothing there
		}
		p.polled(wiretest.ByOffset, math.MaxUint64, 1, 0)
		p.send("a")
		p.polled(wiretest.ByOffset, 0, 1, 0, 0) // one message: CurrentOffset is 0 still
		p.polled(wiretest.ByOffset, math.MaxUint64, 1, 0)
		p.send("b", "c", "d")
		p.polled(wiretest.ByOffset, 0, 10, 3, 0, 1, 2, 3)
		p.polled(wiretest.ByOffset, 1, 2, 3, 1, 2)
		p.polled(wiretest.ByOffset, 3, 10, 3, 3)
		p.polled(wiretest.ByOffset, 4, 10, 3)
		p.polled(wiretest.ByOffset, math.MaxUint64, 10, 3)
		p.polled(wiretest.ByOffset, 0, 0, 3)
		p.polled(wiretest.ByOffset, 0, math.MaxUint32, 3, 0, 1, 2, 3)
		p.polled(wiretest.FromFirst, 9, 2, 3, 0, 1)
		p.polled(wiretest.FromLast, 0, 1, 3, 3)
		p.polled(wiretest.FromLast, 0, 3, 3, 1, 2, 3)
		p.polled(wiretest.FromLast, 0, 99, 3, 0, 1, 2, 3)
		p.polled(wiretest.FromNext, 0, 2, 3, 0, 1)
		p.polled(wiretest.FromNext, 0, 2, 3, 0, 1) // nothing was committed
		found := wiretest.ParsePolled(p.ok(wiretest.PollMessages, wiretest.PollBody("s", "t", 1, wiretest.ByOffset, 0, 9)))
		require.Equal(t, wiretest.Polled{Partition: 1}, found)
	})
}

func TestAgreePollCommits(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.send("a", "b", "c")
		body := wiretest.PollBody("s", "t", 0, wiretest.FromNext, 0, 2)
		body[len(body)-1] = 1
		p.ok(wiretest.PollMessages, body)
		p.polled(wiretest.FromNext, 0, 9, 2, 2)
		server.Kill()
		server.Start()
		p = newPeer(t, server)
		p.polled(wiretest.FromNext, 0, 9, 2, 2)
	})
}

func TestAgreePollTime(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.send("a", "b")
		p.send("c", "d", "e")
		p.send("f")
		all := p.poll(wiretest.ByOffset, 0, 9).Messages
		first, second, third := all[0].Timestamp, all[2].Timestamp, all[5].Timestamp
		require.Equal(t, first, all[1].Timestamp, "a batch has one time")
		require.Less(t, first, second)
		require.Less(t, second, third)
		recent(t, first)
		p.polled(wiretest.ByTimestamp, 0, 9, 5, 0, 1, 2, 3, 4, 5)
		p.polled(wiretest.ByTimestamp, first, 9, 5, 0, 1, 2, 3, 4, 5)
		p.polled(wiretest.ByTimestamp, first+1, 2, 5, 2, 3)
		p.polled(wiretest.ByTimestamp, second, 9, 5, 2, 3, 4, 5) // where the search happens to land
		p.polled(wiretest.ByTimestamp, third, 9, 5, 5)
		p.polled(wiretest.ByTimestamp, third+1, 9, 5)
		p.polled(wiretest.ByTimestamp, math.MaxUint64, 9, 5)
		p.polled(wiretest.ByTimestamp, 0, 0, 5)
	})
}

func TestAgreePollInsideBatch(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.send("a")
		p.send("b", "c", "d", "e")
		at := p.poll(wiretest.ByOffset, 1, 1).Messages[0].Timestamp
		p.polled(wiretest.ByTimestamp, at, 9, 4, 2, 3, 4) // not the first of the batch
	})
}

func TestAgreePollRefused(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.refused(1009, wiretest.PollMessages, wiretest.PollBody("x", "t", 0, 1, 0, 1))
		p.refused(2010, wiretest.PollMessages, wiretest.PollBody("s", "x", 0, 1, 0, 1))
		p.refused(3007, wiretest.PollMessages, wiretest.PollBody("s", "t", 1, 1, 0, 1))
		p.refused(3007, wiretest.PollMessages, wiretest.PollBody("s", "t", math.MaxUint32, 1, 0, 1))
		p.refused(3, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, 0, 0, 1))
		p.refused(3, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, 6, 0, 1))
		body := wiretest.PollBody("s", "t", 0, 1, 0, 1)
		p.refused(3, wiretest.PollMessages, body[:len(body)-1])
		p.refused(3, wiretest.PollMessages, nil)
		kind := append([]byte{9}, body[1:]...)
		p.refused(3, wiretest.PollMessages, kind)
		binary.LittleEndian.PutUint32(body[3:], 7) // another consumer
		p.ok(wiretest.PollMessages, body)
		p.ok(wiretest.PollMessages, append(body, "more"...)) // what follows is ignored
	})
}
