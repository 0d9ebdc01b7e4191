package handlertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// Right is one operation on one resource. The name "*" is every resource of the
// type. Nothing is implied: who may READ a topic may not DESCRIBE it unless a
// right says so, which shows what a handler really asks.
type Right struct {
	Operation kmsg.ACLOperation
	On        security.Resource
}

// ParseRight reads a right as scenarios write it, "read:topic:orders": operation
// and type are Kafka's names in any case, the name may hold colons. The cluster
// has no name: "alter:cluster".
func ParseRight(s string) (Right, error) {
	operation, rest, _ := strings.Cut(s, ":")
	kind, name, named := strings.Cut(rest, ":")
	op, err := kmsg.ParseACLOperation(operation)
	if err != nil {
		return Right{}, fmt.Errorf("right %q: %w", s, err)
	}
	on, err := kmsg.ParseACLResourceType(kind)
	switch {
	case err != nil:
		return Right{}, fmt.Errorf("right %q: %w", s, err)
	case on == kmsg.ACLResourceTypeCluster && !named:
		name = security.ClusterName
	case !named:
		return Right{}, fmt.Errorf("right %q has no name of a resource", s)
	}
	return Right{op, security.Resource{Type: on, Name: name}}, nil
}

func (r Right) holds(op kmsg.ACLOperation, on security.Resource) bool {
	return r.Operation == op && r.On.Type == on.Type && (r.On.Name == "*" || r.On.Name == on.Name)
}

// Ask is one question that a handler asked.
type Ask struct {
	Right
	Quiet   bool // by Shown: a denial is not audited
	Any     bool // by AllowedAny: the resource has no name
	Allowed bool // the answer
}

// String returns "denied READ topic "a", audited".
func (a Ask) String() string {
	verdict, audited := "allowed", ""
	if !a.Allowed {
		verdict = "denied"
		if !a.Quiet {
			audited = ", audited"
		}
	}
	on := fmt.Sprintf("%s %q", lower(a.On.Type), a.On.Name)
	switch {
	case a.Any:
		on = "any " + lower(a.On.Type)
	case a.On == security.Cluster:
		on = lower(a.On.Type)
	}
	return fmt.Sprintf("%s %s %s%s", verdict, a.Operation, on, audited)
}

func lower(t kmsg.ACLResourceType) string { return strings.ToLower(t.String()) }

// Access is a handler.Access that allows exactly what it is told to and keeps what
// it was asked. The zero Access denies everything.
type Access struct {
	// All allows everything that Deny does not hold.
	All bool
	// Allow are the rights that the caller has.
	Allow []Right
	// Deny are rights that the caller does not have, whatever the others say.
	Deny []Right

	mu    sync.Mutex
	asked []Ask
}

// Allowing returns an Access with rights as ParseRight reads them. It panics when
// one cannot be read.
func Allowing(rights ...string) *Access { return &Access{Allow: mustParse(rights)} }

func mustParse(rights []string) []Right {
	var out []Right
	for _, s := range rights {
		r, err := ParseRight(s)
		if err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	return out
}

// Authorize implements handler.Access.
func (a *Access) Authorize(_ context.Context, op kmsg.ACLOperation, on security.Resource, quiet bool) bool {
	holds := func(r Right) bool { return r.holds(op, on) }
	ok := !slices.ContainsFunc(a.Deny, holds) && (a.All || slices.ContainsFunc(a.Allow, holds))
	a.keep(Ask{Right: Right{op, on}, Quiet: quiet, Allowed: ok})
	return ok
}

// AuthorizeAny implements handler.Access.
func (a *Access) AuthorizeAny(_ context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	ofType := func(r Right) bool { return r.Operation == op && r.On.Type == on }
	every := func(r Right) bool { return ofType(r) && r.On.Name == "*" }
	ok := !slices.ContainsFunc(a.Deny, every) && (a.All || slices.ContainsFunc(a.Allow, ofType))
	a.keep(Ask{Right: Right{op, security.Resource{Type: on}}, Any: true, Allowed: ok})
	return ok
}

func (a *Access) keep(ask Ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, ask)
}

// Asked returns what was asked since the last call, in order.
func (a *Access) Asked() []Ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// covers reports whether a declared check is what an ask is about. A check of
// the operation ANY declares Call.Operations, whose asks are quiet.
func covers(c handler.Check, a Ask) bool {
	if c.Resource != a.On.Type || c.Any != a.Any {
		return false
	}
	return c.Operation == a.Operation || c.Operation == kmsg.ACLOperationAny && a.Quiet
}

// checksSeen compares what a handler asks with what it declares.
type checksSeen struct {
	mu   sync.Mutex
	used map[handler.Check]bool
}

// see returns the asks that nothing declares, and remembers which declarations
// were used. One of a certain operation goes before one of any.
func (s *checksSeen) see(declared []handler.Check, asked []Ask) (undeclared []Ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[handler.Check]bool{}
	}
	for _, ask := range asked {
		exact, any := false, false
		for _, c := range declared {
			if c.Operation == ask.Operation && covers(c, ask) {
				s.used[c], exact = true, true
			}
		}
		for _, c := range declared {
			if c.Operation == kmsg.ACLOperationAny && covers(c, ask) {
				s.used[c], any = s.used[c] || !exact, true
			}
		}
		if !exact && !any {
			undeclared = append(undeclared, ask)
		}
	}
	return undeclared
}

// unused returns the declarations that no ask was about.
func (s *checksSeen) unused(declared []handler.Check) (unused []handler.Check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range declared {
		if !s.used[c] {
			unused = append(unused, c)
		}
	}
	return unused
}
