package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// errFenced: the log has another owner.
var errFenced = errors.New("another gateway has taken it over")

// append writes entries to a log of ours and returns when it is certain what
// became of them: those that are in the log are stored, and all others surely are
// not and never will be. Only the end of ctx leaves that open; it is
// backend.ErrOutcomeUnknown then.
//
// backend.ErrUnavailable: none is in the log. errShort, errGone, errFenced,
// errMisread, backend.ErrStorage: this log can be written no longer.
func (j *Journal) append(ctx context.Context, l *topicLog, es ...*entry) error {
	seen := l.state.last
	vain := unread{}
	for attempt := 0; ; attempt++ {
		left := missing(es)
		if len(left) == 0 {
			return nil
		}
		sent := len(left)
		err := l.send(ctx, j.id, left)
		lost := new(client.Lost)
		if errors.As(err, &lost) {
			if err := j.settle(ctx, lost); err != nil {
				return err
			}
		}
		if !errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrOutcomeUnknown) {
			// Whatever the answer was, the log has the truth.
			if err := j.verify(ctx, l, es, err == nil, seen); err != nil {
				return err
			}
			left = missing(es)
		}
		if err != nil || len(left) < sent {
			vain = unread{}
		} else if err := vain.again(l); err != nil {
			return err
		}
		// A part of a group must be followed by the rest, whose numbers are taken;
		// and what is acknowledged without being readable is written once more.
		if whole := len(left) == len(es); whole && err != nil && !errors.Is(err, backend.ErrOutcomeUnknown) {
			return unavailable(err)
		}
		if len(left) > 0 {
			if err := pause(ctx, attempt); err != nil {
				return unknown(err)
			}
		}
	}
}

func unavailable(err error) error {
	if errors.Is(err, backend.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// unknown hides what the cause is: nothing else is certain.
func unknown(err error) error { return fmt.Errorf("%w: %v", backend.ErrOutcomeUnknown, err) }

// settle waits until the server has certainly finished with a request.
func (j *Journal) settle(ctx context.Context, lost *client.Lost) error {
	for attempt := 0; ; attempt++ {
		err := j.client.Settle(ctx, lost)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || pause(ctx, attempt) != nil {
			return unknown(err)
		}
	}
}

// verify reads what has come in until that succeeds. What somebody else has
// written after seen makes void whatever we wrote or will write, a claim too.
func (j *Journal) verify(ctx context.Context, l *topicLog, es []*entry, sure bool, seen uint64) error {
	for attempt := 0; ; attempt++ {
		err := l.catchUp(ctx, es, sure)
		switch {
		case err == nil && !l.state.owns(j.id) && l.state.last != seen:
			return fmt.Errorf("%w: process %d on host %s", errFenced, l.state.lease.PID, l.state.lease.Host)
		case err == nil, errors.Is(err, errShort), errors.Is(err, backend.ErrStorage):
			return err
		case notFound(err):
			if err := j.present(ctx, l); errors.Is(err, errGone) {
				return err
			}
		}
		if err := pause(ctx, attempt); err != nil {
			return unknown(err)
		}
	}
}

// present asks whether the topic is there: a server that starts may not know it
// yet.
func (j *Journal) present(ctx context.Context, l *topicLog) error {
	topics, err := j.client.Topics(ctx, l.at.Stream)
	if err != nil && !notFound(err) {
		return err
	}
	for _, t := range topics {
		if t.Name == l.at.Name {
			return nil
		}
	}
	return fmt.Errorf("%w: stream %s, topic %s", errGone, l.at.Stream, l.at.Name)
}

// final tells errors after which the log of this owner can be written no longer.
func final(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, errFenced) || errors.Is(err, backend.ErrStorage)
}

// write appends to the present generation, over the loss of its end: what the
// server has forgotten is written anew from memory first. Without entries it does
// that alone.
func (j *Journal) write(ctx context.Context, es ...*entry) error {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		err := errShort
		if !j.short {
			err = j.append(ctx, j.log, missing(es)...)
		}
		switch {
		case errors.Is(err, errShort):
			j.short = true
		case err == nil:
			j.wrote = time.Now()
			j.confirmed.Store(&began)
			return nil
		case final(err):
			j.lose(err)
			return err
		default:
			return err
		}
		// What is in the log of es is only certain when this has succeeded.
		if err := j.heal(ctx, es); err != nil {
			if j.isLost() {
				return err
			}
			if pause(ctx, attempt) != nil {
				return unknown(err)
			}
		}
	}
}
