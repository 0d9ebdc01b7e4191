// Package journal keeps what the gateway itself owns in a topic of Iggy: a log of
// changes to a sorted map of keys and values, replayed at start, cut by
// generations, and owned by one gateway at a time through a lease.
package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// Change sets a key, or deletes it when Value is nil.
type Change struct {
	Key   string
	Value []byte
}

// View is what a Journal holds now.
type View interface {
	Get(key string) ([]byte, bool)
	// Scan yields the pairs whose keys begin with prefix, in the order of their
	// keys, as they were at one moment. Values must not be changed.
	Scan(prefix string) iter.Seq2[string, []byte]
}

// Options say how a journal is kept. Only Stream has to be set.
type Options struct {
	// Stream holds the journal's topics and nothing else; it is made when
	// missing.
	Stream string
	// Host and PID name this gateway to the one that is refused; the zero values
	// mean those of the process.
	Host string
	PID  int
	// Log gets one line per event that an operator can act on; nil drops them.
	Log *zap.Logger
	// Renew is how long the owner may write nothing until it renews its lease (0
	// means 5s), and TTL how long another start waits for a sign of life (0 means
	// 15s); TTL must be well above Renew.
	Renew, TTL time.Duration
	// Patience is how long commits wait for a log that does not move before they
	// are told that it is unavailable (0 means 1s).
	Patience time.Duration
	// FloorBytes and FloorRecords are how long a log may be at least before it
	// is cut; beyond them it may be four times its content (0 means 8 MiB and
	// 20,000 records).
	FloorBytes, FloorRecords int64
	// AcceptLoss opens a log from which the server has lost acknowledged
	// records, with what is left; otherwise that is an error.
	AcceptLoss bool
}

const (
	maxGroupRecords = 1000
	// maxGroupBytes bounds what one send carries, unless one record is larger.
	maxGroupBytes = 4 << 20
	// maxWaiting bounds the bytes of commits that wait for their turn.
	maxWaiting = 64 << 20
	// closeTimeout bounds an orderly end.
	closeTimeout = 3 * time.Second
)

// Journal is a log that this gateway owns. All methods are safe for concurrent
// use.
type Journal struct {
	client  Client
	opts    Options
	id      uuid.UUID // of this owner
	content *live
	live    context.Context // ends when the loop has to drop everything
	drop    context.CancelFunc
	closing chan struct{}
	done    chan struct{} // the loop has ended
	wake    chan struct{}
	lost    chan struct{}

	mu      sync.Mutex
	waiting []*commit
	bytes   int64 // of waiting
	stalled bool  // nothing has moved for the length of Patience
	err     error // why it takes no more commits
	closed  bool

	// confirmed is a moment before something that we wrote got into the log: a start
	// elsewhere waits for a TTL from then on.
	confirmed atomic.Pointer[time.Time]

	// What follows belongs to Open, and then to the loop.

	log         *topicLog
	since       time.Time
	own         addresses
	wrote       time.Time // the last sign of life
	highest     uint64    // the highest generation that was ever seen
	passed      map[uint64]bool
	garbage     []uint64 // generations to delete
	retryCut    time.Time
	retryDelete time.Time
	short       bool // the server has lost the end of the log
}

// commit is a call of Commit.
type commit struct {
	*entry
	decide func() []Change // of an Amend, which says its changes when its turn comes
	done   chan struct{}
	err    error // valid after done
	taken  bool  // the loop has it
}

// Open takes the journal over and replays it. While the server is away, or
// another gateway may still own the journal, it waits until ctx ends.
//
// *OwnedError: another gateway owns it and lives. backend.ErrStorage: the log
// cannot be read as it is, or (see Options.AcceptLoss) was cut by the server.
func Open(ctx context.Context, c Client, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	j := &Journal{
		client: c, opts: opts, id: uuid.New(), since: time.Now(),
		closing: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1), lost: make(chan struct{}),
		passed: map[uint64]bool{},
	}
	j.live, j.drop = context.WithCancel(context.WithoutCancel(ctx))
	if err := j.acquire(ctx); err != nil {
		j.drop()
		return nil, fmt.Errorf("journal in stream %s: %w", opts.Stream, err)
	}
	go j.run()
	return j, nil
}

// Get returns the value of a key. It must not be changed.
func (j *Journal) Get(key string) ([]byte, bool) { return j.content.get(key) }

// Scan implements View.
func (j *Journal) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { scan(j.content.moment(), prefix)(yield) }
}

// Size returns the bytes of all keys and values, which are in memory.
func (j *Journal) Size() int64 {
	_, bytes := j.content.size()
	return bytes
}

// Lost is closed when the journal has ended by itself: another gateway has taken
// it over, or its log is gone. Err says why.
func (j *Journal) Lost() <-chan struct{} { return j.lost }

// Err returns why the journal takes no more commits; nil while it does.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Commit makes all changes in one step, in their order: when it returns nil they
// are in the log, and after a crash there are all of them or none. Concurrent
// calls share a send.
//
// backend.ErrTooLarge: the changes are above MaxCommit. backend.ErrUnavailable:
// surely nothing was, or will be, written. backend.ErrOutcomeUnknown: ctx has ended before the journal could find out; it
// goes on finding out, and View has the changes as soon as it is certain that the
// log has them.
func (j *Journal) Commit(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	size, err := sizeOf(changes)
	if err != nil {
		return err
	}
	return j.submit(ctx, &commit{
		entry: newEntry(record{kind: kindChanges, changes: appendChanges(make([]byte, 0, size), changes)}), done: make(chan struct{}),
	})
}

// submit has a commit made and waits for it.
func (j *Journal) submit(ctx context.Context, c *commit) error {
	if err := j.enqueue(c); err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return j.abandon(c, ctx.Err())
	}
}

func (j *Journal) enqueue(c *commit) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	size := int64(len(c.rec.changes))
	switch {
	case j.err != nil:
		return j.err
	case j.stalled:
		return fmt.Errorf("%w: the journal waits for the server", backend.ErrUnavailable)
	case j.bytes+size > maxWaiting && len(j.waiting) > 0:
		return fmt.Errorf("%w: too much waits for the journal", backend.ErrUnavailable)
	}
	j.waiting = append(j.waiting, c)
	j.bytes += size
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return nil
}

// abandon is for a caller that can wait no longer.
func (j *Journal) abandon(c *commit, cause error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	default:
	}
	if c.taken {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, cause)
	}
	for i, w := range j.waiting {
		if w == c {
			j.waiting = append(j.waiting[:i], j.waiting[i+1:]...)
			j.bytes -= int64(len(c.rec.changes))
			break
		}
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
}

// take gives the loop what one send carries. An amendment goes alone: it is decided
// over what is stored.
func (j *Journal) take() []*commit {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, size := 0, 0
	for n < len(j.waiting) && n < maxGroupRecords {
		size += len(j.waiting[n].rec.changes)
		amends := j.waiting[n].decide != nil
		if n > 0 && (size > maxGroupBytes || amends) {
			break
		}
		if n++; amends {
			break
		}
	}
	group := j.waiting[:n:n]
	j.waiting = j.waiting[n:]
	for _, c := range group {
		c.taken = true
		j.bytes -= int64(len(c.rec.changes))
	}
	return group
}

// answer ends a call; j.mu may be held or not.
func (c *commit) answer(err error) {
	c.err = err
	close(c.done)
}

// refuseWaiting answers all that waits. j.mu is held.
func (j *Journal) refuseWaiting(err error) {
	for _, c := range j.waiting {
		c.answer(err)
	}
	j.waiting, j.bytes = nil, 0
}

var errClosed = fmt.Errorf("%w: the journal is closed", backend.ErrUnavailable)

// Close gives the lease back, after the commits that are on their way, and ends
// everything. It takes at most a few seconds.
func (j *Journal) Close() error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.closing)
		if j.err == nil {
			j.err = errClosed
		}
	}
	j.mu.Unlock()
	timer := time.AfterFunc(closeTimeout, j.drop)
	defer timer.Stop()
	<-j.done
	j.drop()
	if err := j.Err(); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// lose ends the journal for good.
func (j *Journal) lose(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.isLost() {
		return
	}
	j.err = fmt.Errorf("%w: the journal in stream %s is lost: %w", backend.ErrUnavailable, j.opts.Stream, cause)
	j.opts.Log.Error("the gateway's journal is lost: it can go on no longer", zap.String("stream", j.opts.Stream), zap.Error(cause))
	j.refuseWaiting(j.err)
	close(j.lost)
}

func (j *Journal) isLost() bool {
	select {
	case <-j.lost:
		return true
	default:
		return false
	}
}
