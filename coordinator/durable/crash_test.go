package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/durable"
	"github.com/iggykafka/gateway/coordinator/grouptest"
	"github.com/iggykafka/gateway/coordinator/host"
)

// TestCrashes kills the coordinator again and again under members that join, sync,
// leave and die, over a ledger that is slow and fails, sometimes after it has
// written. Whatever happens, no generation number is told with two sets of members,
// and who is in a generation was told so.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &storm{T: t, rnd: rand.New(rand.NewPCG(seed, 1)), told: map[int32][]string{}, ids: grouptest.IDs()}
				s.ledger = &moody{Ledger: &coordinatortest.Ledger{}, storm: s}
				s.open()
				for range 150 {
					s.event()
				}
				s.calls()
				s.mu.Lock() // calls may end later
				defer s.mu.Unlock()
				require.NotEmpty(t, s.told)
			})
		})
	}
}

// storm is what happens to a group of one name.
type storm struct {
	*testing.T
	ids func(coordinator.JoinRequest) string

	mu     sync.Mutex // events and answers come from several goroutines
	rnd    *rand.Rand
	told   map[int32][]string // members of a generation, as its leader heard of them
	known  []coordinator.JoinResult
	ledger *moody
	c      *durable.Coordinator
	calls  func() // ends those of the coordinator that runs
	life   context.Context
}

func (s *storm) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n) == 0
}

func (s *storm) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

func (s *storm) open() {
	cfg := quick()
	cfg.MinSessionTimeout = time.Second
	s.c = open(s.T, cfg, s.ledger, host.WithMemberIDs(func(r coordinator.JoinRequest) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ids(r)
	}))
	s.life, s.calls = context.WithCancel(s.Context())
}

// member returns somebody who was told an id, or nobody.
func (s *storm) member() (m coordinator.JoinResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) > 0 {
		m = s.known[s.rnd.IntN(len(s.known))]
	}
	return m
}

func (s *storm) event() {
	time.Sleep(time.Duration(s.pick(300)) * time.Millisecond)
	c, life, m := s.c, s.life, s.member()
	request := coordinator.HeartbeatRequest{Group: "g", MemberID: m.MemberID, Generation: m.Generation}
	switch s.pick(12) {
	case 0, 1:
		go s.join(c, life, "")
	case 2, 3, 4:
		go s.join(c, life, m.MemberID)
	case 5, 6, 7:
		sync := coordinator.SyncRequest{Group: "g", MemberID: m.MemberID, Generation: m.Generation}
		for _, other := range m.Members {
			sync.Assignments = append(sync.Assignments, coordinator.Assignment{MemberID: other.MemberID, Data: []byte("p")})
		}
		go func() {
			if c.Sync(life, sync).Code == coordinator.None && life.Err() == nil {
				s.belongs(request)
			}
		}()
	case 8, 9:
		if c.Heartbeat(life, request) == coordinator.None {
			s.belongs(request)
		}
	case 10:
		if s.chance(3) {
			go c.Leave(life, "g", []coordinator.Identity{{MemberID: m.MemberID}})
		}
	case 11: // the death of the gateway
		old := s.ledger
		s.ledger = &moody{Ledger: old.Clone(), storm: s}
		s.calls()
		synctest.Wait()
		s.open()
	}
}

// join is a Join. What is told in a life that has ended counts as well.
func (s *storm) join(c *durable.Coordinator, life context.Context, id string) {
	r := c.Join(life, coordinator.JoinRequest{
		Group: "g", MemberID: id, ClientID: "m", SessionTimeout: 5 * time.Second, RebalanceTimeout: 2 * time.Second,
		ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range"}},
	})
	if r.Code != coordinator.None {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known[max(0, len(s.known)-5):], r)
	if len(r.Members) == 0 {
		return
	}
	var members []string
	for _, m := range r.Members {
		members = append(members, m.MemberID)
	}
	if before, ok := s.told[r.Generation]; ok {
		require.Equal(s, before, members, "generation %d", r.Generation)
	}
	s.told[r.Generation] = members
}

// belongs requires that a member that was let in is one of its generation, if its
// leader ever heard of that.
func (s *storm) belongs(r coordinator.HeartbeatRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if members, ok := s.told[r.Generation]; ok {
		require.True(s, slices.Contains(members, r.MemberID), "%s in generation %d of %v", r.MemberID, r.Generation, members)
	}
}

// moody is a ledger that is slow, and fails: before it writes, or after.
type moody struct {
	*coordinatortest.Ledger
	storm *storm
}

func (m *moody) SaveGroup(ctx context.Context, group string, state []byte) error {
	time.Sleep(time.Duration(m.storm.pick(200)) * time.Millisecond)
	if m.storm.chance(8) {
		return errors.New("before")
	}
	if err := m.Ledger.SaveGroup(ctx, group, state); err != nil {
		return err
	}
	time.Sleep(time.Duration(m.storm.pick(200)) * time.Millisecond)
	if m.storm.chance(8) {
		return errors.New("after")
	}
	return nil
}
