package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// Store is the embedded backend.
type Store struct {
	cfg     Config
	configs Resolver
	opts    Options
	fs      vfs.FS
	log     *zap.Logger
	dir     string // Config.Dir as the file system names it

	lock    io.Closer
	meta    *meta
	files   *files
	cluster string
	ids     producerIDs

	// life is held shared by every call; up is true between Start and Close.
	life sync.RWMutex
	up   bool

	// admin serialises what changes the set of topics or their configs.
	admin      sync.Mutex
	partitions int // of all topics; guarded by admin
	// mu guards the maps; the topics themselves change by their own rules.
	mu     sync.RWMutex
	byName map[string]*topic
	byID   map[uuid.UUID]*topic
	sorted []backend.Topic // what AllTopics returns; nil when it must be built

	// committing keeps a topic from being deleted while offsets of it are
	// committed. Commits hold it shared.
	committing sync.RWMutex
	// groupLocks keep offsets of a group from expiring while they are committed.
	// Who also takes committing takes that first.
	groupLocks *groupLocks
	offsets    *offsetRoom
	// counter counts the committed offsets, until quit is closed.
	counter func(quit <-chan struct{}) (int64, error)

	// saving is held from the making of a checkpoint until it is written. Who
	// also takes a partition's w takes saving first.
	saving sync.Mutex

	keeper keeper
	// keyLimit is how many keys a compaction knows at a time.
	keyLimit int
}

var _ backend.Backend = (*Store)(nil)

// New returns a store that does nothing until Start.
func New(cfg Config, configs Resolver, opts Options) *Store {
	opts = opts.withDefaults()
	s := &Store{
		cfg: cfg, configs: configs, opts: opts, fs: opts.FS, log: opts.Log,
		dir:    opts.FS.PathJoin(cfg.Dir),
		byName: map[string]*topic{}, byID: map[uuid.UUID]*topic{},
		keyLimit:   int(max(cfg.Compaction.Memory/bytesPerKey, 1)),
		groupLocks: newGroupLocks(),
		offsets:    newOffsetRoom(maxOffsets),
	}
	s.counter = s.countOffsets
	return s
}

// Start takes possession of the data directory and reads what is in it. An
// error is one line that names the thing and what to do about it; nothing has
// been changed then.
func (s *Store) Start(ctx context.Context) error {
	if err := s.cfg.Validate(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.open(ctx); err != nil {
		s.abandon()
		return err
	}
	s.keeper.start(s)
	s.life.Lock()
	s.up = true
	s.life.Unlock()
	s.log.Info("store opened", zap.String("dir", s.cfg.Dir), zap.Int("topics", len(s.byID)),
		zap.Duration("took", time.Since(began)))
	return nil
}

// Close writes what is still in memory, lets go of the directory, and is the
// end of the store. It waits for calls that have begun.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.up {
		return nil
	}
	s.up = false
	s.keeper.stop()
	err := s.settle()
	err = errors.Join(err, s.files.closeAll(), s.meta.close(), s.lock.Close())
	if err != nil {
		return fmt.Errorf("close %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// abandon lets go of what a failed start has opened.
func (s *Store) abandon() {
	if s.meta != nil {
		s.meta.close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
}

// enter begins a call; without an error, s.life.RUnlock ends it. Calls do not
// nest.
func (s *Store) enter() error {
	s.life.RLock()
	if !s.up {
		s.life.RUnlock()
		return backend.ErrUnavailable
	}
	return nil
}

// partition finds a partition by its name.
func (s *Store) partition(id backend.Partition) (*partition, error) {
	t, err := s.topicByID(id.Topic)
	if err != nil {
		return nil, err
	}
	ps := *t.partitions.Load()
	if id.Index < 0 || int(id.Index) >= len(ps) {
		return nil, backend.ErrUnknownPartition
	}
	return ps[id.Index], nil
}

func (s *Store) topicByID(id uuid.UUID) (*topic, error) {
	s.mu.RLock()
	t := s.byID[id]
	s.mu.RUnlock()
	if t == nil {
		return nil, backend.ErrUnknownTopic
	}
	return t, nil
}

// ms returns the time of the store's clock.
func (s *Store) ms() int64 { return s.opts.Now().UnixMilli() }

// ClusterID implements backend.Backend.
func (s *Store) ClusterID(context.Context) (string, error) {
	if err := s.enter(); err != nil {
		return "", err
	}
	defer s.life.RUnlock()
	return s.cluster, nil
}
