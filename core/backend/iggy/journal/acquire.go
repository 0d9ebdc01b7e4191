package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

const (
	// lookInterval is the time between two looks for the owner's signs of life.
	lookInterval = 250 * time.Millisecond
	// tellAfter is how long it does so before the log says what it waits for.
	tellAfter = time.Second
	// goneLooks is how often in a row the server must not list the owner.
	goneLooks = 2
	// maxMoves bounds how often a start begins anew because the generations
	// changed below it.
	maxMoves = 20
)

// errMoved: the generations are not what they were a moment ago.
var errMoved = errors.New("the generations of the log change all the time")

// acquire makes this gateway the owner and brings its memory up to date.
func (j *Journal) acquire(ctx context.Context) error {
	moves := 0
	for attempt := 0; ; attempt++ {
		err := j.attempt(ctx)
		owned := new(OwnedError)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &owned), errors.Is(err, backend.ErrStorage), client.Code(err) == ierror.UnauthorizedCode:
			return err
		case errors.Is(err, errMoved), errors.Is(err, errShort), errors.Is(err, errGone), errors.Is(err, errFenced), notFound(err):
			if moves++; moves == maxMoves {
				return fmt.Errorf("%w: %w", backend.ErrStorage, err)
			}
		}
		if pause(ctx, attempt) != nil {
			return unavailable(errors.Join(err, ctx.Err()))
		}
	}
}

// attempt is one try of acquire. Nothing is deleted before the lease is ours.
func (j *Journal) attempt(ctx context.Context) error {
	if _, err := j.client.EnsureStream(ctx, j.opts.Stream); err != nil {
		return err
	}
	l, err := j.find(ctx)
	if err != nil {
		return err
	}
	if n := l.state.lost; n > 0 && !j.opts.AcceptLoss {
		return fmt.Errorf("%w: topic %s has lost %d records that were acknowledged", backend.ErrStorage, l.at.Name, n)
	}
	if !l.state.owns(j.id) {
		if err := j.await(ctx, l); err != nil {
			return err
		}
		claimed := time.Now()
		if err := j.claim(ctx, l); err != nil {
			return err
		}
		j.confirmed.Store(&claimed)
	}
	if err := j.newest(ctx, l); err != nil {
		return err
	}
	if !l.state.marked {
		if err := j.append(ctx, l, newEntry(record{kind: kindMark})); err != nil {
			return err
		}
	}
	j.log, j.content, j.wrote = l, l.state.content, time.Now()
	return nil
}

// generations returns the numbers of those that are there, newest first.
func (j *Journal) generations(ctx context.Context) ([]uint64, error) {
	topics, err := j.client.Topics(ctx, j.opts.Stream)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, t := range topics {
		if n := generationOf(t.Name); n > 0 {
			numbers = append(numbers, n)
			j.highest = max(j.highest, n)
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers, nil
}

// find returns the log of the newest generation that has its mark, or of the one
// that it was sealed in favour of.
func (j *Journal) find(ctx context.Context) (*topicLog, error) {
	numbers, err := j.generations(ctx)
	if err != nil {
		return nil, err
	}
	clear(j.passed)
	for _, n := range numbers {
		l, err := j.replay(ctx, n)
		if err != nil {
			return nil, err
		}
		if l.state.marked {
			return j.follow(ctx, l)
		}
		j.passed[n] = true
		if n == 1 && len(numbers) == 1 && l.state.last == none {
			return l, nil // made, and not begun
		}
	}
	if len(numbers) > 0 {
		return nil, fmt.Errorf("%w: stream %s has the topics %s%v and none of them is complete", backend.ErrStorage, j.opts.Stream, topicPrefix, numbers)
	}
	if err := j.create(ctx, 1); err != nil && client.Code(err) != ierror.TopicNameAlreadyExistsCode {
		return nil, err
	}
	return j.replay(ctx, 1)
}

// follow goes on to the generation that a sealed one names: a crash came between
// the seal and the mark.
func (j *Journal) follow(ctx context.Context, l *topicLog) (*topicLog, error) {
	for l.state.sealed > l.state.number {
		next, err := j.replay(ctx, l.state.sealed)
		if err != nil {
			return nil, err
		}
		if !next.state.complete {
			return nil, fmt.Errorf("%w: topic %s ends in favour of %s, which is not complete", backend.ErrStorage, l.at.Name, next.at.Name)
		}
		l = next
	}
	return l, nil
}

func (j *Journal) replay(ctx context.Context, number uint64) (*topicLog, error) {
	l := newTopicLog(j.client, j.opts.Stream, number, j.opts.Log)
	return l, l.replay(ctx, nil)
}

func (j *Journal) create(ctx context.Context, number uint64) error {
	_, err := j.client.CreateTopic(ctx, client.Topic{Stream: j.opts.Stream, Name: topicName(number)},
		client.TopicSettings{Partitions: 1, Expiry: iggcon.IggyExpiryNeverExpire, MaxSize: math.MaxUint64})
	return err
}

// await returns when the lease is free: given back, its owner no longer
// connected, or silent for a TTL.
func (j *Journal) await(ctx context.Context, l *topicLog) error {
	s, start, gone, told := l.state, time.Now(), 0, false
	for s.last != none && !s.released && time.Since(start) < j.opts.TTL {
		if j.departed(ctx, s.lease) {
			gone++
		} else {
			gone = 0
		}
		if gone == goneLooks {
			j.opts.Log.Info("the former owner of the journal is not connected any more", zap.String("host", s.lease.Host), zap.Int("pid", s.lease.PID))
			return nil
		}
		if !told && time.Since(start) >= tellAfter {
			told = true
			j.opts.Log.Info("waiting until it is certain that the former owner of the journal is gone", zap.String("host", s.lease.Host),
				zap.Int("pid", s.lease.PID), zap.Duration("at_most", j.opts.TTL))
		}
		if err := sleep(ctx, lookInterval); err != nil {
			return err
		}
		before := s.last
		if err := l.catchUp(ctx, nil, false); err != nil {
			return err
		}
		switch {
		case s.sealed != 0:
			return errMoved
		case s.last != before && !s.released && !j.departed(ctx, s.lease):
			// What a killed owner had on its way is no sign of life.
			return &OwnedError{j.opts.Stream, s.lease}
		}
	}
	return nil
}

// claim writes the lease. Of several candidates the first in the log wins, and an
// owner that has written meanwhile stays the owner.
func (j *Journal) claim(ctx context.Context, l *topicLog) error {
	s := l.state
	rec := record{kind: kindClaim, after: s.last, lease: j.lease(ctx)}
	if s.last == none {
		rec.kind, rec.number = kindBegin, generationOf(l.at.Name)
	}
	err := j.append(ctx, l, newEntry(rec))
	if errors.Is(err, errFenced) && !s.released && s.sealed == 0 {
		return &OwnedError{j.opts.Stream, s.lease}
	}
	return err
}

// newest makes sure that no generation has replaced l, and has all others
// deleted.
func (j *Journal) newest(ctx context.Context, l *topicLog) error {
	numbers, err := j.generations(ctx)
	if err != nil {
		return err
	}
	own := generationOf(l.at.Name)
	for _, n := range numbers {
		if n <= own || j.passed[n] {
			continue // those passed can get no mark: the lease is ours
		}
		other, err := j.replay(ctx, n)
		if err != nil {
			return err
		}
		if other.state.marked {
			return errMoved
		}
	}
	j.garbage = slices.DeleteFunc(numbers, func(n uint64) bool { return n == own })
	return nil
}
