package fetch_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/fetch"
)

// fake is a store of a few batches that counts how it is used.
type fake struct {
	backend.Backend
	mu       sync.Mutex
	topics   map[string]uuid.UUID
	logs     map[backend.Partition]*partitionLog
	watchers []chan struct{}
	looks    int // calls of Available
	reads    []backend.Read
	watched  chan struct{} // gets a value when a watch begins
}

type partitionLog struct {
	batches []record.Batch
	bounds  backend.Bounds
	err     error
}

// store returns a fake with topics of two empty partitions each.
func store(topics ...string) *fake {
	f := &fake{topics: map[string]uuid.UUID{}, logs: map[backend.Partition]*partitionLog{}, watched: make(chan struct{}, 100)}
	for _, name := range topics {
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(name))
		f.topics[name] = id
		for i := range int32(2) {
			f.logs[backend.Partition{Topic: id, Index: i}] = new(partitionLog)
		}
	}
	return f
}

// change alters one log and wakes who waits.
func (f *fake) change(topic string, index int32, do func(*partitionLog)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.logs[backend.Partition{Topic: f.topics[topic], Index: index}])
	for _, w := range f.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// add appends batches of that many bytes, each counted as one record.
func (f *fake) add(t testing.TB, topic string, index int32, sizes ...int) {
	for _, size := range sizes {
		b, _, err := record.Parse(recordtest.Values("").WithPayload(make([]byte, size-record.HeaderSize)))
		require.NoError(t, err)
		f.change(topic, index, func(l *partitionLog) {
			b.SetBaseOffset(l.bounds.End)
			l.batches = append(l.batches, b)
			l.bounds.End++
		})
	}
}

func (f *fake) topic(is func(string, uuid.UUID) bool) (backend.Topic, error) {
	for name, id := range f.topics {
		if is(name, id) {
			return backend.Topic{Name: name, ID: id, Partitions: 2}, nil
		}
	}
	return backend.Topic{}, backend.ErrUnknownTopic
}

func (f *fake) Topic(_ context.Context, name string) (backend.Topic, error) {
	return f.topic(func(n string, _ uuid.UUID) bool { return n == name })
}

func (f *fake) TopicByID(_ context.Context, id uuid.UUID) (backend.Topic, error) {
	return f.topic(func(_ string, i uuid.UUID) bool { return i == id })
}

func (f *fake) Read(_ context.Context, r backend.Read) ([]byte, backend.Bounds, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, r)
	return f.read(r)
}

func (f *fake) read(r backend.Read) ([]byte, backend.Bounds, error) {
	l := f.logs[r.Partition]
	switch {
	case l == nil:
		return nil, backend.Bounds{}, backend.ErrUnknownTopic
	case l.err != nil:
		return nil, backend.Bounds{}, l.err
	case r.Offset < l.bounds.Start || r.Offset > l.bounds.End:
		return nil, l.bounds, backend.ErrOffsetOutOfRange
	}
	var out []byte
	for _, b := range l.batches {
		if b.LastOffset() < r.Offset {
			continue
		}
		if len(out)+len(b.Bytes) > r.MaxBytes && !(r.AtLeastOne && out == nil) {
			break
		}
		out = append(out, b.Bytes...)
	}
	return out, l.bounds, nil
}

func (f *fake) Available(_ context.Context, p backend.Partition, offset, most int64) (int64, backend.Bounds, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	b, bounds, err := f.read(backend.Read{Partition: p, Offset: offset, MaxBytes: 1 << 30})
	return min(int64(len(b)), most), bounds, err
}

func (f *fake) Watch(ps []backend.Partition) (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := make(chan struct{}, 1)
	f.watchers = append(f.watchers, w)
	f.watched <- struct{}{}
	return w, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(c chan struct{}) bool { return c == w })
	}
}

// ask is one partition that a request names.
type ask struct {
	topic  string
	index  int32
	offset int64
	max    int32
}

// request makes a request at v12 that takes up to 1 MB and does not wait.
func request(asks ...ask) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.MinBytes, r.MaxBytes = 12, 1, 1_000_000
	for _, a := range asks {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.index, a.offset, a.max
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != a.topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = a.topic
			r.Topics = append(r.Topics, t)
		}
		t := &r.Topics[len(r.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return r
}

// got is one partition of an answer.
type got struct {
	Topic   string
	Index   int32
	Code    int16
	Start   int64
	End     int64
	Batches []int // sizes
}

// parts lists the partitions of an answer.
func parts(t testing.TB, resp *kmsg.FetchResponse) []got {
	var out []got
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			g := got{topic.Topic, p.Partition, p.ErrorCode, p.LogStartOffset, p.HighWatermark, nil}
			require.Equal(t, p.HighWatermark, p.LastStableOffset)
			require.NotNil(t, p.RecordBatches)
			for b := p.RecordBatches; len(b) > 0; {
				batch, rest, err := record.Parse(b)
				require.NoError(t, err)
				g.Batches, b = append(g.Batches, len(batch.Bytes)), rest
			}
			out = append(out, g)
		}
	}
	return out
}

var limits = settings.Fetch{MaxBytes: 57671680, MaxWait: 300e9}

func answer(t testing.TB, s fetch.Store, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	t.Helper()
	return answerTo(t, context.Background(), handler.Call{}, s, req)
}

func answerTo(t testing.TB, ctx context.Context, call handler.Call, s fetch.Store, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	t.Helper()
	resp, err := fetch.New(s, limits).Handle(ctx, call, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, req.Version)
	require.NoError(t, err)
	return back.(*kmsg.FetchResponse)
}
