package iggy

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// fakeServer has streams and topics as iggy-server 0.8.0 has them, its surprises
// included, and no records.
type fakeServer struct {
	client.Users // nil: it has none

	mu      sync.Mutex
	streams map[string]map[string]*iggcon.Topic
	later   map[*iggcon.Topic]uint64 // created_at after the next start
	freed   map[string][]uint32      // numbers to use again, by stream
	clock   uint64                   // µs
	run     uint32
	segment uint64
	err     error            // of everything
	errs    map[string]error // by method
	silent  chan struct{}    // while set, nothing is answered
	calls   map[string]int
	strict  bool   // UpdateTopic checks the size too
	listed  func() // called once, after the next list of topics
}

var _ server = (*fakeServer)(nil)

func newFakeServer() *fakeServer {
	return &fakeServer{
		streams: map[string]map[string]*iggcon.Topic{}, later: map[*iggcon.Topic]uint64{}, clock: 1_700_000_000_000_000,
		freed: map[string][]uint32{}, run: 1, segment: 1 << 30, errs: map[string]error{}, calls: map[string]int{},
	}
}

// enter counts a call and returns its error, with mu held when there is none.
func (f *fakeServer) enter(ctx context.Context, method string) error {
	f.mu.Lock()
	f.calls[method]++
	err, silent := f.err, f.silent
	if err == nil {
		err = f.errs[method]
	}
	if err != nil || silent != nil {
		f.mu.Unlock()
	}
	if silent != nil && err == nil {
		select {
		case <-silent:
			return backend.ErrUnavailable
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// set changes the server under its lock.
func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeServer) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *fakeServer) tick() uint64 { f.clock += 1000; return f.clock }

// restart is what a server's start does to the times and settings of topics.
func (f *fakeServer) restart() {
	f.set(func() {
		f.run++
		for t, created := range f.later {
			t.CreatedAt = created
		}
		clear(f.later)
	})
}

// native makes a topic as an Iggy client does.
func (f *fakeServer) native(t testing.TB, stream, name string, partitions uint32, expiry iggcon.Duration, size uint64) {
	t.Helper()
	_, err := f.EnsureStream(t.Context(), stream)
	require.NoError(t, err)
	_, err = f.CreateTopic(t.Context(), client.Topic{Stream: stream, Name: name}, client.TopicSettings{Partitions: partitions, Expiry: expiry, MaxSize: size})
	require.NoError(t, err)
}

func (f *fakeServer) topic(at client.Topic) (*iggcon.Topic, error) {
	t := f.streams[at.Stream][at.Name]
	if t == nil {
		return nil, ierror.ErrTopicIdNotFound
	}
	return t, nil
}

func (f *fakeServer) EnsureStream(ctx context.Context, name string) (iggcon.Stream, error) {
	if err := f.enter(ctx, "EnsureStream"); err != nil {
		return iggcon.Stream{}, err
	}
	defer f.mu.Unlock()
	if f.streams[name] == nil {
		f.streams[name] = map[string]*iggcon.Topic{}
	}
	return iggcon.Stream{Name: name}, nil
}

// Topics gives an empty list for a stream that is not there, as the server does.
func (f *fakeServer) Topics(ctx context.Context, stream string) ([]iggcon.Topic, error) {
	if err := f.enter(ctx, "Topics"); err != nil {
		return nil, err
	}
	var all []iggcon.Topic
	for _, t := range f.streams[stream] {
		all = append(all, *t)
	}
	listed := f.listed
	f.listed = nil
	f.mu.Unlock()
	if listed != nil {
		listed()
	}
	return all, nil
}

func (f *fakeServer) Topic(ctx context.Context, at client.Topic) (*iggcon.TopicDetails, error) {
	if err := f.enter(ctx, "Topic"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	t, err := f.topic(at)
	if err != nil {
		return nil, err
	}
	return &iggcon.TopicDetails{Topic: *t}, nil
}

func (f *fakeServer) CreateTopic(ctx context.Context, at client.Topic, with client.TopicSettings) (*iggcon.TopicDetails, error) {
	if err := f.enter(ctx, "CreateTopic"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	switch topics := f.streams[at.Stream]; {
	case topics == nil:
		return nil, ierror.ErrStreamIdNotFound
	case topics[at.Name] != nil:
		return nil, ierror.ErrTopicNameAlreadyExists
	case with.MaxSize != 0 && with.MaxSize < f.segment:
		return nil, ierror.ErrInvalidTopicSize
	default:
		id := uint32(len(topics))
		if freed := f.freed[at.Stream]; len(freed) > 0 {
			id, f.freed[at.Stream] = freed[len(freed)-1], freed[:len(freed)-1]
		}
		t := &iggcon.Topic{
			Id: id, Name: at.Name, CreatedAt: f.tick(), PartitionsCount: with.Partitions,
			MessageExpiry: with.Expiry, MaxTopicSize: with.MaxSize,
		}
		topics[at.Name], f.later[t] = t, f.tick()
		return &iggcon.TopicDetails{Topic: *t}, nil
	}
}

func (f *fakeServer) UpdateTopic(ctx context.Context, at client.Topic, expiry iggcon.Duration, size uint64) error {
	if err := f.enter(ctx, "UpdateTopic"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	t, err := f.topic(at)
	if err != nil {
		return err
	}
	if f.strict && size < f.segment {
		return ierror.ErrInvalidTopicSize
	}
	t.MessageExpiry, t.MaxTopicSize = expiry, size
	return nil
}

func (f *fakeServer) AddPartitions(ctx context.Context, at client.Topic, more uint32) error {
	if err := f.enter(ctx, "AddPartitions"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	t, err := f.topic(at)
	if err == nil {
		t.PartitionsCount += more
	}
	return err
}

func (f *fakeServer) DeleteTopic(ctx context.Context, at client.Topic) error {
	if err := f.enter(ctx, "DeleteTopic"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	t, err := f.topic(at)
	if err == nil {
		delete(f.streams[at.Stream], at.Name)
		delete(f.later, t)
		f.freed[at.Stream] = append(f.freed[at.Stream], t.Id)
	}
	return err
}

func (f *fakeServer) Stats(ctx context.Context) (*iggcon.Stats, error) {
	if err := f.enter(ctx, "Stats"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	return &iggcon.Stats{ProcessId: f.run, StartTime: uint64(f.run), IggyServerVersion: "0.8.0"}, nil
}

// Generation is of a client that has one connection.
func (f *fakeServer) Generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return uint64(f.run)
}

func (f *fakeServer) Send(context.Context, client.Topic, uint32, []iggcon.IggyMessage) error {
	return backend.ErrUnavailable
}

func (f *fakeServer) SendBy(context.Context, uint64, client.Topic, uint32, []iggcon.IggyMessage) (uint64, error) {
	return 0, backend.ErrUnavailable
}

func (f *fakeServer) Poll(context.Context, client.Topic, uint32, iggcon.PollingStrategy, uint32) (client.Polled, error) {
	return client.Polled{}, backend.ErrUnavailable
}

func (f *fakeServer) Settle(context.Context, *client.Lost) error { return nil }
func (f *fakeServer) Locals() []string                           { return nil }
func (f *fakeServer) Clients(context.Context) ([]string, error)  { return nil, nil }
func (f *fakeServer) Start(context.Context) error                { return nil }
func (f *fakeServer) Close()                                     {}

// fakeLedger is a ledger in memory; what it has outlives its owner.
type fakeLedger struct {
	mu     sync.Mutex
	pairs  map[string][]byte
	err    error
	stale  error // of Current
	lost   chan struct{}
	before func([]journal.Change) // each commit
	turn   sync.Mutex             // of commits
}

func newFakeLedger() *fakeLedger {
	return &fakeLedger{pairs: map[string][]byte{}, lost: make(chan struct{})}
}

func (l *fakeLedger) Get(key string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.pairs[key]
	return v, ok
}

func (l *fakeLedger) Scan(prefix string) iter.Seq2[string, []byte] {
	l.mu.Lock()
	moment := maps.Clone(l.pairs)
	l.mu.Unlock()
	return func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(moment)) {
			if strings.HasPrefix(key, prefix) && !yield(key, moment[key]) {
				return
			}
		}
	}
}

func (l *fakeLedger) Commit(_ context.Context, changes []journal.Change) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.commit(changes)
}

func (l *fakeLedger) Amend(_ context.Context, decide func() []journal.Change) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if changes := decide(); len(changes) > 0 {
		return l.commit(changes)
	}
	return nil
}

func (l *fakeLedger) commit(changes []journal.Change) error {
	if l.before != nil {
		l.before(changes)
	}
	size := 0
	for _, c := range changes {
		size += len(c.Key) + len(c.Value)
	}
	if size > journal.MaxCommit {
		return backend.ErrTooLarge
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	for _, c := range changes {
		if c.Value == nil {
			delete(l.pairs, c.Key)
		} else {
			l.pairs[c.Key] = c.Value
		}
	}
	return nil
}

func (l *fakeLedger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *fakeLedger) outdate(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = err
}

// keys returns the number of pairs of a kind.
func (l *fakeLedger) keys(kind string) (n int) {
	for range l.Scan(kind) {
		n++
	}
	return n
}

func (l *fakeLedger) Size() (bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, value := range l.pairs {
		bytes += int64(len(key) + len(value))
	}
	return bytes
}

// Current returns what outdate has said.
func (l *fakeLedger) Current(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stale
}

func (l *fakeLedger) Close() error          { return nil }
func (l *fakeLedger) Lost() <-chan struct{} { return l.lost }

// fakes is a store over both.
type fakes struct {
	testing.TB
	server *fakeServer
	ledger *fakeLedger
	cfg    Config
	opts   Options
	logs   *observer.ObservedLogs
	*Store
}

// newFakes starts a store over what prepare makes of the fakes.
func newFakes(t testing.TB, prepare ...func(*fakes)) *fakes {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	f := &fakes{TB: t, server: newFakeServer(), ledger: newFakeLedger(), cfg: DefaultConfig(), logs: logs}
	f.opts = Options{Log: zap.New(core), endsInterval: time.Hour, unchecked: true}
	for _, p := range prepare {
		p(f)
	}
	f.start()
	t.Cleanup(func() { require.NoError(t, f.Store.Close()) })
	return f
}

// start starts a store, in the place of the last one.
func (f *fakes) start() {
	f.Helper()
	f.opts.dial = func(Config, Options) (server, error) { return f.server, nil }
	f.opts.open = func(context.Context, server, Config, Options) (ledger, error) { return f.ledger, nil }
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(f, err)
	f.Store = New(f.cfg, catalog, f.opts)
	require.NoError(f, f.Store.Start(context.Background()))
}

// restart ends the store in order and starts another one.
func (f *fakes) restart() {
	f.Helper()
	require.NoError(f, f.Store.Close())
	f.start()
}

func (f *fakes) create(name string, partitions int32, configs ...string) backend.Topic {
	f.Helper()
	overrides := map[string]string{}
	for i := 0; i+1 < len(configs); i += 2 {
		overrides[configs[i]] = configs[i+1]
	}
	topic, err := f.CreateTopic(context.Background(), backend.NewTopic{Name: name, Partitions: partitions, Overrides: overrides})
	require.NoError(f, err)
	return topic
}

// age makes the last look a minute old.
func (f *fakes) age() {
	f.catalog.mu.Lock()
	defer f.catalog.mu.Unlock()
	f.catalog.began = time.Now().Add(-time.Minute)
}

// find looks for a topic until the catalog is new enough to have seen what was
// done to the server before.
func (f *fakes) find(name string) (backend.Topic, error) {
	f.Helper()
	require.NoError(f, f.look(context.Background(), time.Now()))
	return f.Topic(context.Background(), name)
}

// settings returns those of a topic in the server.
func (f *fakes) settings(name string) settings {
	f.Helper()
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	t := f.server.streams["kafka"][name]
	require.NotNil(f, t, name)
	return settings{t.MessageExpiry, t.MaxTopicSize}
}

func messages(logs *observer.ObservedLogs, level zapcore.Level) []string {
	var all []string
	for _, e := range logs.FilterLevelExact(level).All() {
		all = append(all, fmt.Sprint(e.Message, " ", e.ContextMap()))
	}
	return all
}
