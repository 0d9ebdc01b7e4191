package franz

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

// TestStaticMembers restarts one of two static members (KIP-345). It gets its partitions back, the other one is
// not disturbed, and no new generation begins.
func TestStaticMembers(t *testing.T) {
	clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) { staticMembers(t, addr) })
}

func staticMembers(t *testing.T, addr string) {
	observer := clienttest.NewObserver(t, addr)
	topic, group := clienttest.Unique(t, "topic"), clienttest.Unique(t, "group")
	_, err := observer.Admin.CreateTopic(t.Context(), 3, 1, nil, topic)
	require.NoError(t, err)
	observer.AwaitPartitions(t, topic, 3)

	first, second := join(t, addr, group, topic, "first"), join(t, addr, group, topic, "second")
	clienttest.Await(t, "the partitions to be shared", func() bool {
		first.poll(t)
		second.poll(t)
		return len(first.owned.List()) > 0 && len(second.owned.List()) > 0 && len(first.owned.List())+len(second.owned.List()) == 3
	})
	before := second.owned.List()
	_, generation := first.GroupMetadata()
	second.Close() // a static member does not leave
	first.revoked = 0

	again := join(t, addr, group, topic, "second")
	clienttest.Await(t, "the member to be back", func() bool { again.poll(t); return len(again.owned.List()) > 0 })
	require.ElementsMatch(t, before, again.owned.List(), "the partitions of the member before")
	for range 5 { // long enough for a few heartbeats
		first.poll(t)
	}
	_, now := first.GroupMetadata()
	require.Equal(t, generation, now)
	_, now = again.GroupMetadata()
	require.Equal(t, generation, now)
	require.Zero(t, first.revoked)
}

// static is a member with an instance id.
type static struct {
	*kgo.Client
	owned   clienttest.Owned
	revoked int
}

func join(t *testing.T, addr, group, topic, instance string) *static {
	s := &static{}
	revoked := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
		s.owned.Remove(gone[topic]...)
		s.revoked += len(gone[topic])
	}
	var err error
	s.Client, err = kgo.NewClient(
		kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.InstanceID(instance), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.RangeBalancer()), // shares in one generation, while a cooperative one takes several
		kgo.HeartbeatInterval(100*time.Millisecond), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { s.owned.Add(added[topic]...) }),
	)
	require.NoError(t, err)
	t.Cleanup(s.CloseAllowingRebalance)
	return s
}

func (s *static) poll(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s.PollFetches(ctx)
	s.AllowRebalance()
}
