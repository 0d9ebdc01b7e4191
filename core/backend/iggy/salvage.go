package iggy

import (
	"context"
	"errors"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// A server that is killed between the writes of messages and of their index finds
// them in its log and not in its index. It gives their offsets out again, and the
// first message that it gives one to is found together with what lies in front of
// it: polls by offset refuse that, although this message is whole and may have
// been acknowledged. Polls by time do not look at it and show both.

const (
	// savedPerPartition is how many such messages are kept, and savedBytes how
	// large they may be; others are looked for again.
	savedPerPartition = 16
	savedBytes        = 1 << 20
)

// salvage returns the message with an offset that polls by offset refuse; false
// when it cannot be had. An error says nothing about it.
func (p *partition) salvage(ctx context.Context, offset int64, budget *int) (m message.Message, ok bool, err error) {
	micros := uint64(0)
	p.mu.Lock()
	start := p.start
	p.mu.Unlock()
	if offset > start {
		// Right behind the message before it.
		*budget--
		polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(offset-1)), 1)
		if withheld(err) || err == nil && (len(polled.Messages) != 1 || offsetOf(&polled.Messages[0]) != offset-1) {
			return m, false, nil
		}
		if err != nil {
			return m, false, err
		}
		micros = polled.Messages[0].Header.Timestamp + 1
	}
	*budget--
	polled, err := p.poll(ctx, iggcon.TimestampPollingStrategy(micros), 1)
	if err != nil {
		if withheld(err) || errors.Is(err, client.ErrBadReply) {
			err = nil
		}
		return m, false, err
	}
	m, ok = doubled(polled.Messages, offset)
	return m, ok, nil
}

// withheld reports whether a message is there and does not come: the server cannot read
// it, or what comes with it is above what is taken.
func withheld(err error) bool { return client.Unreadable(err) || tooLarge(err) }

// doubled returns the last message, if the offset is its own and that of another
// one before it. Were those before it not whole, their lengths would lead into the
// middle of it, and it would not be seen so.
func doubled(messages []iggcon.IggyMessage, offset int64) (message.Message, bool) {
	n := 0
	for i := range messages {
		if offsetOf(&messages[i]) == offset {
			n++
		}
	}
	if n < 2 || offsetOf(&messages[len(messages)-1]) != offset {
		return message.Message{}, false
	}
	return messages[len(messages)-1], true
}

// save keeps a message that was salvaged, unless it is too large.
func (g *gaps) save(m message.Message) {
	if message.Size(&m) > savedBytes {
		return
	}
	// Not the reply that it is a part of.
	m.Payload = append([]byte(nil), m.Payload...)
	m.UserHeaders = append([]byte(nil), m.UserHeaders...)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.saved == nil {
		g.saved = map[int64]message.Message{}
	}
	for offset := range g.saved {
		if len(g.saved) < savedPerPartition {
			break
		}
		delete(g.saved, offset)
	}
	g.saved[offsetOf(&m)] = m
}

// next returns the first salvaged message from at on and before until.
func (g *gaps) next(at, until int64) (m message.Message, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for offset := range g.saved {
		if offset >= at && offset < until {
			m, ok, until = g.saved[offset], true, offset
		}
	}
	return m, ok
}
