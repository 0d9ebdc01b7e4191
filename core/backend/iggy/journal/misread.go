package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// A server that is killed between the writes of the first message of a segment and of
// its index looks for every message that comes after it in the segment in the place of
// the one before. Polls that begin behind that first message are refused or find
// nothing. One that begins at it, or before the segment, shows it and all that follow:
// so a log can be read on from a message that was found under its own offset, for long
// enough to replace it by a new generation.

const (
	// unreadTries and unreadFor are how often, and for how long, all that a send has
	// stored must be unreadable, although it is acknowledged, before the log is given
	// up. After any other torn write that is so once.
	unreadTries = 5
	unreadFor   = 5 * time.Second
)

// errMisread: the server acknowledges what nobody will ever read.
var errMisread = fmt.Errorf("%w: the Iggy server was killed when it wrote a message, and cannot read what it has acknowledged since", backend.ErrStorage)

// unread counts sends in a row of which nothing can be read.
type unread struct {
	tries int
	since time.Time
}

// again notes one more, and returns errMisread when there were too many.
func (u *unread) again(l *topicLog) error {
	if u.tries++; u.tries == 1 {
		u.since = time.Now()
	}
	if u.tries < unreadTries || time.Since(u.since) < unreadFor {
		return nil
	}
	return fmt.Errorf("%w: stream %s, topic %s, before offset %d", errMisread, l.at.Stream, l.at.Name, l.next)
}

// around polls for the messages before an offset in the company of one that is found.
// None is no error.
func (l *topicLog) around(ctx context.Context, before uint64) ([]iggcon.IggyMessage, error) {
	if before <= l.found || before-l.found > maxPoll {
		return nil, nil
	}
	// A torn message has no entry in the index, and is not counted: this may show
	// the message at before, too.
	p, err := l.poll(ctx, l.found, before-l.found)
	if client.Unreadable(err) || errors.Is(err, client.ErrReplyTooLarge) {
		err = nil
	}
	return p.Messages, err
}

// aside reads what cannot be polled from next on, and what was left out in front of it
// when the server knew of nothing behind. It reports whether there was anything.
func (l *topicLog) aside(ctx context.Context, end uint64, seen func(iggcon.MessageID, *record)) (bool, error) {
	from := l.next
	if l.skipping {
		from = l.hole
	}
	// All of it, or without what comes after the next.
	for _, before := range []uint64{end, l.next} {
		messages, err := l.around(ctx, before)
		if err != nil {
			return false, err
		}
		if n := len(messages); n == 0 || messages[n-1].Header.Offset < l.next {
			continue
		}
		if l.next = from; !l.misread {
			l.misread = true
			l.log.Warn("log of the gateway: the server was killed in the middle of a write, and does not find messages under their offsets; the log will be replaced",
				zap.String("topic", l.at.Name), zap.Uint64("from", from))
		}
		return true, l.takeAll(messages, end, seen)
	}
	return false, nil
}

// stillThere reports whether the message before next is shown in the company of others.
func (l *topicLog) stillThere(ctx context.Context) (bool, error) {
	messages, err := l.around(ctx, l.next-1)
	for i := range messages {
		if h := &messages[i].Header; h.Offset == l.next-1 && h.Id == l.tail {
			l.misread = true
			return true, err
		}
	}
	return false, err
}
