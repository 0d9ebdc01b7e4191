package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// latencies measures how long the gateway takes to answer, by API key.
type latencies struct {
	mu      sync.Mutex
	longest map[int16]time.Duration
	failed  map[int16]error // connections that ended before the answer
}

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (l *latencies) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := e2e.Err(); err != nil {
		l.failed[key] = err
		return
	}
	// Answers come in order: it is from the one before on that this one is waited for.
	l.longest[key] = max(l.longest[key], e2e.TimeToRead)
}

func (l *latencies) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest, l.failed = map[int16]time.Duration{}, map[int16]error{}
}

// results returns what has been measured since reset.
func (l *latencies) results() (longest map[int16]time.Duration, failed map[int16]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.longest), maps.Clone(l.failed)
}

func show(longest map[int16]time.Duration) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(longest)) {
		out = append(out, fmt.Sprintf("%s %v", kmsg.NameForKey(key), longest[key].Round(time.Millisecond)))
	}
	return strings.Join(out, ", ")
}

const (
	// requestTimeout is the default of iggy.request_timeout.
	requestTimeout = 5 * time.Second
	// commitPatience is how long a commit waits for Iggy.
	commitPatience = 2 * time.Second
	// grace is what a busy machine may add to a deadline.
	grace = 3 * time.Second
)

// deadline is how long a request may take at most, whatever Iggy does.
func deadline(key int16) time.Duration {
	switch kmsg.Key(key) {
	case kmsg.Heartbeat, kmsg.FindCoordinator, kmsg.ApiVersions:
		return grace
	case kmsg.OffsetCommit: // heartbeats come behind it
		return commitPatience + grace
	case kmsg.JoinGroup, kmsg.SyncGroup: // a member that commits joins when it has given that up
		return commitTimeout + commitPatience + grace
	case kmsg.Produce:
		return produceTimeout + grace
	case kmsg.Fetch:
		return requestTimeout + fetchWait + grace
	default:
		return requestTimeout + grace
	}
}

// TestPause stops Iggy where it stands, under load. No request takes longer than it may, heartbeats are answered
// all along, and everything goes on as soon as Iggy does.
func TestPause(t *testing.T) {
	eachCoordinator(t, func(t *testing.T, iggy iggytest.Server, coordinator string) {
		measured := &latencies{}
		measured.reset()
		s := startScene(t, iggy, coordinator, kgo.WithHooks(measured))
		s.steady()
		lost := s.group.lost()
		before := [2]int{s.producers[0].total(), s.producers[1].total()}
		measured.reset()
		iggy.Pause()
		<-time.After(pause(t)) // it is the time that is tested
		during := [2]int{s.producers[0].total(), s.producers[1].total()}
		iggy.Resume()
		acked, consumed := s.progress("the pause")
		t.Logf("paused %v (%d and %d records were on their way): all partitions took records %v after it, and handed them out after %v",
			pause(t), during[0]-before[0], during[1]-before[1], acked, consumed)
		longest, failed := measured.results()
		t.Logf("longest answers: %v", show(longest))
		require.Less(t, acked, requestTimeout, "recovery")
		require.Equal(t, lost, s.group.lost(), "partitions that members lost: the group has rebalanced")
		for key, took := range longest {
			require.LessOrEqual(t, took, deadline(key), kmsg.NameForKey(key))
		}
		require.Empty(t, failed, "requests without an answer")
		require.NotZero(t, longest[kmsg.Heartbeat.Int16()], "heartbeats")
		s.end()
	})
}

// TestPauseAmidRebalance has a member join while Iggy is paused, of which nothing can
// be saved. Nobody waits for long, those that are members stay it, and the newcomer
// has its share as soon as Iggy goes on.
func TestPauseAmidRebalance(t *testing.T) {
	eachServer(t, func(t *testing.T, iggy iggytest.Server) {
		measured := &latencies{}
		measured.reset()
		s := startScene(t, iggy, durable, kgo.WithHooks(measured))
		s.steady()
		members := s.group.members()
		measured.reset()
		iggy.Pause()
		s.group.join()
		<-time.After(pause(t)) // it is the time that is tested
		longest, failed := measured.results()
		iggy.Resume()
		began := time.Now()
		s.shared(3)
		t.Logf("a member that had joined in a pause of %v had its share %v after it", pause(t), time.Since(began))
		t.Logf("longest answers: %v", show(longest))
		for key, took := range longest {
			require.LessOrEqual(t, took, deadline(key), kmsg.NameForKey(key))
		}
		require.Empty(t, failed, "requests without an answer")
		require.NotZero(t, longest[kmsg.JoinGroup.Int16()], "joins")
		require.Subset(t, s.group.members(), members, "members that were not known any more")
		s.progress("the pause")
		s.end()
	})
}

// steady waits until both members have shared the partitions, and nothing moves any more.
func (s *scene) steady() {
	s.t.Helper()
	s.shared(2)
}

// shared is steady for so many members.
func (s *scene) shared(members int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		group := s.observer.Describe(s.t, s.group.group, once)
		return group.State == "Stable" && len(group.Members) == members && s.group.settled(members)
	}, patience, 10*time.Millisecond, "the members do not share the partitions")
}
