package iggy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/backend/watch"
)

const (
	// startAge is how long a log's start is good for, and startRate slows that
	// down for logs that begin with a large message: the answer holds it whole.
	startAge  = time.Second
	startRate = 8 << 20 // bytes per second
	// endAge is how long a log's end is good for where others write too.
	endAge = 10 * time.Millisecond
	// faultAge is how long a log that ends too early is not looked at again.
	faultAge = time.Second
)

// The codes of the server that mean something here.
const (
	codeStream    = ierror.StreamIdNotFoundCode
	codeTopic     = ierror.TopicIdNotFoundCode
	codePartition = ierror.PartitionNotFoundCode
)

// reader is what readers know of a partition beside its positions, whose mu
// guards the first group of fields.
type reader struct {
	floored  bool          // floor is set
	floor    int64         // the log ends here or later, or has lost something
	cuts     int           // how often it was accepted that it has
	startFor time.Duration // how long the start is good for
	guessed  bool          // the mean size of messages has been asked for
	fault    error         // the log has lost something
	faultAt  time.Time
	refused  bool  // it has been logged that the server refuses polls
	ahead    ahead // ahead.go
	// held is where the log ends for readers while holding (first.go).
	held    int64
	holding bool

	cutting sync.Mutex // held while what was cut off is taken in

	once    sync.Once
	probing chan struct{} // capacity 1: held by who asks for the ends

	gaps     gaps // skip.go
	watchers watch.List
}

// poll asks for messages, and notes what the answer says about the end of the
// log. Errors of the server are those of a backend, but for unreadable ones.
func (p *partition) poll(ctx context.Context, from iggcon.PollingStrategy, count uint32) (client.Polled, error) {
	a := p.asks()
	polled, err := p.store.data.Poll(ctx, p.at, p.index, from, count)
	switch code := client.Code(err); {
	case err == nil:
		// Only such an answer shows whether there is a first message.
		first := count > 0 && (from.Kind == iggcon.POLLING_FIRST || from.Kind == iggcon.POLLING_OFFSET && from.Value == 0)
		if err = p.note(ctx, polled, a, first); errors.Is(err, errCutOff) {
			return p.poll(ctx, from, count)
		}
		return polled, err
	case code == codeStream || code == codeTopic:
		p.store.forget(p)
		return polled, fmt.Errorf("%w: %w", backend.ErrUnknownTopic, err)
	case code == codePartition:
		p.store.forget(p)
		return polled, fmt.Errorf("%w: %w", backend.ErrUnknownPartition, err)
	case code != 0 && !client.Unreadable(err):
		p.refuses(err)
		return polled, fmt.Errorf("%w: poll partition %d of %s: %w", backend.ErrStorage, p.index, p.at.Name, err)
	}
	return polled, err
}

// refuses tells, once until polls succeed again, that the server refuses them.
func (p *partition) refuses(err error) {
	p.mu.Lock()
	news := !p.refused
	p.refused = true
	p.mu.Unlock()
	if news {
		p.store.log.Error("Iggy does not let the gateway read a partition; give its user the permission to poll messages there, or see why in Iggy's own log",
			zap.String("stream", p.at.Stream), zap.String("topic", p.at.Name), zap.Uint32("partition", p.index), zap.Error(err))
	}
}

// lowest returns the offset before which the log cannot end.
func (p *partition) lowest() int64 { return p.asks().floor }

// asking is what is known of a log when something is asked about it.
type asking struct {
	floor int64
	cuts  int
	began time.Time
}

func (p *partition) asks() asking {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.floored {
		p.floored, p.floor = true, max(p.end, p.store.knownEnd(p))
	}
	return asking{p.floor, p.cuts, time.Now()}
}

// errCutOff: an answer may be of a log as it was before it was cut off, which was accepted,
// or as it was between that and what has been stored since.
var errCutOff = errors.New("the log was cut off meanwhile")

// note takes in the end that an answer shows; first says that the message at offset 0
// would be in the answer.
func (p *partition) note(ctx context.Context, polled client.Polled, a asking, first bool) error {
	end, sure := endIn(polled, a.floor)
	if end < a.floor {
		return p.truncated(ctx, a, end)
	}
	if !p.noteEnd(a, end, sure || first) {
		return errCutOff
	}
	return nil
}

// endIn returns where the log ended when an answer was made to a poll that began when
// it could not end before floor, and whether that is certain.
func endIn(polled client.Polled, floor int64) (end int64, sure bool) {
	if polled.Current == 0 && len(polled.Messages) == 0 {
		// Never any message, or one: that is at the latest known by now.
		return min(floor, 1), floor > 0
	}
	return int64(polled.Current) + 1, true
}

// noteEnd takes in an end that the server has shown, unless the log was cut off since it
// was asked: then it reports false.
func (p *partition) noteEnd(a asking, end int64, sure bool) bool {
	p.mu.Lock()
	if p.cuts != a.cuts {
		p.mu.Unlock()
		return false
	}
	if p.fault != nil {
		p.store.faulty.set(p, false)
	}
	p.fault, p.refused = nil, false
	grew := p.raise(end)
	if sure && end == p.end && a.began.After(p.endedAt) {
		p.endedAt = a.began
	}
	p.mu.Unlock()
	if grew {
		p.store.sawEnd(p, end)
		p.watchers.Wake()
	}
	return true
}

// raise moves the end; mu is held.
func (p *partition) raise(end int64) (grew bool) {
	grew = end > p.end
	p.end = max(p.end, end)
	p.floor = max(p.floor, p.end)
	return grew
}

// grown takes in an end that is certain at this moment.
func (p *partition) grown(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.raise(end)
	if end == p.end {
		p.endedAt = time.Now()
	}
}

// truncated is what happens when a log ends before where it has ended: once, however
// many have seen it.
func (p *partition) truncated(ctx context.Context, a asking, end int64) error {
	p.cutting.Lock()
	defer p.cutting.Unlock()
	if p.asks().cuts != a.cuts {
		return errCutOff
	}
	if p.store.topicOf(p) == nil {
		// Iggy takes names: it is another topic's log, made since under the same one.
		return backend.ErrUnknownTopic
	}
	p.store.sawEnd(p, a.floor)
	err := p.store.checkEnd(ctx, p, end)
	p.mu.Lock()
	news := err == nil || p.fault == nil
	p.fault, p.faultAt = err, time.Now()
	if p.store.faulty.set(p, err != nil); err == nil { // accepted
		p.end, p.floor, p.startedAt, p.endedAt = end, end, time.Time{}, time.Time{}
		p.cuts++
	}
	p.mu.Unlock()
	if news {
		p.drop()
		p.store.forget(p)
	}
	if news && err != nil {
		p.store.log.Error("a partition is not served", zap.Error(err))
	}
	return err
}

// probe asks the server for both ends of the log, checks that it does not end
// before what has been seen of it, and stores them in positions; records that were
// deleted for clients count. A log that ends
// too early gives an ErrStorage that says so, here and from everything else that
// is done with the partition.
func (p *partition) probe(ctx context.Context) (backend.Bounds, error) {
	floor, began := p.lowest(), time.Now()
	polled, err := p.poll(ctx, iggcon.FirstPollingStrategy(), 1)
	if client.Unreadable(err) {
		start, err := p.startBefore(ctx)
		if err != nil {
			return backend.Bounds{}, err
		}
		return p.starts(start, 0, began), nil
	}
	if err != nil {
		return backend.Bounds{}, err
	}
	if len(polled.Messages) == 0 {
		// It starts where it ended then. By now it may be longer.
		end, _ := endIn(polled, floor)
		return p.starts(end, 0, began), nil
	}
	m := &polled.Messages[0]
	p.sized(polled.Messages, true)
	return p.starts(offsetOf(m), message.Size(m), began), nil
}

// starts takes in where a log starts, as the answer to a poll that began at a time has
// shown it; at its end at the latest, for a log that was cut off meanwhile.
func (p *partition) starts(start, size int64, at time.Time) backend.Bounds {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start, p.startedAt = min(start, p.end), at
	p.startFor = startAge + time.Duration(size)*time.Second/startRate
	return backend.Bounds{Start: p.start, End: p.end}
}

// startBefore finds the start of a log whose first message the server cannot
// read. A poll below the start means the first message, so it fails, too; so does
// one of any other message that cannot be read, but not those around it.
func (p *partition) startBefore(ctx context.Context) (int64, error) {
	// An error does not say where the log ends.
	if _, err := p.poll(ctx, iggcon.OffsetPollingStrategy(math.MaxUint64), 1); err != nil {
		return 0, err
	}
	if p.lowest() == 0 {
		p.grown(1)
	}
	p.mu.Lock()
	low, high, known := p.start, p.end, !p.startedAt.IsZero() // high is not known to fail
	p.mu.Unlock()
	if known {
		// Mostly it is where it was.
		readable, _ := p.gaps.after(low)
		if there, err := p.shows(ctx, readable, high); err != nil || there {
			return low, err
		}
	} else {
		low = 0
	}
	for low+1 < high {
		middle := low + (high-low)/2
		there, err := p.showsBefore(ctx, low, middle)
		if err != nil {
			return 0, err
		}
		if there >= 0 {
			high = there
		} else {
			low = middle
		}
	}
	return low, nil
}

// shows reports whether the server has the message at an offset and can read it.
func (p *partition) shows(ctx context.Context, offset, end int64) (bool, error) {
	if offset >= end {
		return false, nil
	}
	polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(offset)), 1)
	if client.Unreadable(err) {
		return false, nil
	}
	return err == nil && len(polled.Messages) > 0 && offsetOf(&polled.Messages[0]) == offset, err
}

// showsBefore returns an offset, behind low and at most high, that the server
// shows; −1 when it shows none of some: high itself, and ever farther below it.
func (p *partition) showsBefore(ctx context.Context, low, high int64) (int64, error) {
	for at, step := high, int64(1); at > low; at, step = high-step, 2*step {
		there, err := p.shows(ctx, at, math.MaxInt64)
		if err != nil || there {
			return at, err
		}
	}
	return -1, nil
}

// lookEnd asks where the log ends.
func (p *partition) lookEnd(ctx context.Context) error {
	if p.lowest() == 0 {
		// "0" means empty or one message; this answer tells which.
		_, err := p.poll(ctx, iggcon.OffsetPollingStrategy(0), 1)
		if !client.Unreadable(err) {
			return err
		}
		p.grown(1) // at the least: an error does not say
	}
	_, err := p.poll(ctx, iggcon.OffsetPollingStrategy(math.MaxUint64), 1)
	return err
}

// everything is an offset for which both ends have to be new.
const everything = math.MaxInt64

// known returns the bounds as far as they are new enough for a reader at the
// offset, for whom the end matters only where it is not before it.
func (p *partition) known(offset int64) (b backend.Bounds, startOK, endOK bool, fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b = p.shown()
	now := time.Now()
	if p.fault != nil && now.Sub(p.faultAt) < faultAge {
		return b, false, false, p.fault
	}
	startOK = p.fault == nil && !p.startedAt.IsZero() && now.Sub(p.startedAt) < p.startFor
	endOK = !p.endedAt.IsZero() && (offset < b.End || p.store.cfg.SoleWriter || now.Sub(p.endedAt) < endAge)
	return b, startOK, endOK, nil
}

// bounds returns the ends of the log, new enough for a reader at the offset.
func (p *partition) bounds(ctx context.Context, offset int64) (backend.Bounds, error) {
	b, startOK, endOK, err := p.known(offset)
	if err != nil || startOK && endOK {
		return b, err
	}
	p.once.Do(func() { p.probing = make(chan struct{}, 1) })
	select {
	case p.probing <- struct{}{}:
		defer func() { <-p.probing }()
	case <-ctx.Done():
		return backend.Bounds{}, ctx.Err()
	}
	// Somebody may have asked meanwhile.
	b, startOK, endOK, err = p.known(offset)
	switch {
	case err != nil || startOK && endOK:
		return b, err
	case !startOK:
		_, err = p.probe(ctx)
	default:
		err = p.lookEnd(ctx)
	}
	if err != nil {
		return backend.Bounds{}, err
	}
	b, _, _, err = p.known(offset)
	return b, err
}

// Bounds implements backend.Logs.
func (s *Store) Bounds(ctx context.Context, id backend.Partition) (backend.Bounds, error) {
	p, err := s.partition(ctx, id)
	if err != nil {
		return backend.Bounds{}, err
	}
	return p.bounds(ctx, everything)
}

// boundsNear returns the bounds for a reader at the offset: while Iggy is away,
// the last known ones where the cache has the offset. What is in it has been
// stored.
func (p *partition) boundsNear(ctx context.Context, offset int64) (backend.Bounds, error) {
	b, err := p.bounds(ctx, offset)
	if errors.Is(err, backend.ErrUnavailable) {
		if here, _ := p.store.cache.holds(&p.tail, offset); here {
			p.mu.Lock()
			defer p.mu.Unlock()
			b, err = p.shown(), p.fault
		}
	}
	if err == nil && (offset < b.Start || offset > b.End) {
		return b, outOfRange(offset, b)
	}
	return b, err
}

func outOfRange(offset int64, b backend.Bounds) error {
	return fmt.Errorf("%w: %d of %d to %d", backend.ErrOffsetOutOfRange, offset, b.Start, b.End)
}
