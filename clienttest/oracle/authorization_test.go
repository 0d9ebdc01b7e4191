package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// user is who may do only what is granted; everybody else is a super user.
const user = "alice"

// shortLag is lag where what was prepared has been seen already.
const shortLag = time.Second

// subject is something that the user asks for under different grants.
type subject struct {
	name string
	// prepare is done once, by a super user.
	prepare func(s *side) []kmsg.Request
	ask     []question
}

// question is one request of the user, at each version: first when nothing is
// granted, then under each of the grants alone.
type question struct {
	name     string
	min, max int16
	build    func(s *side, version int16) kmsg.Request
	// capture looks at the user's answer before it is compared.
	capture func(s *side, resp kmsg.Response)
	// grants are "operation type name", as in "read topic a", several of them
	// with a comma between. Where the name ends with * it is a prefix; "deny"
	// in front forbids.
	grants []string
	// before is done by a super user before each time that the user asks.
	before func(s *side, version int16) []kmsg.Request
	// unanswered: Kafka says nothing to who is granted nothing.
	unanswered bool
}

// attempt names a thing so that each time that it is asked for has its own.
func (s *side) attempt(name string) string { return fmt.Sprintf("%s-%d", name, s.vars["attempt"]) }

// server is one of the two servers: as a super user and as the user see it.
type server struct {
	super, user *side
	// grant makes these grants of the user the only ones that there are.
	grant func(t *testing.T, grants []security.ACL)
	// decided are the decisions of the gateway's authorizer about the user, by key.
	decided *decided
}

// as returns the user's side of a server.
func as(super *side, addr string) *side {
	s := newSide(super.name, addr)
	for value, symbol := range super.symbols {
		s.symbols[value] = symbol
	}
	super.symbols, s.vars, s.clientID = s.symbols, super.vars, user
	return s
}

// TestAuthorization asks both servers for everything as a user who may do nothing,
// and then as one who may do one thing. Each row of what "kafka-gateway apis --acl" prints
// is asked both ways.
func TestAuthorization(t *testing.T) {
	kafka, gateway := kafkaServer(t), gatewayServer(t)
	for _, s := range []*side{kafka.super, kafka.user, gateway.super, gateway.user} {
		defer s.hangUp()
	}
	awaitCoordinator(t, kafka.super)
	permitted := newAllowances(slices.Concat(allowedUnderGrants, toolAllowances, userAllowances))
	attempt := 0
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			for _, s := range []*side{kafka.super, gateway.super} {
				s.must(t, subject.prepare(s)...)
			}
			for _, q := range subject.ask {
				for _, grants := range append([]string{"nothing"}, q.grants...) {
					kafka.grant(t, parseGrants(t, grants))
					gateway.grant(t, parseGrants(t, grants))
					for v := q.min; v <= q.max; v++ {
						attempt++
						kafka.super.vars["attempt"], gateway.super.vars["attempt"] = attempt, attempt
						name := fmt.Sprintf("%s/%s/%s v%d", subject.name, q.name, grants, v)
						asked := q
						asked.unanswered = q.unanswered && grants == "nothing"
						ask(t, name, kafka, gateway, asked, v, permitted)
					}
				}
			}
		})
	}
	if !t.Failed() {
		permitted.reportUnused(t)
		gateway.decided.reportMissing(t)
	}
}

func ask(t *testing.T, name string, kafka, gateway server, q question, v int16, permitted *allowances) {
	t.Helper()
	if q.before != nil {
		for _, s := range []*side{kafka.super, gateway.super} {
			s.must(t, q.before(s, v)...)
		}
	}
	st := step{name: q.name, min: q.min, max: q.max, build: q.build, capture: q.capture, unanswered: q.unanswered}
	gateway.decided.key.Store(int32(q.build(gateway.user, v).Key()))
	ours := exchange(t, gateway.user, st, v)
	theirs := settled(t, kafka.user, st, v, name, ours, permitted.list, shortLag)
	for _, difference := range compare(name, theirs, ours, permitted) {
		t.Error(difference)
	}
}

// must has a super user do what prepares a question, and returns when it can be
// seen. A broker that is not yet the leader of a new partition is asked again.
func (s *side) must(t *testing.T, reqs ...kmsg.Request) {
	t.Helper()
	for _, req := range reqs {
		answer := s.ask(t, req, learnTopic)
		for end := time.Now().Add(lag); failed(answer) && time.Now().Before(end); {
			time.Sleep(pause)
			answer = s.ask(t, req, learnTopic)
		}
		require.Falsef(t, failed(answer), "%s: %s: %v", s.name, kmsg.Key(req.Key()).Name(), answer)
		if create, ok := req.(*kmsg.CreateTopicsRequest); ok {
			s.awaitTopics(t, create)
		}
	}
}

// failed reports whether an answer has an error.
func failed(answer map[string]string) bool {
	for path, value := range answer {
		if strings.HasSuffix(path, "ErrorCode") && value != "0" {
			return true
		}
	}
	return false
}

func (s *side) awaitTopics(t *testing.T, create *kmsg.CreateTopicsRequest) {
	for _, topic := range create.Topics {
		look := metadata(false, topic.Topic)
		look.Version = 12
		require.Eventually(t, func() bool { return s.ask(t, look, learnTopic)["Topics[0].ErrorCode"] == "0" }, wait, pause)
	}
}

// parseGrants reads what a question grants.
func parseGrants(t *testing.T, text string) (acls []security.ACL) {
	if text == "nothing" {
		return nil
	}
	for one := range strings.SplitSeq(text, ", ") {
		acl := security.ACL{
			Pattern: kmsg.ACLResourcePatternTypeLiteral, Principal: "User:" + user, Host: "*",
			Permission: kmsg.ACLPermissionTypeAllow,
		}
		words := strings.Fields(one)
		if words[0] == "deny" {
			acl.Permission, words = kmsg.ACLPermissionTypeDeny, words[1:]
		}
		if len(words) == 2 && words[1] == "cluster" {
			words = append(words, security.ClusterName)
		}
		require.Lenf(t, words, 3, "%q", one)
		var err error
		acl.Operation, err = kmsg.ParseACLOperation(words[0])
		require.NoError(t, err)
		acl.Type, err = kmsg.ParseACLResourceType(words[1])
		require.NoError(t, err)
		acl.Name = words[2]
		if prefix, ok := strings.CutSuffix(acl.Name, "*"); ok && prefix != "" {
			acl.Name, acl.Pattern = prefix, kmsg.ACLResourcePatternTypePrefixed
		}
		acls = append(acls, acl)
	}
	return acls
}

// kafkaServer is a broker whose user logs in.
func kafkaServer(t *testing.T) server {
	addr := kafkaBroker(t)
	if addr.sasl == "" {
		t.Skipf("%s names no address to log in at", kafkaVar)
	}
	s := server{super: newSide("Kafka", addr.plain)}
	s.user = as(s.super, addr.sasl)
	s.user.login = func(c *rawclient.Conn) error {
		shake, token := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLAuthenticateRequest()
		shake.Version, shake.Mechanism = 1, "PLAIN"
		token.Version, token.SASLAuthBytes = 1, []byte("\x00"+user+"\x00"+user)
		if _, err := c.Call(shake); err != nil {
			return err
		}
		resp, err := c.Call(token)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.(*kmsg.SASLAuthenticateResponse).ErrorCode)
	}
	controller := newSide("Kafka's controller", addr.controller)
	t.Cleanup(controller.hangUp)
	s.grant = func(t *testing.T, grants []security.ACL) {
		t.Helper()
		// The broker and the controller, to which it forwards, have authorizers of
		// their own, which follow.
		await := func(n int) {
			for _, at := range []*side{s.super, controller} {
				require.Eventually(t, func() bool { return shownGrants(at.ask(t, describeGrants(), nil)) == n },
					wait, 10*time.Millisecond, "the grants do not arrive")
			}
		}
		s.super.must(t, dropGrants())
		await(0)
		s.super.must(t, createGrants(grants))
		await(len(grants))
	}
	return s
}

func dropGrants() kmsg.Request {
	r := kmsg.NewPtrDeleteACLsRequest()
	r.Version = 2
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	f.Operation, f.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	r.Filters = append(r.Filters, f)
	return r
}

func createGrants(grants []security.ACL) kmsg.Request {
	r := kmsg.NewPtrCreateACLsRequest()
	r.Version = 2
	for _, a := range grants {
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = a.Type, a.Name, a.Pattern
		c.Principal, c.Host, c.Operation, c.PermissionType = a.Principal, a.Host, a.Operation, a.Permission
		r.Creations = append(r.Creations, c)
	}
	return r
}

func describeGrants() kmsg.Request {
	r := kmsg.NewPtrDescribeACLsRequest()
	r.Version = 2
	r.ResourceType, r.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	r.Operation, r.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	return r
}

// shownGrants counts the ACLs of an answer to DescribeACLs.
func shownGrants(answer map[string]string) (n int) {
	for path := range answer {
		if strings.HasSuffix(path, ".PermissionType") {
			n++
		}
	}
	return n
}

// gatewayServer is a gateway that takes whoever has the client id of the user for
// the user.
func gatewayServer(t *testing.T) server {
	decided := newDecided()
	rules := rules{decided: decided}
	addr := gatewaytest.Start(t,
		gatewaytest.Authorizer(&rules),
		fx.Invoke(func(in handler.In) { decided.handlers = in.Handlers }),
		gatewaytest.Config(func(c *app.Config) {
			c.Groups.RetainClientIdentity = "true"
			c.Groups.Coordinator = "durable" // as Kafka's
		}))
	s := server{super: newSide("gateway", addr), decided: decided}
	s.user = as(s.super, addr)
	s.grant = func(_ *testing.T, grants []security.ACL) { rules.grants.Store(&grants) }
	return s
}

// rules is an authorizer that reads like KIP-11.
type rules struct {
	grants  atomic.Pointer[[]security.ACL]
	decided *decided
}

func (r *rules) Authorize(_ context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	return who.ClientID != user || r.decided.keep(op, on.Type, r.authorize(op, on))
}

func (r *rules) authorize(op kmsg.ACLOperation, on security.Resource) bool {
	concerns := func(a security.ACL) bool {
		named := a.Name == "*" || a.Name == on.Name
		if a.Pattern == kmsg.ACLResourcePatternTypePrefixed {
			named = strings.HasPrefix(on.Name, a.Name)
		}
		return a.Type == on.Type && named
	}
	return !slices.ContainsFunc(*r.grants.Load(), func(a security.ACL) bool {
		return concerns(a) && a.Permission == kmsg.ACLPermissionTypeDeny && (a.Operation == op || a.Operation == kmsg.ACLOperationAll)
	}) && slices.ContainsFunc(*r.grants.Load(), func(a security.ACL) bool {
		return concerns(a) && a.Permission == kmsg.ACLPermissionTypeAllow && covers(a.Operation, op)
	})
}

func (r *rules) AuthorizeAny(_ context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	grants := func(permission kmsg.ACLPermissionType) func(security.ACL) bool {
		return func(a security.ACL) bool {
			about := a.Type == on && a.Permission == permission && (a.Operation == op || a.Operation == kmsg.ACLOperationAll)
			return about && (permission == kmsg.ACLPermissionTypeAllow || a.Name == "*")
		}
	}
	all := *r.grants.Load()
	return who.ClientID != user || r.decided.keep(op, on,
		slices.ContainsFunc(all, grants(kmsg.ACLPermissionTypeAllow)) && !slices.ContainsFunc(all, grants(kmsg.ACLPermissionTypeDeny)))
}

// covers reports whether who may do one thing may do another.
func covers(allowed, op kmsg.ACLOperation) bool {
	switch {
	case allowed == kmsg.ACLOperationAll, allowed == op:
		return true
	case op == kmsg.ACLOperationDescribe:
		return slices.Contains([]kmsg.ACLOperation{
			kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDelete, kmsg.ACLOperationAlter,
		}, allowed)
	case op == kmsg.ACLOperationDescribeConfigs:
		return allowed == kmsg.ACLOperationAlterConfigs
	}
	return false
}
