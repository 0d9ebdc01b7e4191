package iggytest_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestAgreeRestart(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 2)
		p.ok(wiretest.CreateTopic, createTopic("s", "u", 1, 0, 0))
		p.send("a", "b")
		p.send("c")
		before := p.poll(wiretest.ByOffset, 0, 9)
		at := describe(p.ok(wiretest.GetTopic, names("s", "t")))
		server.Kill()
		server.Start()
		p = newPeer(t, server)
		require.Equal(t, before, p.poll(wiretest.ByOffset, 0, 9), "saved when it was answered")
		after := describe(p.ok(wiretest.GetTopic, names("s", "t")))
		require.Equal(t, at.id, after.id)
		require.Greater(t, after.created, at.created, "another time after the first restart")
		u := p.ok(wiretest.GetTopic, names("s", "u"))
		require.Zero(t, binary.LittleEndian.Uint64(u[16:]), "a default reads as 0 now: expiry")
		require.Zero(t, binary.LittleEndian.Uint64(u[25:]), "and size")
		p.send("d")
		p.polled(wiretest.FromLast, 0, 1, 3, 3)
		server.Stop()
		server.Start()
		p = newPeer(t, server)
		require.Equal(t, after, describe(p.ok(wiretest.GetTopic, names("s", "t"))), "and the same from then on")
		p.polled(wiretest.ByOffset, 0, 9, 3, 0, 1, 2, 3)
	})
}

func TestAgreeTear(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.send("a", "b", "c")
		server.Tear("s", "t", 0)
		p = newPeer(t, server)
		p.polled(wiretest.ByOffset, 0, 9, 2, 0, 1, 2) // nothing is lost, and nothing is to be seen yet
		p.polled(wiretest.ByOffset, 3, 9, 2)
		p.send("d", "e")
		refused := func(kind uint8, value uint64, count uint32) {
			t.Helper()
			p.refused(4100, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, kind, value, count))
		}
		for range 2 {
			p.polled(wiretest.ByOffset, 0, 3, 4, 0, 1, 2)
			refused(wiretest.ByOffset, 0, 4)
			refused(wiretest.ByOffset, 3, 1)
			refused(wiretest.FromFirst, 0, 9)
			refused(wiretest.FromLast, 0, 2)
			refused(wiretest.FromNext, 0, 9)
			p.polled(wiretest.ByOffset, 4, 9, 4, 4)
			p.polled(wiretest.FromLast, 0, 1, 4, 4)
			found := p.poll(wiretest.ByTimestamp, 0, 9)
			require.Equal(t, []uint64{0, 1, 2, 3, 3, 4}, offsetsOf(found.Messages), "one that nobody sent")
			require.EqualValues(t, 5, found.Count)
			server.Kill()
			server.Start()
			p = newPeer(t, server)
		}
	})
}

// expire has the first messages of s/t leave the log; with the real server they
// must fill segments and be older than the topic's expiry.
func expire(t *testing.T, p *peer, server iggytest.Server, first uint64) {
	t.Helper()
	if standin, ok := server.(*iggytest.Standin); ok {
		require.NoError(t, standin.Expire("s", "t", 0, first))
	}
	require.Eventually(t, func() bool {
		found := p.poll(wiretest.ByOffset, 0, 1).Messages
		return len(found) == 0 || found[0].Offset >= first
	}, wait, poll)
}

const (
	expiry = 1 // µs
	// segment is how many messages of so many bytes fill one.
	segment, segmentBytes = 12, 100_000
)

func (p *peer) fill(messages int) {
	p.t.Helper()
	for range messages {
		p.send(string(make([]byte, segmentBytes)))
	}
}

func TestAgreeExpired(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		p.ok(wiretest.CreateTopic, createTopic("s", "t", 1, expiry, unlimited))
		p.fill(segment + 2)
		expire(t, p, server, segment)
		for range 2 {
			p.polled(wiretest.ByOffset, 0, 9, segment+1, segment, segment+1)
			p.polled(wiretest.ByOffset, 0, 1, segment+1, segment)
			p.polled(wiretest.ByOffset, segment-1, 1, segment+1, segment)
			p.polled(wiretest.FromFirst, 0, 1, segment+1, segment)
			p.polled(wiretest.FromLast, 0, 99, segment+1, segment, segment+1)
			p.polled(wiretest.FromNext, 0, 1, segment+1, segment)
			p.polled(wiretest.ByTimestamp, 0, 1, segment+1, segment)
			server.Kill()
			server.Start()
			p = newPeer(t, server)
		}
	}, iggytest.Retention())
}

// TestAgreeAllExpired sees a log that counts from 0 again.
func TestAgreeAllExpired(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		p.ok(wiretest.CreateTopic, createTopic("s", "t", 1, expiry, unlimited))
		p.fill(segment)
		expire(t, p, server, segment)
		p.polled(wiretest.ByOffset, 0, 9, segment-1)
		p.polled(wiretest.FromFirst, 0, 9, segment-1)
		p.polled(wiretest.ByTimestamp, 0, 9, segment-1)
		server.Kill()
		server.Start()
		p = newPeer(t, server)
		p.polled(wiretest.ByOffset, math.MaxUint64, 1, 0)
		p.send("a")
		p.send("b")
		lost := func() {
			t.Helper()
			p.refused(4100, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, wiretest.ByOffset, 0, 1))
		}
		lost()
		p.refused(4100, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, wiretest.FromLast, 0, 1))
		p.polled(wiretest.FromFirst, 0, 9, 1)
		p.polled(wiretest.ByTimestamp, 0, 9, 1, 0, 1)
		server.Kill()
		server.Start()
		p = newPeer(t, server)
		const end = 1 << 32 // where the next start finds the end, less than segment messages later
		p.polled(wiretest.ByOffset, math.MaxUint64, 1, end+1)
		lost()
		p.polled(wiretest.FromLast, 0, 1, end+1)
		p.send("c")
		p.polled(wiretest.ByTimestamp, 0, 9, end+2, 0, 1, end+2)
	}, iggytest.Retention())
}

// TestAgreeExpiredThenMore sees a log go on where it was when it expired without
// a restart.
func TestAgreeExpiredThenMore(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		p.ok(wiretest.CreateTopic, createTopic("s", "t", 1, expiry, unlimited))
		p.fill(segment)
		expire(t, p, server, segment)
		p.send("a")
		p.polled(wiretest.ByOffset, 0, 9, segment, segment)
		server.Kill()
		server.Start()
		p = newPeer(t, server)
		p.polled(wiretest.ByOffset, 0, 9, segment, segment)
	}, iggytest.Retention())
}
