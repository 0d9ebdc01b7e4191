package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/internal/porttest"
)

// durably launches a gateway that keeps groups, on a folder and an address.
func durably(t *testing.T, dir, listen string) (p *process, addr string) {
	t.Helper()
	p = launch(t, "gateway", "--listen", listen, "--storage.dir", dir, "--groups.coordinator=durable", "--groups.initial_rebalance_delay=0s")
	return p, p.address(t)
}

// kill is kill -9.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Kill())
	p.end(t)
}

// send produces n records, each with a key of the round and its number.
func send(t *testing.T, addr, topic, round string, n int) {
	t.Helper()
	c := client(t, addr, kgo.DefaultProduceTopic(topic))
	var records []*kgo.Record
	for i := range n {
		records = append(records, kgo.StringRecord(fmt.Sprintf("%s-%d", round, i)))
	}
	require.NoError(t, c.ProduceSync(t.Context(), records...).FirstErr())
	c.Close()
}

// poll takes n records.
func poll(t *testing.T, c *kgo.Client, n int) (values []string) {
	t.Helper()
	for len(values) < n {
		fetches := c.PollFetches(t.Context())
		require.NoError(t, t.Context().Err())
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

// A stopped consumer's group is there for whoever asks, with its lag, until it is
// deleted; a gateway that is killed loses nothing of it.
func TestStoppedGroupsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, addr := durably(t, dir, porttest.Address(t))
	send(t, addr, "orders", "a", 10)
	c := client(t, addr, kgo.ConsumerGroup("stopped"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
	poll(t, c, 10)
	require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
	c.Close() // leaves the group
	send(t, addr, "orders", "b", 5)

	requireStopped := func() {
		t.Helper()
		admin := kadm.NewClient(client(t, addr))
		listed, err := admin.ListGroups(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"stopped"}, listed.Groups())
		require.Equal(t, "Empty", listed["stopped"].State)
		require.Equal(t, "consumer", listed["stopped"].ProtocolType)
		lags, err := admin.Lag(t.Context(), "stopped")
		require.NoError(t, err)
		require.NoError(t, lags.Error())
		lag := lags["stopped"]
		require.Equal(t, "Empty", lag.State)
		require.EqualValues(t, 5, lag.Lag.Total())
	}
	requireStopped()
	p.kill(t)
	p, addr = durably(t, dir, addr)
	requireStopped()

	// It goes on where it had committed.
	c = client(t, addr, kgo.ConsumerGroup("stopped"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
	require.Equal(t, "b-0", poll(t, c, 5)[0])
	_, err := kadm.NewClient(client(t, addr)).DeleteGroup(t.Context(), "stopped")
	require.ErrorContains(t, err, "NON_EMPTY_GROUP")
	c.Close()

	admin := kadm.NewClient(client(t, addr))
	_, err = admin.DeleteGroup(t.Context(), "stopped")
	require.NoError(t, err)
	p.kill(t)
	_, addr = durably(t, dir, addr)
	admin = kadm.NewClient(client(t, addr))
	listed, err := admin.ListGroups(t.Context())
	require.NoError(t, err)
	require.Empty(t, listed)
	offsets, err := admin.FetchOffsets(t.Context(), "stopped")
	require.NoError(t, err)
	require.Empty(t, offsets)
}

// Consumers that run go on when the gateway was killed: same members, same
// generation, no partition given up, nothing that was committed read again.
func TestRunningConsumersOutliveTheGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, addr := durably(t, dir, porttest.Address(t))
	admin := kadm.NewClient(client(t, addr))
	_, err := admin.CreateTopic(t.Context(), 2, 1, nil, "orders")
	require.NoError(t, err)
	var moves, beats atomic.Int64
	dynamic := runs(t, addr, &moves, &beats)
	static := runs(t, addr, &moves, &beats, kgo.InstanceID("i"))
	received := make(chan string, 1000)
	for _, c := range []*kgo.Client{dynamic, static} {
		go consume(t, c, received)
	}
	describe := func() kadm.DescribedGroup {
		described, err := admin.DescribeGroups(t.Context(), "running")
		require.NoError(t, err)
		return described["running"]
	}
	require.Eventually(t, func() bool {
		g := describe()
		return g.State == "Stable" && len(g.Members) == 2 && len(g.AssignedPartitions()["orders"]) == 2
	}, time.Minute, 50*time.Millisecond)
	send(t, addr, "orders", "a", 20)
	seen := map[string]int{}
	take := func(n int) {
		t.Helper()
		for range n {
			seen[<-received]++
		}
	}
	take(20)
	before, settled := describe(), moves.Load()
	_, generation := dynamic.GroupMetadata()

	p.kill(t)
	_, addr = durably(t, dir, addr)
	send(t, addr, "orders", "b", 20)
	take(20)
	heard := beats.Load()
	require.Eventually(t, func() bool { return beats.Load() >= heard+6 }, time.Minute, 50*time.Millisecond, "heartbeats")
	require.Equal(t, settled, moves.Load(), "partitions moved")
	after := describe()
	require.Equal(t, before.Members, after.Members)
	require.Equal(t, "Stable", after.State)
	_, now := dynamic.GroupMetadata()
	require.Equal(t, generation, now)
	require.Len(t, seen, 40)
	for value, times := range seen {
		require.Equal(t, 1, times, "%s was committed before it was told", value)
	}
}

// runs returns a member of the group running. It counts partitions that come or
// go, and heartbeats that are well.
func runs(t *testing.T, addr string, moves, beats *atomic.Int64, opts ...kgo.Opt) *kgo.Client {
	moved := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		for _, p := range partitions {
			moves.Add(int64(len(p)))
		}
	}
	return client(t, addr, append(opts,
		kgo.ConsumerGroup("running"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200*time.Millisecond), kgo.SessionTimeout(30*time.Second),
		kgo.OnPartitionsAssigned(moved), kgo.OnPartitionsRevoked(moved), kgo.OnPartitionsLost(moved),
		kgo.WithHooks(heartbeats{beats}),
	)...)
}

// consume commits each record and then tells of it, until the client is closed.
func consume(t *testing.T, c *kgo.Client, received chan<- string) {
	for {
		fetches := c.PollFetches(t.Context())
		if fetches.IsClientClosed() || t.Context().Err() != nil {
			return
		}
		for _, r := range fetches.Records() {
			for c.CommitRecords(t.Context(), r) != nil && t.Context().Err() == nil {
			}
			received <- string(r.Value)
		}
	}
}

// heartbeats counts the answers to Heartbeat.
type heartbeats struct{ n *atomic.Int64 }

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (h heartbeats) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key == kmsg.Heartbeat.Int16() && e.Err() == nil {
		h.n.Add(1)
	}
}
