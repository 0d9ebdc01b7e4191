package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/clienttest/hostile"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// admin is the client id of who may do everything. All others have the key that they
// send for their client id.
const admin = "admin"

// right is an operation on a type of resources, whatever their names.
type right struct {
	operation kmsg.ACLOperation
	on        kmsg.ACLResourceType
}

func (r right) String() string { return fmt.Sprintf("%s %s", r.operation, r.on) }

// strict is an authorizer that keeps what it was asked for.
type strict struct {
	mu    sync.Mutex
	allow map[right]bool
	asked map[string]map[right]bool // by client id
}

func newStrict() *strict { return &strict{asked: map[string]map[right]bool{}} }

// only has everybody but the administrator have just these rights.
func (s *strict) only(rights ...right) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allow = map[right]bool{}
	for _, r := range rights {
		s.allow[r] = true
	}
}

func (s *strict) decide(who security.Requester, r right) bool {
	if who.ClientID == admin {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[who.ClientID] == nil {
		s.asked[who.ClientID] = map[right]bool{}
	}
	s.asked[who.ClientID][r] = true
	return s.allow[r]
}

// rightsAsked returns what requests of a key have asked for.
func (s *strict) rightsAsked(key string) (rights []right) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.asked[key] {
		rights = append(rights, r)
	}
	return rights
}

func (s *strict) Authorize(_ context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	return s.decide(who, right{op, on.Type})
}

func (s *strict) AuthorizeAny(_ context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return s.decide(who, right{op, on})
}

// The list of ACLs is empty, and takes nothing.

func (s *strict) DescribeACLs(context.Context, security.ACLFilter) ([]security.ACL, error) {
	return nil, nil
}
func (s *strict) CreateACLs(_ context.Context, acls []security.ACL) []error {
	return make([]error, len(acls))
}
func (s *strict) DeleteACLs(_ context.Context, filters []security.ACLFilter) []security.DeletedACLs {
	return make([]security.DeletedACLs, len(filters))
}

// guarded is a gateway with something in it, and clients that may see none of it.
type guarded struct {
	t        *testing.T
	door     hostile.Door
	rules    *strict
	admin    administrator
	handlers []handler.Handler
	conns    map[string]*rawclient.Conn // by client id
}

// throughGuarded runs a test of a gateway whose every right is asked for, in the clear and behind all that there is.
func throughGuarded(t *testing.T, test func(*testing.T, *guarded)) {
	t.Helper()
	for _, door := range []string{"PLAINTEXT", "SASL_SSL, logged in"} {
		t.Run(door, func(t *testing.T) { test(t, newGuarded(t, door)) })
	}
}

func newGuarded(t *testing.T, door string) *guarded {
	g := &guarded{t: t, rules: newStrict(), conns: map[string]*rawclient.Conn{}}
	var err error
	_, g.handlers, err = compose(t, gateway.Plugins())
	require.NoError(t, err)
	slices.SortFunc(g.handlers, func(a, b handler.Handler) int { return int(a.Spec().Key - b.Spec().Key) })
	gate := hostile.Open(t, func(c *app.Config) { c.Groups.Coordinator = "durable" }, // groups without members are there
		gatewaytest.Authorizer(g.rules))
	inner := gate.Inner()
	g.door = inner[slices.IndexFunc(inner, func(d hostile.Door) bool { return d.Name == door })]
	t.Cleanup(func() {
		for _, c := range g.conns {
			c.Close()
		}
	})
	g.admin = administrator{t, g.dial(admin)}
	return g
}

func (g *guarded) dial(clientID string) *rawclient.Conn {
	if g.conns[clientID] == nil {
		nc, err := g.door.Dial()
		require.NoError(g.t, err)
		c := rawclient.New(nc, clientID)
		require.NoError(g.t, c.SetDeadline(time.Now().Add(5*time.Minute)))
		g.conns[clientID] = c
	}
	return g.conns[clientID]
}

// ask returns the body of the answer to a request; nil when the connection was
// closed instead.
func (g *guarded) ask(req kmsg.Request) []byte {
	g.t.Helper()
	if produce, ok := req.(*kmsg.ProduceRequest); ok {
		produce.Acks = -1 // 0 asks for no answer
	}
	id := strconv.Itoa(int(req.Key()))
	resp, err := g.dial(id).Call(req)
	if err != nil {
		g.conns[id].Close()
		delete(g.conns, id)
		return nil
	}
	return resp.AppendTo(nil)
}

// errorCode matches the codes in the JSON of an answer.
var errorCode = regexp.MustCompile(`"ErrorCode":(-?\d+)`)

// codes are the codes in the answer to a request.
func codes(t *testing.T, req kmsg.Request, body []byte) map[int16]bool {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	require.NoError(t, resp.ReadFrom(body))
	text, err := json.Marshal(resp)
	require.NoError(t, err)
	found := map[int16]bool{}
	for _, m := range errorCode.FindAllSubmatch(text, -1) {
		code, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		found[int16(code)] = true
	}
	return found
}

// unrefused are versions that have no room for a refusal: it is an empty answer.
func unrefused(key kmsg.Key, version int16) bool {
	return key == kmsg.DescribeLogDirs && version < 3
}

// stateful are keys that keep something of each client, and need no right.
func stateful(key kmsg.Key) bool {
	return key == kmsg.GetTelemetrySubscriptions || key == kmsg.PushTelemetry
}

// Who may do nothing learns nothing from any key at any version and changes
// nothing: the answers about what is there are those about what is not, and no
// answer has a name that the request has not.
func TestNothingIsAllowed(t *testing.T) { throughGuarded(t, nothingIsAllowed) }

func nothingIsAllowed(t *testing.T, g *guarded) {
	here := g.admin.prepare()
	gone := absent
	gone.id = here.id
	before := g.admin.store()
	for _, h := range g.handlers {
		spec := h.Spec()
		name := kmsg.NameForKey(spec.Key)
		var refusals []int16
		for _, c := range spec.Checks {
			if c.Code != 0 {
				refusals = append(refusals, c.Code)
			}
		}
		for v := spec.Min; v <= spec.Max; v++ {
			what := fmt.Sprintf("%s v%d", name, v)
			for _, req := range handlertest.Legal(h, v) {
				require.NotContains(t, string(g.ask(req)), "hidden", what)
			}
			found := map[int16]bool{}
			aimed, elsewhere := here.aimed(h, v), gone.aimed(h, v)
			for i, req := range aimed {
				answer := g.ask(req)
				if !bytes.Contains(req.AppendTo(nil), []byte("hidden")) {
					require.NotContains(t, string(answer), "hidden", what)
				}
				if !stateful(kmsg.Key(spec.Key)) {
					other := bytes.ReplaceAll(g.ask(elsewhere[i]), []byte("absent"), []byte("hidden"))
					require.Equal(t, other, answer, "%s tells what is there", what)
				}
				if answer != nil {
					maps.Copy(found, codes(t, req, answer))
				}
			}
			if len(refusals) > 0 && !unrefused(kmsg.Key(spec.Key), v) {
				require.Truef(t, slices.ContainsFunc(refusals, func(code int16) bool { return found[code] }), "%s answers %v, and not %v", what, found, refusals)
			}
		}
		for _, asked := range g.rules.rightsAsked(strconv.Itoa(int(spec.Key))) {
			require.Truef(t, declares(spec, asked), "%s asks for %s, which it does not declare", name, asked)
		}
		require.Equal(t, before, g.admin.store(), "%s has changed something", name)
	}
}

// declares reports whether a key says that it asks for a right.
func declares(spec handler.Spec, r right) bool {
	return slices.ContainsFunc(spec.Checks, func(c handler.Check) bool {
		return c.Resource == r.on && (c.Operation == r.operation || c.Operation == kmsg.ACLOperationAny)
	})
}

// One right opens the keys that declare it and no other; all the rights that a key
// declares open it.
func TestOneRightIsAllowed(t *testing.T) {
	g := newGuarded(t, "PLAINTEXT")
	g.admin.prepare()
	denied := g.answers()
	rights, opened := map[right]bool{}, map[int16]bool{}
	for _, h := range g.handlers {
		for _, c := range h.Spec().Checks {
			if c.Operation != kmsg.ACLOperationAny {
				rights[right{c.Operation, c.Resource}] = true
			}
		}
	}
	require.Greater(t, len(rights), 10)
	for r := range rights {
		g.admin.prepare()
		g.rules.only(r)
		for key, answer := range g.answers() {
			if !bytes.Equal(denied[key], answer) {
				opened[key] = true
				h := g.handlers[slices.IndexFunc(g.handlers, func(h handler.Handler) bool { return h.Spec().Key == key })]
				require.Truef(t, declares(h.Spec(), r), "%s opens %s, which does not declare it", r, kmsg.NameForKey(key))
			}
		}
		g.rules.only()
	}
	for _, h := range g.handlers {
		spec := h.Spec()
		if len(spec.Checks) == 0 || opened[spec.Key] {
			continue
		}
		g.admin.prepare()
		var all []right
		for _, c := range spec.Checks {
			all = append(all, right{c.Operation, c.Resource})
		}
		g.rules.only(all...)
		require.NotEqual(t, denied[spec.Key], g.answers()[spec.Key], "%v together do not open %s", all, kmsg.NameForKey(spec.Key))
		g.rules.only()
	}
}

// answers are those of every key at its last version to requests about what is
// there, without the id of the topic, which differs when it is made anew.
func (g *guarded) answers() map[int16][]byte {
	here := g.admin.prepare()
	answers := map[int16][]byte{}
	for _, h := range g.handlers {
		spec := h.Spec()
		if stateful(kmsg.Key(spec.Key)) {
			continue
		}
		for _, req := range here.aimed(h, spec.Max) {
			g.admin.prepare()
			answers[spec.Key] = append(answers[spec.Key], bytes.ReplaceAll(g.ask(req), here.id[:], make([]byte, 16))...)
		}
	}
	return answers
}

// A refused Produce without acks has no answer that could say so: the connection
// closes, whether the topic is there or not, and nothing is stored.
func TestProduceWithoutAcksIsRefused(t *testing.T) { throughGuarded(t, produceWithoutAcksIsRefused) }

func produceWithoutAcksIsRefused(t *testing.T, g *guarded) {
	here := g.admin.prepare()
	before := g.admin.store()
	for _, about := range []target{here, absent} {
		for _, h := range g.handlers {
			if spec := h.Spec(); spec.Key == kmsg.Produce.Int16() {
				for v := spec.Min; v <= spec.Max; v++ {
					produce := about.aimed(h, v)[0].(*kmsg.ProduceRequest)
					produce.Acks = 0
					conn := g.dial(about.topic)
					require.NoError(t, conn.Send(produce))
					_, err := conn.Call(kmsg.NewPtrApiVersionsRequest())
					require.Errorf(t, err, "v%d: the connection is open", v)
					conn.Close()
					delete(g.conns, about.topic)
				}
			}
		}
	}
	require.Equal(t, before, g.admin.store())
}
