package group_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is the time 0s of the scenarios.
var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// machines drives group machines by hand, as their callers must: a group that
// is empty is thrown away, and while calls are parked there is a tick at every
// deadline.
type machines struct {
	t      *testing.T
	cfg    coordinator.Config
	groups map[string]*group.Group
	now    time.Duration
	newID  func(coordinator.JoinRequest) string
	last   group.Call
	names  map[group.Call]string
	calls  map[string]parked

	touched map[string]bool
}

// parked is a call that was submitted and where.
type parked struct {
	call  group.Call
	group string
	line  func(group.Effect) string
}

func newMachines(t *testing.T, cfg coordinator.Config) *machines {
	return &machines{t: t, cfg: cfg, groups: map[string]*group.Group{}, newID: grouptest.IDs(), names: map[group.Call]string{}, calls: map[string]parked{}, touched: map[string]bool{}}
}

func (d *machines) Submit(at time.Duration, name, id string, ev any) []string {
	require.GreaterOrEqual(d.t, at, d.now, "time goes back at %s", name)
	out := d.advance(at)
	d.now = at
	say := func(lines ...string) []string {
		for _, l := range lines {
			out = append(out, at.String()+" "+name+" "+l)
		}
		return out
	}
	var line func(group.Effect) string
	call := d.last + 1
	switch e := ev.(type) {
	case grouptest.Tick:
		return append(out, d.tick(id)...)
	case grouptest.Describe:
		var described []coordinator.Description
		for _, id := range grouptest.Dedupe(e.Groups) {
			out = append(out, d.tick(id)...)
			described = append(described, d.at(id).Describe())
		}
		return say(grouptest.DescriptionLines(described)...)
	case grouptest.List:
		var listed []coordinator.Listing
		for _, id := range slices.Sorted(maps.Keys(d.groups)) {
			listed = append(listed, d.groups[id].List())
		}
		return say(grouptest.ListingLines(listed)...)
	case grouptest.Disconnect:
		p := d.calls[e.Call]
		return append(out, d.step(p.group, group.Disconnect{Call: p.call})...)
	case group.Join:
		e.Call = call
		if e.Request.MemberID == "" && group.CheckJoin(&d.cfg, e.Request) == coordinator.None {
			e.NewID = d.newID(e.Request)
		}
		ev, line = e, func(eff group.Effect) string { return grouptest.JoinLine(eff.Join) }
	case group.Sync:
		e.Call = call
		ev, line = e, func(eff group.Effect) string { return grouptest.SyncLine(eff.Sync) }
	case group.Heartbeat:
		e.Call = call
		ev, line = e, func(eff group.Effect) string { return eff.Code.String() }
	case group.CheckCommit:
		e.Call = call
		ev, line = e, func(eff group.Effect) string { return eff.Code.String() }
	case group.Leave:
		e.Call = call
		ev, line = e, func(eff group.Effect) string { return grouptest.LeaveLine(eff.Code, eff.Codes) }
	}
	d.last = call
	d.names[call] = name
	d.calls[name] = parked{call, id, line}
	return append(out, d.step(id, ev.(group.Event))...)
}

// at returns the group of an id, a new one if there is none.
func (d *machines) at(id string) *group.Group {
	if g, ok := d.groups[id]; ok {
		return g
	}
	return group.New(id, &d.cfg)
}

func (d *machines) step(id string, ev group.Event) []string {
	g := d.at(id)
	return d.answers(id, g, g.Step(epoch.Add(d.now), ev))
}

func (d *machines) tick(id string) []string {
	g := d.at(id)
	return d.answers(id, g, g.Tick(epoch.Add(d.now)))
}

func (d *machines) answers(id string, g *group.Group, effects []group.Effect) []string {
	if g.Usage().Members < 100 || d.last%200 == 0 { // it looks at every member
		require.NoError(d.t, g.Check())
	}
	d.touched[id] = true
	if g.Empty() {
		delete(d.groups, id)
	} else {
		d.groups[id] = g
	}
	var out []string
	for _, eff := range effects {
		name, ok := d.names[eff.Call]
		require.True(d.t, ok, "an answer to a call that does not wait: %+v", eff)
		delete(d.names, eff.Call)
		out = append(out, d.now.String()+" "+name+" "+d.calls[name].line(eff))
	}
	return out
}

// advance ticks the groups that have parked calls at each deadline until at.
func (d *machines) advance(at time.Duration) []string {
	var out []string
	for {
		next, id := at+1, ""
		for name, g := range d.groups {
			if g.Parked() == 0 || g.Next().IsZero() {
				continue
			}
			due := g.Next().Sub(epoch)
			if due < next || due == next && name < id {
				next, id = due, name
			}
		}
		if next > at {
			return out
		}
		d.now = max(d.now, next)
		out = append(out, d.tick(id)...)
	}
}

// state prints the groups that were touched since the last time.
func (d *machines) State() string {
	out := ""
	for _, id := range slices.Sorted(maps.Keys(d.touched)) {
		if g, ok := d.groups[id]; ok {
			out += g.Dump(epoch)
		} else {
			out += id + ": none\n"
		}
	}
	clear(d.touched)
	return out
}

// Members returns how many members a group has.
func (d *machines) Members(id string) int { return len(d.at(id).Describe().Members) }
