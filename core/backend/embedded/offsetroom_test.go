package embedded_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
)

// A limited store has a topic of two partitions, and room for some forty offsets.
type limited struct {
	*box
	topic backend.Topic
}

const offsetLimit = 2000

func newLimited(t *testing.T) limited {
	b := newBox(t, nil, embedded.DefaultConfig())
	b.store.LimitOffsets(offsetLimit)
	topic, err := b.store.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 2})
	require.NoError(t, err)
	return limited{b, topic}
}

// count has the offsets counted, with the first commit after a start.
func (l limited) count(t *testing.T) {
	t.Helper()
	require.NoError(t, l.commit(t, "g0", 0, 1, ""))
	require.Eventually(t, l.store.OffsetsCounted, time.Minute, time.Millisecond)
}

func (l limited) commit(t *testing.T, group string, index int32, offset int64, metadata string) error {
	t.Helper()
	p := backend.Partition{Topic: l.topic.ID, Index: index}
	return l.store.CommitOffsets(t.Context(), group,
		[]backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{Offset: offset, Metadata: metadata}}})
}

// fill commits for new groups until that is refused, and returns how many there are.
func (l limited) fill(t *testing.T) (groups int) {
	t.Helper()
	for {
		require.Less(t, groups, 1000)
		err := l.commit(t, fmt.Sprint("g", groups), 0, 1, "")
		if err != nil {
			require.ErrorIs(t, err, backend.ErrTooLarge)
			require.ErrorContains(t, err, "2000 bytes of committed offsets")
			return groups
		}
		groups++
	}
}

// When there are offsets enough, those that are there may be committed anew and
// deleted, and no others; what was deleted makes room.
func TestOffsetsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	l.count(t)
	groups := l.fill(t)
	require.Greater(t, groups, 20)
	require.ErrorIs(t, l.commit(t, "g0", 1, 1, ""), backend.ErrTooLarge, "another partition")
	require.ErrorIs(t, l.commit(t, "g0", 0, 2, strings.Repeat("m", 100)), backend.ErrTooLarge, "more metadata")
	require.NoError(t, l.commit(t, "g0", 0, 2, ""))
	require.NoError(t, l.commit(t, "g1", 0, -1, ""), "a commit that deletes")
	found, err := l.store.FetchOffsets(t.Context(), "g0", nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, l.store.DeleteOffsets(t.Context(), "g0"))
	// A store that has just counted does not count again at once.
	require.Eventually(t, func() bool { return l.commit(t, "another", 1, 1, "") == nil }, time.Minute, time.Millisecond)
	used, err := l.store.OffsetBytes()
	require.NoError(t, err)
	require.LessOrEqual(t, used, int64(offsetLimit))
}

// What is committed again and again takes no more room than once, and a topic that is
// deleted gives its offsets' room back.
func TestOffsetsThatAreReplacedTakeNoRoom(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	for i := range 100 * int64(offsetLimit) / 50 {
		require.NoError(t, l.commit(t, "g", 0, i, ""))
	}
	require.NoError(t, l.commit(t, "g", 1, 0, ""))
	l.fill(t)
	require.NoError(t, l.store.DeleteTopic(t.Context(), l.topic.ID))
	var err error
	l.topic, err = l.store.CreateTopic(t.Context(), backend.NewTopic{Name: "t2", Partitions: 2})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.commit(t, "g", 0, 0, "") == nil }, time.Minute, time.Millisecond)
}

// The bound holds for a store that was full before it was opened, and against those who
// commit at once.
func TestOffsetsAreBoundedAtOnce(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	l.count(t)
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := range 100 {
				_ = l.commit(t, fmt.Sprintf("%d-%d", w, i), 0, 1, "")
			}
		})
	}
	work.Wait()
	l.count(t)
	l.fill(t)
	used, err := l.store.OffsetBytes()
	require.NoError(t, err)
	const onTheirWay = 8 * 100 // a count may miss what is committed meanwhile
	require.LessOrEqual(t, used, int64(offsetLimit+onTheirWay))
	l.store.LimitOffsets(offsetLimit) // as after a start
	l.count(t)
	require.ErrorIs(t, l.commit(t, "late", 0, 1, ""), backend.ErrTooLarge)
}

// A count holds nobody up: commits go on, and topics are deleted, while one counts in
// the background, and no two count at once.
func TestOffsetsAreCountedBehindCommits(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	var counts atomic.Int32
	begun, let := make(chan struct{}), make(chan struct{})
	l.store.BeforeCount(func(quit <-chan struct{}) {
		if counts.Add(1) == 1 {
			close(begun)
		}
		select {
		case <-let:
		case <-quit:
		}
	})
	other, err := l.store.CreateTopic(t.Context(), backend.NewTopic{Name: "other", Partitions: 1})
	require.NoError(t, err)
	require.NoError(t, l.commit(t, "g", 0, 0, ""))
	<-begun
	require.NoError(t, l.store.DeleteTopic(t.Context(), other.ID))
	// What replaces needs no room, and there is some for others until they are counted.
	for i := range int64(offsetLimit) {
		require.NoError(t, l.commit(t, "g", 0, i, ""))
	}
	require.Less(t, l.fill(t), 3)
	require.NoError(t, l.commit(t, "g", 0, 1, ""))
	require.False(t, l.store.OffsetsCounted())
	require.EqualValues(t, 1, counts.Load())
	close(let)
	require.Eventually(t, l.store.OffsetsCounted, time.Minute, time.Millisecond)
	require.NoError(t, l.commit(t, "another", 0, 1, ""))
}

// A count ends with the store.
func TestCloseEndsACountOfOffsets(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	begun := make(chan struct{})
	l.store.BeforeCount(func(quit <-chan struct{}) {
		close(begun)
		<-quit
	})
	require.NoError(t, l.commit(t, "g", 0, 0, ""))
	<-begun
	require.NoError(t, l.store.Close())
	require.False(t, l.store.OffsetsCounted())
}
