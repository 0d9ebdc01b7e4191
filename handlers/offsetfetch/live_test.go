package offsetfetch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/offsetcommit"
	"github.com/iggykafka/gateway/handlers/offsetfetch"
)

// live is a store and both handlers over it.
type live struct {
	t             testing.TB
	store         backend.Backend
	commit, fetch handler.Handler
}

func newLive(t testing.TB) live {
	store := embeddedtest.Open(t)
	groups := memory.New(coordinator.DefaultConfig())
	return live{
		t: t, store: store,
		commit: offsetcommit.New(groups, store, settings.Offsets{MetadataMax: 4096}),
		fetch:  offsetfetch.New(store),
	}
}

func (l live) create(name string, partitions int32) backend.Topic {
	l.t.Helper()
	topic, err := l.store.CreateTopic(l.t.Context(), backend.NewTopic{Name: name, Partitions: partitions})
	require.NoError(l.t, err)
	return topic
}

func ask[R kmsg.Response](l live, h handler.Handler, version int16, req kmsg.Request) R {
	l.t.Helper()
	req.SetVersion(version)
	resp, err := h.Handle(l.t.Context(), handler.Call{MaxFrame: 100 << 20}, req)
	require.NoError(l.t, err)
	back, err := handlertest.RoundTrip(resp, version)
	require.NoError(l.t, err)
	return back.(R)
}

// commitAll commits offset base+i for partition i of the topic.
func (l live) commitAll(version int16, group string, topic backend.Topic, base int64, metadata string) {
	l.t.Helper()
	asked := kmsg.NewOffsetCommitRequestTopic()
	asked.Topic, asked.TopicID = topic.Name, topic.ID
	for i := range topic.Partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = i, base+int64(i), 0, &metadata
		asked.Partitions = append(asked.Partitions, p)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Topics = group, []kmsg.OffsetCommitRequestTopic{asked}
	resp := ask[*kmsg.OffsetCommitResponse](l, l.commit, version, req)
	require.Len(l.t, resp.Topics, 1)
	require.Len(l.t, resp.Topics[0].Partitions, int(topic.Partitions))
	for _, p := range resp.Topics[0].Partitions {
		require.Zero(l.t, p.ErrorCode)
	}
}

// fetched returns "topic/partition offset metadata" of everything that a group
// has committed, or of the named partitions, at any version.
func (l live) fetched(version int16, group string, named ...backend.Topic) []string {
	l.t.Helper()
	req := &kmsg.OffsetFetchRequest{Group: group, Groups: []kmsg.OffsetFetchRequestGroup{{Group: group}}}
	for _, topic := range named {
		var indexes []int32
		for i := range topic.Partitions {
			indexes = append(indexes, i)
		}
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic.Name, Partitions: indexes})
		req.Groups[0].Topics = append(req.Groups[0].Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic.Name, TopicID: topic.ID, Partitions: indexes})
	}
	resp := ask[*kmsg.OffsetFetchResponse](l, l.fetch, version, req)
	require.Zero(l.t, resp.ErrorCode)
	var all []string
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			require.Zero(l.t, p.ErrorCode)
			all = append(all, fmt.Sprintf("%s/%d %d %s", topic.Topic, p.Partition, p.Offset, *p.Metadata))
		}
	}
	for _, g := range resp.Groups {
		require.Zero(l.t, g.ErrorCode)
		for _, topic := range g.Topics {
			name := topic.Topic
			if version >= 10 {
				found, err := l.store.TopicByID(l.t.Context(), topic.TopicID)
				require.NoError(l.t, err)
				name = found.Name
			}
			for _, p := range topic.Partitions {
				require.Zero(l.t, p.ErrorCode)
				all = append(all, fmt.Sprintf("%s/%d %d %s", name, p.Partition, p.Offset, *p.Metadata))
			}
		}
	}
	return all
}

// What any version commits, every version reads back.
func TestEveryVersionReadsWhatEveryVersionCommits(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	topic := l.create("t", 2)
	for commit := int16(2); commit <= 10; commit++ {
		l.commitAll(commit, "g", topic, int64(commit)*100, fmt.Sprintf("v%d", commit))
		want := []string{fmt.Sprintf("t/0 %d00 v%d", commit, commit), fmt.Sprintf("t/1 %d01 v%d", commit, commit)}
		for fetch := int16(1); fetch <= 10; fetch++ {
			require.Equal(t, want, l.fetched(fetch, "g", topic), "v%d, named", fetch)
			if fetch >= 2 {
				require.Equal(t, want, l.fetched(fetch, "g"), "v%d, all", fetch)
			}
		}
	}
	require.Empty(t, l.fetched(8, "absent"))
}

// Offsets go with their topic, and do not come back with one of the same name.
func TestOffsetsGoWithTheirTopic(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	gone, kept := l.create("gone", 1), l.create("kept", 1)
	l.commitAll(8, "g", gone, 5, "")
	l.commitAll(8, "g", kept, 6, "")
	require.NoError(t, l.store.DeleteTopic(t.Context(), gone.ID))
	again := l.create("gone", 1)
	require.Equal(t, []string{"kept/0 6 "}, l.fetched(8, "g"))
	require.Equal(t, []string{"gone/0 -1 "}, l.fetched(8, "g", again))

	l.commitAll(8, "g", kept, -1, "") // a negative offset deletes
	require.Empty(t, l.fetched(8, "g"))
}

// Ten thousand partitions in one request, over many topics and over one.
func TestTenThousandPartitions(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	one := l.create("one", 5_000)
	l.commitAll(8, "g", one, 0, "md")
	var many []backend.Topic
	for i := range 100 {
		topic := l.create(fmt.Sprintf("topic-%03d", i), 50)
		l.commitAll(10, "g", topic, 0, "md")
		many = append(many, topic)
	}
	for _, v := range []int16{1, 7, 8, 10} {
		// Topics in the order of their names, as an answer with everything has them.
		named := l.fetched(v, "g", append([]backend.Topic{one}, many...)...)
		require.Len(t, named, 10_000)
		if v >= 2 {
			require.Equal(t, named, l.fetched(v, "g"))
		}
	}
}

func BenchmarkTenThousandPartitions(b *testing.B) {
	l := newLive(b)
	topic := l.create("t", 10_000)
	b.Run("commit", func(b *testing.B) {
		for b.Loop() {
			l.commitAll(8, "g", topic, 5, "md")
		}
	})
	b.Run("fetch named", func(b *testing.B) {
		for b.Loop() {
			l.fetched(8, "g", topic)
		}
	})
	b.Run("fetch all", func(b *testing.B) {
		for b.Loop() {
			l.fetched(8, "g")
		}
	})
}
