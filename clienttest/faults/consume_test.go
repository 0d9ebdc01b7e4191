package faults

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// consumers is a group of members that commit what they have got.
type consumers struct {
	group string
	join  func() // one more member
	stop  func()

	mu         sync.Mutex
	seen       map[place]map[int64]bool // offsets that came
	committed  map[place]int64          // the largest offset whose commit was acknowledged
	commits    int
	rebalances int // partitions that members lost
	owned      owned
}

func startConsumers(t *testing.T, addr, group string, members int, topics []string, opts ...kgo.Opt) *consumers {
	c := &consumers{group: group, seen: map[place]map[int64]bool{}, committed: map[place]int64{}, owned: newOwned()}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	c.join = func() {
		got := func(_ context.Context, client *kgo.Client, more map[string][]int32) { c.gain(client, more) }
		lost := func(_ context.Context, client *kgo.Client, gone map[string][]int32) { c.lose(client, gone) }
		client, err := kgo.NewClient(append(opts,
			kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(fetchWait),
			kgo.HeartbeatInterval(heartbeatInterval), kgo.SessionTimeout(sessionTimeout),
			kgo.OnPartitionsAssigned(got), kgo.OnPartitionsRevoked(lost), kgo.OnPartitionsLost(lost),
			kgo.RetryBackoffFn(backoff), kgo.MetadataMinAge(50*time.Millisecond))...)
		require.NoError(t, err)
		running.Go(func() {
			defer client.CloseAllowingRebalance()
			for ctx.Err() == nil {
				c.poll(ctx, client)
			}
		})
	}
	for range members {
		c.join()
	}
	c.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(c.stop)
	return c
}

const (
	fetchWait         = 500 * time.Millisecond
	heartbeatInterval = 200 * time.Millisecond
	sessionTimeout    = 6 * time.Second
	commitTimeout     = 10 * time.Second
)

// poll takes what comes within a second and commits it.
func (c *consumers) poll(ctx context.Context, client *kgo.Client) {
	poll, cancel := context.WithTimeout(ctx, time.Second)
	fetches := client.PollFetches(poll)
	cancel()
	c.note(fetches)
	if fetches.NumRecords() == 0 {
		return
	}
	commit, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	client.CommitOffsetsSync(commit, client.UncommittedOffsets(),
		func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err == nil {
				c.noteCommits(req, resp)
			}
		})
}

func (c *consumers) note(fetches kgo.Fetches) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		at := place{r.Topic, r.Partition}
		if c.seen[at] == nil {
			c.seen[at] = map[int64]bool{}
		}
		c.seen[at][r.Offset] = true
	})
}

// noteCommits keeps what was asked for and acknowledged.
func (c *consumers) noteCommits(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	asked := map[place]int64{}
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			asked[place{topic.Topic, p.Partition}] = p.Offset
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			at := place{topic.Topic, p.Partition}
			if kerr.ErrorForCode(p.ErrorCode) == nil {
				c.commits++
				c.committed[at] = max(c.committed[at], asked[at])
			}
		}
	}
}

func (c *consumers) gain(client *kgo.Client, more map[string][]int32) {
	member, generation := client.GroupMetadata()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned.gain(client, member, generation, more)
}

func (c *consumers) lose(client *kgo.Client, gone map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned.lose(client, gone)
	for _, partitions := range gone {
		c.rebalances += len(partitions)
	}
}

// acknowledged returns the commits so far.
func (c *consumers) acknowledged() map[place]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[place]int64{}
	for at, offset := range c.committed {
		out[at] = offset
	}
	return out
}

// count returns how many offsets of a partition came.
func (c *consumers) count(at place) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen[at])
}

// has reports that all of these records of a partition came.
func (c *consumers) has(at place, all []stored) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(all, func(r stored) bool { return !c.seen[at][r.offset] })
}

// lost returns how many partitions members have lost.
func (c *consumers) lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rebalances
}
