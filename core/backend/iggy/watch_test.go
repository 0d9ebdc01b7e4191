package iggy

import (
	"context"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

const soon = 30 * time.Second

func woken(t testing.TB, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(soon):
		t.Fatal("not woken")
	}
}

func (f *readerFakes) ids(n int32) (all []backend.Partition) {
	for i := range n {
		all = append(all, f.id(i))
	}
	return all
}

// idle reports whether nothing looks for native clients.
func (s *Store) idle() bool {
	s.lookout.mu.Lock()
	defer s.lookout.mu.Unlock()
	return !s.lookout.running
}

func TestAppendsWakeAtOnce(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 2, soleReader)
	f.bounds(0)
	f.records.polls()
	grown, stop := f.Watch(f.ids(2))
	require.True(t, f.idle(), "nobody else writes")
	f.produce(1, recordtest.Values("a"), 1)
	woken(t, grown)
	f.produce(1, recordtest.Values("a"), 1)
	f.produce(1, recordtest.Values("a"), 1)
	woken(t, grown)
	require.Empty(t, grown, "one value stands for all")
	stop()
	stop()
	f.produce(1, recordtest.Values("a"), 1)
	require.Empty(t, grown)
	require.Empty(t, f.records.polls())
	require.Zero(t, f.part(1).watchers.Len())
}

// Records of native clients are seen, in one partition and in many.
func TestNativeRecordsWake(t *testing.T) {
	t.Parallel()
	for _, watched := range []int32{1, 5} {
		f := newReaderFakes(t, 5)
		f.records.add(1, 1, natives("old")...)
		for i := range watched {
			f.bounds(i)
		}
		f.Store.server = &detailed{fakeServer: f.server, records: f.records}
		grown, stop := f.Watch(f.ids(watched))
		f.records.add(0, 1, natives("a")...)
		woken(t, grown)
		require.EqualValues(t, 1, f.bounds(0).End)
		for range 3 {
			f.records.add(0, 1, natives("a")...)
			woken(t, grown)
		}
		stop()
		require.Eventually(t, f.idle, soon, time.Millisecond, "nobody watches any more")
	}
}

// detailed describes topics with their partitions' ends.
type detailed struct {
	*fakeServer
	records *fakeRecords
	mu      sync.Mutex
	loading bool // zeros, as after a restart
	writing int  // messages of each partition that are counted and not yet written
	topics  int
}

func (d *detailed) Topic(_ context.Context, at client.Topic) (*iggcon.TopicDetails, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.topics++
	var details iggcon.TopicDetails
	d.records.mu.Lock()
	defer d.records.mu.Unlock()
	if d.records.err != nil {
		return nil, d.records.err
	}
	for i := range uint32(5) {
		l := d.records.log(i)
		p := iggcon.PartitionContract{Id: i, SegmentsCount: 1, CurrentOffset: uint64(max(l.last, 0) + int64(d.writing)), MessagesCount: uint64(l.last + 1)}
		for _, m := range l.messages {
			p.SizeBytes += uint64(message.Size(&m))
		}
		if d.loading {
			p = iggcon.PartitionContract{Id: i}
		}
		details.Partitions = append(details.Partitions, p)
	}
	return &details, nil
}

// Many partitions of a topic cost one request; zeros of a server that is still
// loading are not believed.
func TestManyPartitionsAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 5)
	for i := range uint32(5) {
		f.records.add(i, 1, natives("a", "b", "c")...)
		f.bounds(int32(i))
	}
	d := &detailed{fakeServer: f.server, records: f.records}
	f.Store.server = d
	f.records.polls()
	_, stop := f.Watch(f.ids(5))
	defer stop()
	looks := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.topics
	}
	require.Eventually(t, func() bool { return looks() >= 5 }, soon, time.Millisecond)
	require.Empty(t, f.records.polls())
	d.mu.Lock()
	d.loading = true
	d.mu.Unlock()
	before := looks()
	require.Eventually(t, func() bool { return looks() >= before+3 }, soon, time.Millisecond)
	require.NotEmpty(t, f.records.polls())
	for i := range int32(5) {
		require.EqualValues(t, 3, f.bounds(i).End)
	}
}

// What the server counts before it is written, and loses when it is killed, is not
// taken for the end of a log, which would be refused afterwards.
func TestMessagesThatAreBeingWritten(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 5)
	for i := range uint32(5) {
		f.records.add(i, 1, natives("a", "b", "c")...)
		f.bounds(int32(i))
	}
	d := &detailed{fakeServer: f.server, records: f.records, writing: 7}
	f.Store.server = d
	_, stop := f.Watch(f.ids(5))
	defer stop()
	require.Eventually(t, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.topics >= 3
	}, soon, time.Millisecond)
	for i := range int32(5) {
		require.EqualValues(t, 3, f.knownEnd(f.part(i)))
		require.EqualValues(t, 3, f.bounds(i).End)
	}
}

// While Iggy is away it is asked now and then; when it is back, who waits is told.
func TestWatchersAreWokenWhenIggyIsBack(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, func(f *fakes) { f.cfg.PollInterval = 20 * time.Millisecond })
	f.records.add(0, 1, natives("a")...)
	f.bounds(0)
	grown, stop := f.Watch(f.ids(1))
	defer stop()
	f.records.fail(backend.ErrUnavailable)
	f.records.polls()
	began := time.Now()
	seen := 0
	require.Eventually(t, func() bool { seen += len(f.records.polls()); return seen >= 4 }, soon, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond, "no busy loop")
	f.records.fail(nil)
	woken(t, grown)
}

// Who watches a topic that goes is told.
func TestWatchersOfATopicThatGoes(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.produce(0, recordtest.Values("a"), 1)
	grown, stop := f.Watch(f.ids(1))
	defer stop()
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
	woken(t, grown)
	_, err := f.Bounds(t.Context(), f.id(0))
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
}

// Many watchers that come and go while records come.
func TestWatchersComeAndGo(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 3)
	for i := range int32(3) {
		f.bounds(i)
	}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 30 {
				_, stop := f.Watch(f.ids(3))
				stop()
			}
		})
	}
	work.Go(func() {
		for range 50 {
			f.part(1).watchers.Wake()
		}
	})
	work.Wait()
	require.Eventually(t, f.idle, soon, time.Millisecond)
	require.Empty(t, f.Store.lookout.watched)
}
