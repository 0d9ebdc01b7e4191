package group

import (
	"math"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// instant is a time in little room: milliseconds since 1970.
type instant int64

// never is no time.
const never instant = 0

func at(t time.Time) instant { return instant(t.UnixMilli()) }

func (i instant) time() time.Time {
	if i == never {
		return time.Time{}
	}
	return time.UnixMilli(int64(i))
}

// reason is why a rebalance was opened.
type reason uint8

const (
	firstMember reason = iota
	memberJoined
	memberLeft
	memberExpired
	memberReplaced
	leaderRejoined
	protocolsChanged
	syncMissed
	notSaved
	restored
)

var reasons = [...]string{
	firstMember:      "the first member joined",
	memberJoined:     "a member joined",
	memberLeft:       "a member left",
	memberExpired:    "a member's session ended",
	memberReplaced:   "a static member came back",
	leaderRejoined:   "the leader joined again",
	protocolsChanged: "a member changed what it subscribes to",
	syncMissed:       "a member did not come for its assignment",
	notSaved:         "the assignments could not be saved",
	restored:         "the gateway started again in the middle of a rebalance",
}

// record is a [coordinator.Rebalance] in little room: many groups have some.
type record struct {
	began      instant
	took       int32 // ms
	generation int32
	members    int32
	reason     reason
	protocol   string
}

// emptyHistory is how many rebalances a group without members remembers: there
// may be very many such groups.
const emptyHistory = 3

// remember notes that a rebalance is complete.
func (g *Group) remember(now time.Time) {
	g.rebalances++
	if len(g.past) >= coordinator.HistoryLength {
		copy(g.past, g.past[1:])
		g.past = g.past[:coordinator.HistoryLength-1]
	}
	g.past = append(g.past, record{
		began:      at(g.start),
		took:       int32(min(now.Sub(g.start).Milliseconds(), math.MaxInt32)),
		generation: g.generation,
		members:    int32(len(g.members)),
		reason:     g.reason,
		protocol:   g.protocol,
	})
}

// abridge cuts the history down to what an empty group remembers.
func (g *Group) abridge() {
	if len(g.past) > emptyHistory {
		g.past = append([]record(nil), g.past[len(g.past)-emptyHistory:]...)
	}
}

// History returns the last rebalances, oldest first.
func (g *Group) History() []coordinator.Rebalance {
	out := make([]coordinator.Rebalance, len(g.past))
	for i, r := range g.past {
		began := r.began.time()
		out[i] = coordinator.Rebalance{
			Began: began, Completed: began.Add(time.Duration(r.took) * time.Millisecond),
			Generation: r.generation, Members: int(r.members), Protocol: r.protocol, Reason: reasons[r.reason],
		}
	}
	return out
}

// Mark is what is counted over all groups, and what a list shows.
type Mark struct {
	Usage        Usage
	State        coordinator.State
	ProtocolType string
	Rebalances   uint32 // completed; it only grows
}

// Mark returns what is counted of the group, for a comparison before and after
// a step.
func (g *Group) Mark() Mark {
	return Mark{Usage: g.Usage(), State: g.state(), ProtocolType: g.protocolType, Rebalances: g.rebalances}
}
