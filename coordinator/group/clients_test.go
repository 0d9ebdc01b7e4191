package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

// client behaves as a real one: it heartbeats each second, joins again when it
// is told to, and syncs when it has joined.
type client struct {
	name, id   string
	instance   *string
	generation int32
	leads      []coordinator.JoinedMember
	state      string // "", joining, joined, syncing, stable
	assignment string
	bad        bool // leaves off at random
}

// TestClientsThatHeartbeatAreNotLost runs good clients among others that come,
// change, leave and die. No good one is ever told that it is unknown, fenced or
// late, and once the others are gone all good ones share a generation.
func TestClientsThatHeartbeatAreNotLost(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	rapid.Check(t, func(rt *rapid.T) {
		s := &sim{T: rt, g: group.New("g", &cfg), calls: map[group.Call]*client{}}
		var clients []*client
		for i := range rapid.IntRange(1, 4).Draw(rt, "good") {
			c := &client{name: fmt.Sprintf("good%d", i)}
			if rapid.Bool().Draw(rt, "static") {
				c.instance = &c.name
			}
			clients = append(clients, c)
		}
		good := len(clients)
		for i := range rapid.IntRange(0, 5).Draw(rt, "bad") {
			clients = append(clients, &client{name: fmt.Sprintf("bad%d", i), bad: true})
		}
		for range rapid.IntRange(10, 120).Draw(rt, "seconds") {
			for _, c := range clients {
				if c.bad {
					s.misbehave(c)
				} else {
					s.act(c)
				}
			}
			s.sleep(time.Second)
		}
		for range 400 { // the others are silent from now on
			for _, c := range clients[:good] {
				s.act(c)
			}
			s.sleep(time.Second)
		}
		for _, c := range clients[:good] {
			require.Equal(rt, "stable", c.state, c.name)
			require.Equal(rt, s.g.Generation(), c.generation, c.name)
			require.Equal(rt, fmt.Sprintf("%s@%d", c.id, c.generation), c.assignment, c.name)
		}
		require.Len(rt, s.g.Describe().Members, good)
	})
}

// sim is one group and its clients.
type sim struct {
	*rapid.T
	g     *group.Group
	now   time.Duration
	last  group.Call
	made  int
	calls map[group.Call]*client
}

// sleep lets time pass, with the ticks that are due while calls wait.
func (s *sim) sleep(d time.Duration) {
	until := s.now + d
	for s.g.Parked() > 0 && !s.g.Next().After(epoch.Add(until)) {
		s.now = max(s.now, s.g.Next().Sub(epoch))
		s.deliver(s.g.Tick(epoch.Add(s.now)))
	}
	s.now = until
}

func (s *sim) submit(c *client, make func(group.Call) group.Event) {
	s.last++
	s.calls[s.last] = c
	s.deliver(s.g.Step(epoch.Add(s.now), make(s.last)))
}

// act does what the client's state asks for.
func (s *sim) act(c *client) {
	switch c.state {
	case "":
		c.state = "joining"
		s.made++
		id := fmt.Sprintf("%s-%d", c.name, s.made)
		s.submit(c, func(n group.Call) group.Event {
			return group.Join{Call: n, NewID: id, Room: grouptest.Plenty, Request: coordinator.JoinRequest{
				Group: "g", MemberID: c.id, InstanceID: c.instance, SessionTimeout: 10 * time.Second, RebalanceTimeout: 30 * time.Second,
				ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range"}}, RequireMemberID: true,
			}}
		})
	case "joined":
		c.state = "syncing"
		var list []coordinator.Assignment
		for _, m := range c.leads {
			list = append(list, coordinator.Assignment{MemberID: m.MemberID, Data: fmt.Appendf(nil, "%s@%d", m.MemberID, c.generation)})
		}
		s.submit(c, func(n group.Call) group.Event {
			return group.Sync{Call: n, Room: grouptest.Plenty, Request: coordinator.SyncRequest{
				Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.generation, Assignments: list,
			}}
		})
	case "stable":
		s.submit(c, func(n group.Call) group.Event {
			return group.Heartbeat{Call: n, Request: coordinator.HeartbeatRequest{
				Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.generation,
			}}
		})
	}
}

// misbehave acts, sleeps, leaves, loses its connection, or forgets who it is.
func (s *sim) misbehave(c *client) {
	switch rapid.SampledFrom([]string{"act", "act", "act", "sleep", "sleep", "leave", "disconnect", "forget"}).Draw(s.T, "bad") {
	case "act":
		s.act(c)
	case "leave":
		s.submit(c, func(n group.Call) group.Event {
			return group.Leave{Call: n, Identities: []coordinator.Identity{{MemberID: c.id}}}
		})
	case "disconnect":
		for n := range s.last + 1 {
			if s.calls[n] == c {
				s.deliver(s.g.Step(epoch.Add(s.now), group.Disconnect{Call: n}))
				delete(s.calls, n)
				c.state = ""
			}
		}
	case "forget":
		c.id = ""
	}
}

func (s *sim) deliver(effects []group.Effect) {
	require.NoError(s, s.g.Check())
	for _, eff := range effects {
		c := s.calls[eff.Call]
		delete(s.calls, eff.Call)
		if c == nil || eff.Codes != nil {
			continue
		}
		code := max(eff.Code, eff.Join.Code, eff.Sync.Code)
		switch {
		case c.bad && code != coordinator.None && code != coordinator.MemberIDRequired:
			c.id, c.state = "", ""
		case code == coordinator.RebalanceInProgress:
			c.state = ""
		case code == coordinator.MemberIDRequired:
			c.id, c.state = eff.Join.MemberID, ""
		case code != coordinator.None:
			require.Fail(s, "a good client is refused", "%s in %s at %s: %s", c.name, c.state, s.now, code)
		case c.state == "joining":
			c.id, c.generation, c.leads, c.state = eff.Join.MemberID, eff.Join.Generation, eff.Join.Members, "joined"
		case c.state == "syncing":
			c.assignment, c.state = string(eff.Sync.Assignment), "stable"
		}
	}
}
