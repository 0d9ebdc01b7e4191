package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// The saved state of a group, version 1. Numbers are unsigned varints, strings
// and bytes are preceded by their length:
//
//	version      1 byte, 1
//	phase        1 byte: 0 empty, 1 preparing, 2 completing, 3 stable
//	generation
//	empty since  ms since 1970; 0: never
//	protocol type, protocol, leader
//	members      their number, then each, by member id:
//	  member id
//	  instance id   0, or 1 and the instance id
//	  client id, client host
//	  session timeout, rebalance timeout   ms
//	  protocols     their number, then each: name, metadata
//	  assignment
//
// Members that never completed a join are left out: nobody but themselves counts
// on them. Neither deadlines nor waiting calls outlive a process.
const snapshotVersion = 1

var phases = [...]coordinator.State{coordinator.Empty, preparing, completing, stable}

// Snapshot returns the state to save.
func (g *Group) Snapshot() []byte {
	members := g.members
	if slices.ContainsFunc(members, func(m *member) bool { return !m.joinBy.IsZero() }) {
		members = slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return !m.joinBy.IsZero() })
	}
	phase, protocol, leader := g.phase, g.protocol, ""
	if len(members) == 0 {
		phase, protocol = coordinator.Empty, ""
	}
	if g.leader != nil && g.leader.joinBy.IsZero() {
		leader = g.leader.id
	}
	b := make([]byte, 0, stateBytes+g.bytes)
	b = append(b, snapshotVersion, byte(slices.Index(phases[:], phase)))
	b = binary.AppendUvarint(b, uint64(g.generation))
	b = binary.AppendUvarint(b, uint64(max(0, g.since)))
	b = appendString(b, g.protocolType)
	b = appendString(b, protocol)
	b = appendString(b, leader)
	b = binary.AppendUvarint(b, uint64(len(members)))
	for _, m := range members {
		b = m.snapshot(b)
	}
	return b
}

func (m *member) snapshot(b []byte) []byte {
	b = appendString(b, m.id)
	if m.instance == nil {
		b = append(b, 0)
	} else {
		b = appendString(append(b, 1), *m.instance)
	}
	b = appendString(b, m.clientID)
	b = appendString(b, m.clientHost)
	b = binary.AppendUvarint(b, uint64(m.session.Milliseconds()))
	b = binary.AppendUvarint(b, uint64(m.rebalance.Milliseconds()))
	b = binary.AppendUvarint(b, uint64(len(m.protocols)))
	for _, p := range m.protocols {
		b = appendString(b, p.Name)
		b = appendString(b, string(p.Metadata))
	}
	return appendString(b, string(m.assignment))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errSnapshot is what is wrong with a state that no group can have.
var errSnapshot = errors.New("not the saved state of a group")

// Restore returns the kept group of a saved state. Of a group that has none, only
// offsets, the state is empty. Sessions and windows start anew: a member has its
// session timeout to show up. Bytes that are no state give an error.
func Restore(id string, cfg *coordinator.Config, state []byte, now time.Time) (*Group, error) {
	g := NewKept(id, cfg)
	g.kept = true
	if len(state) == 0 {
		return g, nil
	}
	r := &reader{rest: state}
	if v := r.byte(); v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d", errSnapshot, v)
	}
	g.restore(r, now)
	if len(r.rest) > 0 {
		r.bad("%d bytes are left over", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return g, nil
}

func (g *Group) restore(r *reader, now time.Time) {
	phase := r.byte()
	g.generation = int32(r.number(math.MaxInt32))
	since := instant(r.number(math.MaxInt64 / int64(time.Millisecond)))
	g.protocolType = r.string(maxString)
	protocol, leader := r.string(maxString), r.string(maxString)
	for range r.number(math.MaxInt32) {
		m := r.member()
		if r.err != nil {
			return
		}
		if n := len(g.members); n > 0 && g.members[n-1].id >= m.id || g.holder(m.instance) != nil {
			r.bad("members out of order, or of one instance id")
			return
		}
		m.deadline = now.Add(m.session)
		g.watch(m.deadline)
		g.insert(m)
	}
	if int(phase) >= len(phases) || (phase == 0) != (len(g.members) == 0) {
		r.bad("phase %d with %d members", phase, len(g.members))
		return
	}
	if phase == 0 {
		g.since = since
		return
	}
	g.resume(r, phases[phase], protocol, leader, now)
}

// resume brings a group with members back into its phase.
func (g *Group) resume(r *reader, phase coordinator.State, protocol, leader string, now time.Time) {
	if g.leader = g.find(leader); g.leader == nil {
		g.leader = g.members[0]
	}
	// In a join window members may have come with other protocols than the selected.
	agreed := phase == preparing || g.support[protocol] == len(g.members)
	if g.protocolType == "" || g.generation == 0 || !agreed || !g.agrees(g.members[0].protocols, g.members[0]) {
		r.bad("members without a protocol or a generation in common")
		return
	}
	g.selectProtocol(protocol)
	g.phase, g.initial = phase, false
	switch phase {
	case preparing:
		g.start, g.joinDeadline, g.reason = now, now.Add(g.longest()), restored
	case completing:
		g.syncDeadline = now.Add(g.longest())
	default: // who has not come for its assignment is a matter of its session
		for _, m := range g.members {
			m.synced = true
		}
	}
}

// reader takes a saved state apart. After the first fault it yields zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) bad(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{errSnapshot}, args...)...)
	}
	r.rest = nil
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad("it is cut short")
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// number returns a number up to a limit.
func (r *reader) number(limit int64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(limit) {
		r.bad("a number is cut short or too large")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// string returns a copy of a string up to a length.
func (r *reader) string(limit int64) string {
	n := r.number(limit)
	if n > uint64(len(r.rest)) {
		r.bad("it is cut short")
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// bytes returns a copy of bytes; nil if there are none.
func (r *reader) bytes() []byte {
	if s := r.string(math.MaxInt32); s != "" {
		return []byte(s)
	}
	return nil
}

func (r *reader) member() *member {
	m := &member{id: r.string(maxString)}
	if r.byte() == 1 {
		instance := r.string(maxString)
		m.instance = &instance
	}
	m.clientID, m.clientHost = r.string(math.MaxInt32), r.string(math.MaxInt32)
	m.session, m.rebalance = r.timeout(), r.timeout()
	for range r.number(math.MaxInt32) {
		if r.err != nil {
			return m
		}
		m.protocols = append(m.protocols, coordinator.Protocol{Name: r.string(maxString), Metadata: r.bytes()})
	}
	m.assignment = r.bytes()
	return m
}

// timeout returns a duration as the protocol carries them.
func (r *reader) timeout() time.Duration {
	return time.Duration(r.number(math.MaxInt32)) * time.Millisecond
}
