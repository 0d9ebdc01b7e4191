package iggy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// Store is the backend.
type Store struct {
	cfg     Config
	configs Resolver
	opts    Options
	log     *zap.Logger

	data   client.Writer // records
	server server        // streams and topics
	ledger ledger        // what the gateway itself owns
	names  names

	// admin is held by who changes topics or looks at all of them: a channel of
	// one, so that waiting for it ends with a context.
	admin   chan struct{}
	entries entries               // guarded by admin
	hidden  map[client.Topic]bool // topics that clients do not see; guarded by admin
	catalog catalog
	// committing is held shared while offsets are committed, and taken for a
	// moment after a topic has gone and before its offsets are removed.
	committing sync.RWMutex
	cluster    string
	queues     queues // append.go
	loans      loans  // memory.go
	ids        producerIDs
	sizing     *semaphore.Weighted // disk.go

	readers // read.go

	state atomic.Int32
	lost  atomic.Bool     // the lease
	life  context.Context // ends with the store
	end   context.CancelFunc
	work  sync.WaitGroup // goroutines that end with life
	// starting keeps a goroutine from being started while the store ends.
	starting sync.Mutex
	closed   sync.Once
}

// The states of a store: it serves nothing before its start, after its end, and
// once it has lost the lease.
const (
	stateNew int32 = iota
	stateUp
	stateDown
)

// New returns a store that does nothing until Start. An Iggy server has no part in
// it yet.
func New(cfg Config, configs Resolver, opts Options) *Store {
	opts = opts.withDefaults()
	s := &Store{
		cfg: cfg, configs: configs, opts: opts, log: opts.Log,
		admin: make(chan struct{}, 1), ids: producerIDs{mu: make(chan struct{}, 1)},
		queues: newQueues(),
	}
	s.sizing = semaphore.NewWeighted(1)
	s.polling = semaphore.NewWeighted(int64(max(1, cfg.Connections.Poll)))
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start connects, takes possession of the internal stream and looks at what is
// there. An error is one line that names the thing and what to do about it.
func (s *Store) Start(ctx context.Context) error {
	if err := s.cfg.Validate(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.open(ctx); err != nil {
		s.abandon()
		if client.Code(err) == ierror.UnauthorizedCode {
			return fmt.Errorf("%w; the gateway's user has to manage streams and topics, and to poll and send messages", err)
		}
		return err
	}
	s.state.Store(stateUp)
	s.run(s.watchLease)
	s.run(s.noteEnds)
	s.log.Info("serving the topics of Iggy", zap.String("stream", s.cfg.Stream), zap.String("internal_stream", s.cfg.InternalStream),
		zap.Int("topics", s.catalog.size()), zap.Duration("took", time.Since(began)))
	if !s.opts.unchecked {
		s.run(s.check)
	}
	return nil
}

// open does the work of Start.
func (s *Store) open(ctx context.Context) (err error) {
	if s.names, err = newNames(s.cfg); err != nil {
		return fmt.Errorf("iggy.topic_map: %w", err)
	}
	if s.server, err = s.opts.dial(s.cfg, s.opts); err != nil {
		return err
	}
	s.data = s.server
	if err := s.measure(); err != nil {
		return fmt.Errorf("metrics of the Iggy backend: %w", err)
	}
	if err := s.server.Start(ctx); err != nil {
		return err
	}
	if _, err := s.server.EnsureStream(ctx, s.cfg.Stream); err != nil {
		return fmt.Errorf("iggy.stream: %s: %w", s.cfg.Stream, err)
	}
	if s.ledger, err = s.opts.open(ctx, s.server, s.cfg, s.opts); err != nil {
		return fmt.Errorf("iggy.internal_stream: %w", err)
	}
	if err := s.loadCluster(ctx); err != nil {
		return fmt.Errorf("iggy.internal_stream: %s: %w", s.cfg.InternalStream, err)
	}
	if err := s.firstLook(ctx); err != nil {
		return fmt.Errorf("iggy.stream: %s: %w", s.cfg.Stream, err)
	}
	return nil
}

// abandon lets go of what a failed start has opened.
func (s *Store) abandon() {
	s.state.Store(stateDown)
	s.stop()
	if s.ledger != nil {
		_ = s.ledger.Close()
	}
	if s.server != nil {
		s.server.Close()
	}
}

// Close ends the store in order: what it knows of the ends of logs is kept, the
// lease given back, and every connection closed. Calls that have begun end with
// backend.ErrUnavailable or backend.ErrOutcomeUnknown.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		if !s.state.CompareAndSwap(stateUp, stateDown) {
			s.abandon()
			return
		}
		s.stop()
		s.lastEnds()
		if err = s.ledger.Close(); s.lost.Load() {
			err = nil // that has been said
		}
		s.server.Close()
	})
	if err != nil {
		return fmt.Errorf("close Iggy: %w", err)
	}
	return nil
}

// run starts a goroutine whose context ends with the store. It reports whether it
// did: after the end there are none.
func (s *Store) run(f func(context.Context)) bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.work.Go(func() { f(s.life) })
	return true
}

// stop ends all goroutines of run and waits for them.
func (s *Store) stop() {
	s.starting.Lock()
	s.end()
	s.starting.Unlock()
	s.work.Wait()
}

// up is what every call asks first: backend.ErrUnavailable before the start, after
// the end, and once another gateway owns the internal stream.
func (s *Store) up() error {
	if s.state.Load() != stateUp || s.lost.Load() {
		return backend.ErrUnavailable
	}
	return nil
}

// now is the store's clock.
func (s *Store) now() time.Time { return s.opts.Now() }

// watchLease has the store fail everything once the lease is lost.
func (s *Store) watchLease(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.ledger.Lost():
		// Down, but not closed: Close has still to let go of everything.
		s.lost.Store(true)
		s.log.Error("the internal stream is lost, as the line before says; nothing is served any more",
			zap.String("stream", s.cfg.InternalStream))
		s.opts.OnLost(errLost)
	}
}

// errNotSeen: the server does not tell what it writes.
var errNotSeen = errors.New("the server does not tell what it writes")

// errLost is what OnLost gets.
var errLost = errors.New("iggy.internal_stream: it is lost: another gateway has taken it over, or its topics are gone or cannot be read; of two gateways stop one, or give each a stream of its own")

// topic is a topic as it was last seen in Iggy. It is replaced as a whole when
// its description changes; its partitions stay.
type topic struct {
	id         uuid.UUID
	at         client.Topic // where it is in Iggy
	info       backend.Topic
	seen       seen // all that a look told
	partitions []*partition
	sizes      *sizes // disk.go
}

// partition is one partition of a topic, for as long as the topic has this id.
type partition struct {
	store *Store
	id    backend.Partition
	at    client.Topic // where it is in Iggy
	index uint32
	positions
	trim    trim         // trim.go
	noted   noted        // ends.go
	leading atomic.Int64 // leads.go; 0: not read yet
	writer  writer       // writer.go
	tail    tail         // tail.go
	reader               // probe.go
}

// positions are the ends of a partition's log as far as they are known, and how
// large its messages are.
type positions struct {
	mu sync.Mutex
	// start and end are backend.Bounds; each is as old as its time says, and the
	// zero time says that it is not known.
	start, end         int64
	startedAt, endedAt time.Time
	// mean is the running mean of what a message takes in a reply, in bytes.
	mean float64
}
