// Package grouptest is the language of the scenario files: events with explicit
// times in, answers and states out. Package group runs them through its machine,
// coordinators run them as they are.
package grouptest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// The scenario files read like this:
//
//	config initial-delay=0s            settings that differ from the defaults
//	run                                events, one a line, with explicit times
//	0s a1 join client=a v=3            <time> <call> <event> <key=value>...
//	3s a2 sync member=a-1 gen=1
//	----
//	3s a1 joined gen=1 ...             answers, with the time they came at
//	g: Stable generation=1 ...         the state after the last event
//
// An event goes to the group g unless group= says otherwise. Generated member
// ids are <client or instance>-<n>, n counting per file. A call that waits is
// answered when its time comes, as the caller's duty to tick says. times= makes
// many calls of one line, lost disconnects each at once, and `run brief` prints
// how many answers there were of each kind.

// Driver runs the events of a scenario. Answers are lines.
type Driver interface {
	Submit(at time.Duration, name, group string, ev any) []string
	State() string
}

// Events that are no calls to one group.
type (
	Tick       struct{}
	Disconnect struct{ Call string }
	Describe   struct{ Groups []string }
	List       struct{}
)

// Run submits the events of one directive and returns the answers.
func Run(t *testing.T, d Driver, td *datadriven.TestData) string {
	var answers []string
	for line := range strings.Lines(td.Input) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		require.GreaterOrEqual(t, len(fields), 3, "%s: %q", td.Pos, line)
		at, err := time.ParseDuration(fields[0])
		require.NoError(t, err, td.Pos)
		a := args{t: t, pos: td.Pos, line: line, fields: fields[3:]}
		name := a.text("group", "g")
		times, repeated := 1, false
		if _, repeated = a.lookup("times"); repeated {
			times = a.number("times", 1)
		}
		for i := range times {
			call := fields[1]
			if repeated {
				call += strconv.Itoa(i + 1)
			}
			answers = append(answers, d.Submit(at, call, name, event(fields[2], name, a))...)
			if _, lost := a.lookup("lost"); lost { // the connection goes at once
				if m, ok := d.(interface{ Members(group string) int }); ok {
					require.Equal(t, 1, m.Members(name), td.Pos)
				}
				answers = append(answers, d.Submit(at, "-", name, Disconnect{call})...)
			}
		}
	}
	if td.HasArg("brief") {
		return brief(answers)
	}
	var b strings.Builder
	for _, line := range answers {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// brief counts answers by time and kind.
func brief(answers []string) string {
	counts := map[string]int{}
	for _, line := range answers {
		f := strings.Fields(line)
		counts[f[0]+" "+f[2]]++
	}
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s, %d times\n", kind, counts[kind])
	}
	return b.String()
}

// args are the key=value fields of an event line.
type args struct {
	t         *testing.T
	pos, line string
	fields    []string
}

func (a args) lookup(key string) (string, bool) {
	for _, f := range a.fields {
		if k, v, _ := strings.Cut(f, "="); k == key {
			return v, true
		}
	}
	return "", false
}

func (a args) text(key, otherwise string) string {
	if v, ok := a.lookup(key); ok {
		return v
	}
	return otherwise
}

func (a args) pointer(key string) *string {
	if v, ok := a.lookup(key); ok {
		return &v
	}
	return nil
}

func (a args) number(key string, otherwise int) int {
	v, ok := a.lookup(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	require.NoError(a.t, err, "%s: %q", a.pos, a.line)
	return n
}

func (a args) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := a.lookup(key)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	require.NoError(a.t, err, "%s: %q", a.pos, a.line)
	return d
}

// list splits a comma-separated value; a=b:c,d:e as well.
func (a args) list(key string) []string {
	v, ok := a.lookup(key)
	if !ok || v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// Plenty is a Room that never runs out.
var Plenty = group.Usage{Members: 1 << 30, Bytes: 1 << 50}

// event reads an event line.
func event(verb, name string, a args) any {
	member := coordinator.HeartbeatRequest{
		Group: name, MemberID: a.text("member", ""), InstanceID: a.pointer("instance"), Generation: int32(a.number("gen", 0)),
	}
	switch verb {
	case "join":
		v := a.number("v", 9)
		r := coordinator.JoinRequest{
			Group: name, MemberID: member.MemberID, InstanceID: member.InstanceID, ClientID: a.text("client", "x"),
			ClientHost:      a.text("host", ""),
			SessionTimeout:  a.duration("session", 10*time.Second),
			ProtocolType:    a.text("type", "consumer"),
			RequireMemberID: v >= 4, CanSkipAssignment: v >= 9,
		}
		if v >= 1 {
			r.RebalanceTimeout = a.duration("rebalance", time.Minute)
		}
		if _, ok := a.lookup("protocols"); !ok {
			r.Protocols = []coordinator.Protocol{{Name: "range", Metadata: []byte("t")}}
		}
		for _, p := range a.list("protocols") {
			name, metadata, _ := strings.Cut(p, ":")
			r.Protocols = append(r.Protocols, coordinator.Protocol{Name: name, Metadata: []byte(metadata)})
		}
		return group.Join{Request: r, Room: Plenty}
	case "sync":
		r := coordinator.SyncRequest{
			Group: name, MemberID: member.MemberID, InstanceID: member.InstanceID, Generation: member.Generation,
			ProtocolType: a.pointer("type"), Protocol: a.pointer("protocol"),
		}
		for _, s := range a.list("assign") {
			id, data, _ := strings.Cut(s, ":")
			r.Assignments = append(r.Assignments, coordinator.Assignment{MemberID: id, Data: []byte(data)})
		}
		for i := range a.number("bytes-each", 0) { // bytes= for each of client-1, client-2, ...
			id := fmt.Sprintf("%s-%d", a.text("client", "x"), i+1)
			r.Assignments = append(r.Assignments, coordinator.Assignment{MemberID: id, Data: make([]byte, a.number("bytes", 0))})
		}
		if id, ok := a.lookup("bytes-to"); ok {
			r.Assignments = append(r.Assignments, coordinator.Assignment{MemberID: id, Data: make([]byte, a.number("bytes", 0))})
		}
		return group.Sync{Request: r, Room: Plenty}
	case "heartbeat":
		return group.Heartbeat{Request: member}
	case "commit":
		return group.CheckCommit{Request: member}
	case "leave": // who=member/instance,...; "" is nobody
		var e group.Leave
		for _, who := range a.list("who") {
			id, instance, static := strings.Cut(strings.Trim(who, `"`), "/")
			identity := coordinator.Identity{MemberID: id}
			if static {
				identity.InstanceID = &instance
			}
			e.Identities = append(e.Identities, identity)
		}
		return e
	case "disconnect":
		return Disconnect{a.text("call", "")}
	case "tick":
		return Tick{}
	case "describe":
		return Describe{a.list("groups")}
	case "list":
		return List{}
	}
	require.Fail(a.t, "unknown event", "%s: %q", a.pos, a.line)
	return nil
}

// Configure reads the settings that scenarios change.
func Configure(t *testing.T, cfg *coordinator.Config, line string) {
	a := args{t: t, line: line, fields: strings.Fields(line)[1:]}
	cfg.InitialRebalanceDelay = a.duration("initial-delay", cfg.InitialRebalanceDelay)
	cfg.NewMemberJoinTimeout = a.duration("new-member-timeout", cfg.NewMemberJoinTimeout)
	cfg.MaxRebalanceTimeout = a.duration("max-rebalance-timeout", cfg.MaxRebalanceTimeout)
	cfg.MinSessionTimeout = a.duration("min-session-timeout", cfg.MinSessionTimeout)
	cfg.MaxMembers = a.number("max-members", cfg.MaxMembers)
	cfg.MaxProtocols = a.number("max-protocols", cfg.MaxProtocols)
	cfg.MaxMemberBytes = a.number("max-member-bytes", cfg.MaxMemberBytes)
	cfg.MaxRosterBytes = int64(a.number("max-roster-bytes", int(cfg.MaxRosterBytes)))
	cfg.MaxGroups = a.number("max-groups", cfg.MaxGroups)
	cfg.OffsetsRetention = a.duration("offsets-retention", cfg.OffsetsRetention)
	cfg.OffsetsCheckInterval = a.duration("offsets-check-interval", cfg.OffsetsCheckInterval)
	cfg.RetainClientIdentity = coordinator.Switch(a.text("retain-client-identity", string(cfg.RetainClientIdentity)))
}

// The answers as lines.

func JoinLine(r coordinator.JoinResult) string {
	if r.Code != coordinator.None {
		return fmt.Sprintf("%s member=%s", r.Code, quoted(r.MemberID))
	}
	s := fmt.Sprintf("joined gen=%d type=%s protocol=%s leader=%s member=%s", r.Generation, r.ProtocolType, r.Protocol, r.LeaderID, r.MemberID)
	if r.SkipAssignment {
		s += " skip-assignment"
	}
	if len(r.Members) > 0 {
		s += " members=["
		for i, m := range r.Members {
			if i == 4 && len(r.Members) > 8 {
				s += fmt.Sprintf(" ... %d in all", len(r.Members))
				break
			}
			if i > 0 {
				s += " "
			}
			s += m.MemberID
			if m.InstanceID != nil {
				s += "/" + *m.InstanceID
			}
			s += ":" + string(m.Metadata)
		}
		s += "]"
	}
	return s
}

func SyncLine(r coordinator.SyncResult) string {
	if r.Code != coordinator.None {
		return r.Code.String()
	}
	data := quoted(string(r.Assignment))
	if len(r.Assignment) > 100 {
		data = fmt.Sprintf("%d bytes", len(r.Assignment))
	}
	return fmt.Sprintf("synced type=%s protocol=%s assignment=%s", r.ProtocolType, r.Protocol, data)
}

func LeaveLine(code coordinator.Code, codes []coordinator.Code) string {
	return strings.TrimSpace(fmt.Sprintf("%s %v", code, codes))
}

func DescriptionLines(ds []coordinator.Description) []string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s %s type=%s protocol=%s members=%d", quoted(d.Group), d.State, quoted(d.ProtocolType), quoted(d.Protocol), len(d.Members)))
		for _, m := range d.Members {
			instance := "null"
			if m.InstanceID != nil {
				instance = *m.InstanceID
			}
			out = append(out, fmt.Sprintf("  %s instance=%s client=%s host=%s metadata=%s assignment=%s", m.MemberID, instance,
				quoted(m.ClientID), quoted(m.ClientHost), quoted(string(m.Metadata)), quoted(string(m.Assignment))))
		}
	}
	return out
}

func ListingLines(ls []coordinator.Listing) []string {
	out := []string{fmt.Sprintf("%d groups", len(ls))}
	for _, l := range ls {
		out = append(out, fmt.Sprintf("  %s %s %s", l.Group, l.ProtocolType, l.State))
	}
	return out
}

func quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// IDs returns a deterministic source of member ids.
func IDs() func(coordinator.JoinRequest) string {
	n := 0
	return func(r coordinator.JoinRequest) string {
		n++
		prefix := r.ClientID
		if r.InstanceID != nil {
			prefix = *r.InstanceID
		}
		return fmt.Sprintf("%s-%d", prefix, n)
	}
}

// Dedupe returns the distinct ids in order of first appearance.
func Dedupe(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
