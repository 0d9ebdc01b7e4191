package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

const (
	// produceTimeout is what producers give a request.
	produceTimeout = 3 * time.Second
	once           = "idempotent" // the topic of the idempotent producer
	often          = "plain"      // and of the other
)

// scene is the load on one gateway over one Iggy server.
type scene struct {
	t         *testing.T
	durable   bool // groups outlive the gateway
	iggy      iggytest.Server
	gateway   *process
	observer  clienttest.Observer
	producers []*producer
	group     *consumers
	starts    map[place]int64 // below them records were deleted
}

func startScene(t *testing.T, iggy iggytest.Server, coordinator string, opts ...kgo.Opt) *scene {
	s := &scene{t: t, iggy: iggy, durable: coordinator == durable, starts: map[place]int64{}}
	s.gateway = startGateway(t, iggy.Address(), "--groups.coordinator", coordinator)
	s.observer = clienttest.NewObserver(t, s.gateway.addr)
	_, err := s.observer.Admin.CreateTopics(t.Context(), partitions, 1, nil, once, often)
	require.NoError(t, err)
	for _, topic := range []string{once, often} {
		s.observer.AwaitPartitions(t, topic, partitions)
	}
	s.producers = []*producer{
		startProducer(t, s.gateway.addr, once, opts...),
		startProducer(t, s.gateway.addr, often, append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))...),
	}
	s.group = startConsumers(t, s.gateway.addr, "billing", 2, []string{once, often}, opts...)
	s.progress("start")
	return s
}

// progress waits until every partition has taken records, which it had not been sent before, and handed them to the
// group. It returns how long the slowest took for either.
func (s *scene) progress(when string) (acked, consumed time.Duration) {
	s.t.Helper()
	began := time.Now()
	var before [][partitions]int
	got := map[place]int{}
	for _, p := range s.producers {
		before = append(before, p.counts())
		for partition := range partitions {
			at := place{p.topic, int32(partition)}
			got[at] = s.group.count(at)
		}
	}
	s.await(when+": a partition takes no records", func() bool {
		for i, p := range s.producers {
			for partition, n := range p.counts() {
				if n <= before[i][partition] {
					return false
				}
			}
		}
		return true
	})
	acked = time.Since(began)
	s.await(when+": a partition hands out no records", func() bool {
		for at, n := range got {
			if s.group.count(at) <= n {
				return false
			}
		}
		return true
	})
	return acked, time.Since(began)
}

// await waits until something is so, and says how far all have come when it does not become so.
func (s *scene) await(otherwise string, so func() bool) {
	s.t.Helper()
	end := time.Now().Add(patience)
	for ; !so(); <-time.After(time.Millisecond) {
		for _, p := range s.producers {
			require.NoError(s.t, p.failure(), "%s: the producer of %s gave up", otherwise, p.topic)
		}
		if time.Now().After(end) {
			for _, p := range s.producers {
				for partition, acked := range p.counts() {
					at := place{p.topic, int32(partition)}
					s.t.Logf("%v: %d acknowledged, %d consumed, %d committed", at, acked, s.group.count(at), s.group.acknowledged()[at])
				}
			}
			require.Fail(s.t, otherwise)
		}
	}
}

// commitsKept fails the test when a commit that was acknowledged is gone.
func (s *scene) commitsKept() {
	s.t.Helper()
	s.observer = clienttest.NewObserver(s.t, s.gateway.addr) // the old one may be connected to a life that is over
	acknowledged := s.group.acknowledged()
	for _, p := range s.producers {
		for partition, offset := range s.observer.Committed(s.t, s.group.group, p.topic) {
			at := place{p.topic, partition}
			require.GreaterOrEqual(s.t, offset, acknowledged[at], "the committed offset of %v", at)
			delete(acknowledged, at)
		}
	}
	require.Empty(s.t, acknowledged, "committed offsets that are gone")
}

// end stops the load and looks at all that is stored.
func (s *scene) end() {
	for _, p := range s.producers {
		p.stop()
		require.NoError(s.t, p.failure(), p.topic)
	}
	s.observer = clienttest.NewObserver(s.t, s.gateway.addr)
	for _, p := range s.producers {
		records := read(s.t, s.observer, s.gateway.addr, p.topic)
		d := compare(p, records, s.starts)
		s.t.Logf("%s: %s", p.topic, d)
		require.Zero(s.t, d.lost, p.topic)
		require.Zero(s.t, d.disordered, p.topic)
		if p.topic == once {
			require.Zero(s.t, d.doubled, p.topic)
		}
		for partition, found := range records {
			at := place{p.topic, int32(partition)}
			s.await(fmt.Sprintf("the group did not get all %d records of %v", len(found), at), func() bool { return s.group.has(at, found) })
		}
	}
	s.group.stop()
	s.commitsKept()
	s.startsKept()
	s.t.Logf("%d commits of partitions, none lost", s.group.commits)
	s.generationsKept()
}

// victims are what is killed, one after the other.
func victims() []string { return []string{"gateway", "iggy", "both"} }

func TestKill(t *testing.T) {
	eachCoordinator(t, func(t *testing.T, iggy iggytest.Server, coordinator string) {
		s := startScene(t, iggy, coordinator)
		s.steady()
		members := s.group.members()
		var acked, consumed []time.Duration
		for round := range rounds(t) {
			victim := victims()[round%3]
			s.trim()
			a, c := s.round(victim)
			t.Logf("round %d: killed %s; all partitions took records after %v and handed them out after %v", round+1, victim, a, c)
			acked, consumed = append(acked, a), append(consumed, c)
			s.commitsKept()
			s.startsKept()
			if s.durable {
				require.Equal(t, members, s.group.members(), "members that were not known any more")
			}
		}
		s.end()
		slices.Sort(acked)
		slices.Sort(consumed)
		t.Logf("%d rounds: from the restart until all partitions took records: median %v, longest %v; until they handed them out: %v, %v",
			len(acked), acked[len(acked)/2], acked[len(acked)-1], consumed[len(consumed)/2], consumed[len(consumed)-1])
	})
}

// round kills at a random moment, starts again, and waits until all goes on. It returns how long that took from the
// moment that everything had been started.
func (s *scene) round(victim string) (acked, consumed time.Duration) {
	<-time.After(time.Duration(rand.Int64N(int64(time.Second)))) // the moment is meant to be any
	if victim != "iggy" {
		s.gateway.kill()
	}
	if victim != "gateway" {
		s.iggy.Kill()
	}
	began := time.Now()
	if victim != "iggy" {
		s.gateway.launch() // which waits for Iggy
	}
	if victim != "gateway" {
		s.iggy.Start()
	}
	if victim != "iggy" {
		s.gateway.await()
	}
	up := time.Since(began)
	acked, consumed = s.progress("kill of " + victim)
	return up + acked, up + consumed
}
