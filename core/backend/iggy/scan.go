package iggy

import (
	"context"
	"errors"
	"fmt"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

const (
	// scanBytes is about how much a scan reads in one reply, and scanMessages at
	// most how many messages.
	scanBytes    = 1 << 20
	scanMessages = 5_000
)

// direction is where a scan begins.
type direction bool

const (
	forward  direction = false
	backward direction = true
)

// askEnd asks the server where the log ends.
func (p *partition) askEnd(ctx context.Context) (int64, error) {
	err := p.lookEnd(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end, err
}

// pieces is how many messages are worth one reply.
func (p *partition) pieces() int64 {
	return int64(min(max(scanBytes/p.meanSize(), 1), scanMessages))
}

// scan calls visit for the messages in a part of the log until it has seen enough.
// A backward scan takes the last piece first; within a piece offsets ascend. What
// the server cannot read is passed over.
func (p *partition) scan(ctx context.Context, from, to int64, d direction, visit func(*message.Message) (more bool)) error {
	for more := true; more && from < to; {
		first, last := from, to
		if n := p.pieces(); d == backward {
			first = max(from, to-n)
			to = first
		} else {
			last = min(to, from+n)
			from = last
		}
		for more && first < last {
			messages, next, err := p.fetch(ctx, first, last, int(last-first))
			switch {
			case errors.Is(err, backend.ErrOffsetOutOfRange):
				// Retention has moved the start.
				next = max(min(p.logStart(ctx), last), first+1)
			case err != nil:
				return err
			case next == first:
				return fmt.Errorf("%w: offset %d of partition %d of %s cannot be read yet", backend.ErrUnavailable, first, p.index, p.at.Name)
			}
			for i := range messages {
				if more {
					more = visit(&messages[i])
				}
			}
			first = next
		}
	}
	return nil
}
