package iggytest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// shown sees a poll return messages with these offsets, and count only those that have
// an index.
func (p *peer) shown(kind uint8, value uint64, count, counted uint32, offsets ...uint64) {
	p.t.Helper()
	found := p.poll(kind, value, count)
	require.Equal(p.t, offsets, offsetsOf(found.Messages))
	require.Equal(p.t, counted, found.Count)
}

func (p *peer) unreadable(kind uint8, value uint64, count uint32) {
	p.t.Helper()
	p.refused(4100, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, kind, value, count))
}

// The first message of a segment is torn: it keeps its offset, and the server looks for
// each message that follows in the place of the one before it.
func TestAgreeTearFirst(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]uint64{"of the log": 0, "of a segment": segment} {
		t.Run(name, func(t *testing.T) {
			agree(t, func(t *testing.T, server iggytest.Server) {
				p := newPeer(t, server)
				restart := func() {
					server.Kill()
					server.Start()
					p = newPeer(t, server)
				}
				p.topic("s", "t", 1)
				p.fill(int(f))
				server.Tear("s", "t", 0)
				p = newPeer(t, server)
				p.polled(wiretest.ByOffset, f, 9, f)
				p.polled(wiretest.FromLast, 0, 1, f)
				p.send("a")
				p.polled(wiretest.ByOffset, f+1, 9, f+1)
				p.shown(wiretest.ByOffset, f, 9, 1, f, f+1)
				p.send("b", "c")
				for range 2 {
					p.shown(wiretest.ByOffset, f, 1, 1, f, f+1)
					p.shown(wiretest.ByOffset, f, 2, 2, f, f+1, f+2)
					p.shown(wiretest.ByOffset, f, 9, 3, f, f+1, f+2, f+3)
					p.unreadable(wiretest.ByOffset, f+1, 1)
					p.unreadable(wiretest.ByOffset, f+1, 9)
					p.unreadable(wiretest.ByOffset, f+2, 9)
					p.unreadable(wiretest.FromLast, 0, 2)
					p.polled(wiretest.ByOffset, f+3, 9, f+3)
					p.polled(wiretest.FromLast, 0, 1, f+3)
					p.shown(wiretest.ByTimestamp, 0, uint32(f)+2, uint32(f)+2, append(upTo(f), f, f+1, f+2)...)
					if f > 0 {
						p.shown(wiretest.ByOffset, f-1, 1, 1, f-1)
						p.shown(wiretest.ByOffset, f-1, 4, 4, f-1, f, f+1, f+2, f+3)
					}
					restart()
				}
				p.send("d")
				server.Tear("s", "t", 0) // as any other
				p = newPeer(t, server)
				p.send("e")
				for range 2 {
					p.shown(wiretest.ByOffset, f, 4, 4, f, f+1, f+2, f+3, f+4)
					p.unreadable(wiretest.ByOffset, f, 5)
					p.shown(wiretest.ByTimestamp, 0, 99, uint32(f)+5, append(upTo(f), f, f+1, f+2, f+3, f+4, f+5, f+5)...)
					restart()
				}
			}, iggytest.Retention())
		})
	}
}

// upTo returns the offsets before one.
func upTo(end uint64) (all []uint64) {
	for offset := range end {
		all = append(all, offset)
	}
	return all
}

// The first message of a segment is torn twice, and then more than a segment follows.
func TestAgreeTearFirstTwice(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		server.Tear("s", "t", 0)
		server.Tear("s", "t", 0)
		p = newPeer(t, server)
		p.fill(segment)
		p.send("next")
		const last = segment + 1
		for range 2 {
			p.unreadable(wiretest.ByOffset, 0, 1)
			p.unreadable(wiretest.ByOffset, 1, 1)
			p.polled(wiretest.ByOffset, segment, 9, last)
			p.polled(wiretest.ByOffset, last, 9, last, last)
			found := p.poll(wiretest.ByTimestamp, 0, 1)
			require.Equal(t, []uint64{0, 1, 1}, offsetsOf(found.Messages), fmt.Sprint(found.Count))
			server.Kill()
			server.Start()
			p = newPeer(t, server)
		}
	}, iggytest.Retention())
}
