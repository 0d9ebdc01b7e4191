package iggy

import (
	"context"
	"errors"
	"math"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// Iggy finds messages by the time of their append, Kafka by the time that they
// carry. lead says by how much the times of a partition's records may be ahead of
// their append, as far as this gateway wrote them; so what is appended earlier
// than that before a time need not be looked at. A native client whose clock is
// ahead of the server's by more than lead, which allows for some seconds, has its
// messages overlooked by look-ups for times that they have and the server's clock
// had not: a later record is found instead, or none.

const (
	// timesBytes is about how much one poll of a scan brings, and timesFirst how
	// many messages the first one is for: mostly that is enough.
	timesBytes = 1 << 20
	timesFirst = 64
	// retries is how often a look-up begins again because retention was faster.
	retries = 3
)

var notFound = backend.Found{Offset: -1, Timestamp: -1}

// FindTime implements backend.Logs.
func (s *Store) FindTime(ctx context.Context, id backend.Partition, ms int64) (backend.Found, error) {
	return s.find(ctx, id, func(t times) (backend.Found, error) { return t.atLeast(ctx, ms) })
}

// FindMaxTime implements backend.Logs.
func (s *Store) FindMaxTime(ctx context.Context, id backend.Partition) (backend.Found, error) {
	return s.find(ctx, id, func(t times) (backend.Found, error) { return t.largest(ctx) })
}

func (s *Store) find(ctx context.Context, id backend.Partition, look func(times) (backend.Found, error)) (found backend.Found, err error) {
	p, err := s.partition(ctx, id)
	if err != nil {
		return notFound, err
	}
	for range retries {
		b, err := p.bounds(ctx, everything)
		if err != nil {
			return notFound, err
		}
		t := times{p: p, Bounds: b, lead: s.lead(p)}
		if topic := s.topicOf(p); topic != nil {
			t.appendTime = topic.info.Config.LogAppendTime
		}
		found, err = look(t)
		if !errors.Is(err, backend.ErrOffsetOutOfRange) {
			return found, err
		}
	}
	return notFound, err
}

// times looks for times between the bounds of a log.
type times struct {
	p *partition
	backend.Bounds
	lead       int64 // ms
	appendTime bool
}

// atLeast finds the first record of at least a time.
func (t times) atLeast(ctx context.Context, ms int64) (backend.Found, error) {
	from, err := t.appendedSince(ctx, max(ms, t.lead)-t.lead)
	if err != nil {
		return notFound, err
	}
	found := notFound
	err = t.scan(ctx, from, t.End, timesFirst, func(offset, at int64, _ uint64) bool {
		if at < ms {
			return true
		}
		found = backend.Found{Offset: offset, Timestamp: at}
		return false
	})
	if err != nil {
		return notFound, err
	}
	return found, nil
}

// largest finds the largest time and the first record that has it, from the end
// on backwards: what was appended more than lead before the largest time that has
// been seen cannot have a larger one.
func (t times) largest(ctx context.Context) (backend.Found, error) {
	found := notFound
	for high, count := t.End, int64(timesFirst); high > t.Start; count = min(4*count, messagesPerPoll) {
		low := max(t.Start, high-count)
		here, oldest := notFound, uint64(math.MaxUint64)
		err := t.scan(ctx, low, high, int(count), func(offset, at int64, appended uint64) bool {
			if here.Offset < 0 || at > here.Timestamp {
				here = backend.Found{Offset: offset, Timestamp: at}
			}
			oldest = min(oldest, appended)
			return true
		})
		if err != nil {
			return notFound, err
		}
		if here.Offset >= 0 && here.Timestamp >= found.Timestamp {
			found = here
		}
		if here.Offset >= 0 && int64(oldest/1000) < found.Timestamp-t.lead {
			break
		}
		high = low
	}
	return found, nil
}

// scan shows look the records before end, from at on, each with its time, in ms,
// and that of its append, in µs, until it wants no more. The first poll is for
// count messages.
func (t times) scan(ctx context.Context, at, end int64, count int, look func(offset, ms int64, appended uint64) bool) error {
	for at < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		most := min(messagesPerPoll, int(max(1, timesBytes/t.p.meanSize())))
		messages, next, err := t.p.fetch(ctx, at, end, min(count, most))
		if err != nil {
			return err
		}
		for i := range messages {
			m := &messages[i]
			ms, err := message.Timestamp(m, t.appendTime)
			if err == nil && !look(offsetOf(m), ms, m.Header.Timestamp) {
				return nil
			}
		}
		at, count = max(next, at+1), messagesPerPoll
	}
	return nil
}

// appendedSince returns the first offset that was appended at a time, in ms, or
// later. The server is asked, and its answer is where the search begins: it may
// lie within a batch of that time, or before it.
func (t times) appendedSince(ctx context.Context, ms int64) (int64, error) {
	if ms <= 0 || t.Start >= t.End {
		return t.Start, nil
	}
	if ms > math.MaxInt64/1000 {
		return t.End, nil
	}
	micros := uint64(ms) * 1000
	guess := t.End - 1
	polled, err := t.p.poll(ctx, iggcon.TimestampPollingStrategy(micros), 1)
	switch {
	case err != nil && !client.Unreadable(err):
		return 0, err
	case err == nil && len(polled.Messages) > 0:
		guess = min(max(offsetOf(&polled.Messages[0]), t.Start), t.End-1)
	}
	// low is before it, high is not.
	low, high := t.Start-1, t.End
	for next, step := guess, int64(1); low+1 < high; {
		last, since, err := t.since(ctx, next, high, micros)
		switch {
		case err != nil:
			return 0, err
		case since:
			high = next
		default:
			low = last
		}
		// Away from the guess in steps that double, then by halves.
		switch {
		case low < t.Start && high <= guess:
			next = max(t.Start, high-step)
		case high == t.End && low >= guess:
			next = min(t.End-1, low+step)
		default:
			next = low + (high-low)/2
		}
		step *= 2
	}
	return high, nil
}

// since reports whether the first readable message from the offset on was
// appended at micros or later, or there is none before end, and gives its offset.
func (t times) since(ctx context.Context, offset, end int64, micros uint64) (at int64, since bool, err error) {
	for offset < end {
		messages, next, err := t.p.fetch(ctx, offset, end, 1)
		if err != nil {
			return 0, false, err
		}
		if len(messages) > 0 {
			return offsetOf(&messages[0]), messages[0].Header.Timestamp >= micros, nil
		}
		offset = max(next, offset+1)
	}
	return end, true, nil
}
