package iggy

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// fakeRecords answers polls as iggy-server 0.8.0 does, its surprises included.
// Sends are what store puts there.
type fakeRecords struct {
	client.Writer
	mu       sync.Mutex
	logs     map[uint32]*fakeLog
	asked    []ask
	err      error // of every poll
	maxReply int64
	answered func() // called once, when the next answer is on its way
}

type fakeLog struct {
	first    int64 // the first offset that is retained
	last     int64 // −1: never any
	messages map[int64]message.Message
	torn     map[int64]bool // polls that include it fail
	// before is what lies in front of a torn message and has its offset, too.
	before map[int64][]message.Message
	// misread: polls by offset find nothing.
	misread bool
	// late is by how many µs a poll by time begins before the time that it is
	// asked for.
	late uint64
}

type ask struct {
	partition uint32
	from      iggcon.PollingStrategy
	count     uint32
}

func newFakeRecords() *fakeRecords {
	return &fakeRecords{logs: map[uint32]*fakeLog{}, maxReply: 128 << 20}
}

// log returns the log of a partition; mu is held.
func (f *fakeRecords) log(partition uint32) *fakeLog {
	if f.logs[partition] == nil {
		f.logs[partition] = &fakeLog{last: -1, messages: map[int64]message.Message{}, torn: map[int64]bool{}}
	}
	return f.logs[partition]
}

// change changes a log under the lock.
func (f *fakeRecords) change(partition uint32, change func(*fakeLog)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.log(partition))
}

// add puts messages into a log that were appended at the given time.
func (f *fakeRecords) add(partition uint32, micros uint64, messages ...message.Message) (first int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.log(partition)
	first = l.last + 1
	for _, m := range messages {
		l.last++
		m.Header.Offset, m.Header.Timestamp = uint64(l.last), micros
		if m.Header.Id == (message.ID{}) {
			m.Header.Id = message.RandomID()
		}
		l.messages[l.last] = m
	}
	return first
}

func (f *fakeRecords) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// next has something done once, when the answer to the next poll is on its way.
func (f *fakeRecords) next(answered func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered = answered
}

// polls returns what was asked since the last call.
func (f *fakeRecords) polls() []ask {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeRecords) Poll(ctx context.Context, _ client.Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (client.Polled, error) {
	polled, answered, err := f.poll(ctx, partition, from, count)
	if answered != nil {
		answered()
	}
	return polled, err
}

func (f *fakeRecords) poll(ctx context.Context, partition uint32, from iggcon.PollingStrategy, count uint32) (polled client.Polled, answered func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answered, f.answered = f.answered, nil
	polled, err = f.answer(ctx, partition, from, count)
	return polled, answered, err
}

// answer makes the answer to a poll; mu is held.
func (f *fakeRecords) answer(ctx context.Context, partition uint32, from iggcon.PollingStrategy, count uint32) (client.Polled, error) {
	f.asked = append(f.asked, ask{partition, from, count})
	if err := ctx.Err(); err != nil {
		return client.Polled{}, err
	}
	if f.err != nil {
		return client.Polled{}, f.err
	}
	l := f.log(partition)
	polled := client.Polled{Current: uint64(max(l.last, 0))}
	if l.misread && from.Kind == iggcon.POLLING_OFFSET {
		return polled, nil
	}
	at := l.first
	switch from.Kind {
	case iggcon.POLLING_OFFSET:
		at = max(at, int64(min(from.Value, math.MaxInt64)))
	case iggcon.POLLING_LAST:
		at = max(at, l.last+1-int64(count))
	case iggcon.POLLING_TIMESTAMP:
		for at <= l.last && l.messages[at].Header.Timestamp+l.late < from.Value {
			at++
		}
	}
	size := int64(0)
	for n := uint32(0); n < count && at <= l.last; at++ {
		if l.torn[at] {
			if from.Kind != iggcon.POLLING_TIMESTAMP {
				return client.Polled{}, ierror.ErrInvalidOffset
			}
			for _, m := range l.before[at] {
				polled.Messages = append(polled.Messages, m)
				size += message.Size(&m)
			}
		}
		m, ok := l.messages[at]
		if !ok {
			continue
		}
		n++
		polled.Messages = append(polled.Messages, m)
		if size += message.Size(&m); size > f.maxReply {
			return client.Polled{}, client.ErrReplyTooLarge
		}
	}
	return polled, nil
}

// readers is a store over both fakes with one topic.
type readerFakes struct {
	*fakes
	records *fakeRecords
	topic   backend.Topic
}

func newReaderFakes(t testing.TB, partitions int32, prepare ...func(*fakes)) *readerFakes {
	t.Helper()
	f := &readerFakes{fakes: newFakes(t, prepare...), records: newFakeRecords()}
	f.Store.data = f.records
	f.topic = f.create("t", partitions)
	return f
}

// soleReader has nothing look for native clients behind the test's back.
func soleReader(f *fakes) { f.cfg.SoleWriter = true }

func noCache(f *fakes) { f.cfg.CacheBytes = 0 }

func (f *readerFakes) id(index int32) backend.Partition {
	return backend.Partition{Topic: f.topic.ID, Index: index}
}

func (f *readerFakes) part(index int32) *partition {
	f.Helper()
	p, err := f.partition(context.Background(), f.id(index))
	require.NoError(f, err)
	return p
}

// produce puts a batch into the log as the gateway does, and tells readers.
func (f *readerFakes) produce(index int32, b recordtest.Batch, micros uint64) record.Batch {
	f.Helper()
	batch := b.Batch(f)
	ms := toMessages(f, batch)
	batch.SetBaseOffset(f.records.add(uint32(index), micros, ms...))
	batch.SetLeaderEpoch(0)
	f.part(index).appended([]record.Batch{batch}, batch.LastOffset()+1)
	return batch
}

func toMessages(t testing.TB, b record.Batch) []message.Message {
	t.Helper()
	b.Bytes = slices.Clone(b.Bytes)
	ms, err := message.FromBatch(context.Background(), nil, b, message.Limits{MaxRecordBytes: math.MaxInt32, MaxBytes: math.MaxInt64})
	require.NoError(t, err)
	return ms
}

// native is what an Iggy client writes.
func native(payload string, origin uint64) message.Message {
	m := message.Message{Payload: []byte(payload)}
	m.Header.OriginTimestamp, m.Header.PayloadLength = origin, uint32(len(payload))
	return m
}

func natives(payloads ...string) (ms []message.Message) {
	for _, p := range payloads {
		ms = append(ms, native(p, 0))
	}
	return ms
}
