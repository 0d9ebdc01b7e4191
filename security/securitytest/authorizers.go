package securitytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// Authorizing is an authorizer under test.
type Authorizing struct {
	Authorizer security.Authorizer
	// May are questions that it answers with yes; there is at least one.
	May []Question
	// MayAny are questions that it answers with yes, without their names.
	MayAny []Question
	// MayNot are questions that it answers with no.
	MayNot []Question
	// Fail, if it is not nil, makes it unable to find out whatever it has to find
	// out.
	Fail func()
	// Managed says that ACLs can be created, for topics at least. The authorizer is
	// a security.ACLs then, and no ACL concerns the topics "securitytest-…".
	Managed bool
}

// Question is a question to an authorizer.
type Question struct {
	Who       security.Requester
	Operation kmsg.ACLOperation
	On        security.Resource
}

// String returns "User:a from 10.0.0.1: READ TOPIC t".
func (q Question) String() string {
	return fmt.Sprintf("%s from %s: %s %s %s", q.Who.Principal, q.Who.Host, q.Operation, q.On.Type, q.On.Name)
}

func (q Question) ask(ctx context.Context, a security.Authorizer) bool {
	return a.Authorize(ctx, q.Who, q.Operation, q.On)
}

func (q Question) askAny(ctx context.Context, a security.Authorizer) bool {
	return a.AuthorizeAny(ctx, q.Who, q.Operation, q.On.Type)
}

// Authorizers is the conformance suite of security.Authorizer, and of security.ACLs
// where an authorizer is managed by them. open returns one that is ready to be asked.
func Authorizers(t *testing.T, open func(t *testing.T) Authorizing) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Authorizing)
	}{
		{"answers", asked},
		{"strangers", askedByStrangers},
		{"odd questions", oddQuestions},
		{"a context that has ended", endedContext},
		{"many at once", manyAtOnce},
		{"failure", failedToFindOut},
		{"ACLs are in force at once", managed},
		{"ACLs for one thing are for nothing else", narrow},
		{"ACLs change while they are asked", changing},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func asked(t *testing.T, a Authorizing) {
	require.NotEmpty(t, a.May)
	for _, q := range a.May {
		require.True(t, q.ask(t.Context(), a.Authorizer), q)
	}
	for _, q := range a.MayAny {
		require.True(t, q.askAny(t.Context(), a.Authorizer), "any: %s", q)
	}
	for _, q := range a.MayNot {
		require.False(t, q.ask(t.Context(), a.Authorizer), q)
	}
}

// everything asks for each operation on each type of resource.
func everything(who security.Requester, name string) (all []Question) {
	for kind := kmsg.ACLResourceTypeTopic; kind <= kmsg.ACLResourceTypeUser; kind++ {
		for op := kmsg.ACLOperationRead; op <= kmsg.ACLOperationDescribeTokens; op++ {
			all = append(all, Question{who, op, security.Resource{Type: kind, Name: name}})
		}
	}
	return all
}

func askedByStrangers(t *testing.T, a Authorizing) {
	for _, p := range []security.Principal{security.User("securitytest-nobody"), {Type: "Securitytest", Name: "nobody"}, security.User(""), {}} {
		for _, name := range []string{a.May[0].On.Name, "", "*", security.ClusterName} {
			for _, q := range everything(security.Requester{Principal: p, Host: "127.0.0.1"}, name) {
				require.False(t, q.ask(t.Context(), a.Authorizer), q)
				require.False(t, q.askAny(t.Context(), a.Authorizer), "any: %s", q)
			}
		}
	}
}

// oddQuestions must neither panic nor be answered with yes.
func oddQuestions(t *testing.T, a Authorizing) {
	for _, q := range a.May {
		for _, n := range []int8{-128, -1, 0, 1, 32, 33, 100, 127} {
			odd := q
			odd.Operation = kmsg.ACLOperation(n)
			require.False(t, odd.ask(t.Context(), a.Authorizer), odd)
			require.False(t, odd.askAny(t.Context(), a.Authorizer), odd)
			odd = q
			odd.On.Type = kmsg.ACLResourceType(n)
			require.False(t, odd.ask(t.Context(), a.Authorizer), odd)
			require.False(t, odd.askAny(t.Context(), a.Authorizer), odd)
		}
	}
}

func endedContext(t *testing.T, a Authorizing) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, q := range slices.Concat(a.May, a.MayAny, a.MayNot) {
		require.False(t, q.ask(ctx, a.Authorizer), q)
		require.False(t, q.askAny(ctx, a.Authorizer), q)
	}
}

func manyAtOnce(t *testing.T, a Authorizing) {
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 200 {
				for _, q := range a.May {
					if !q.ask(t.Context(), a.Authorizer) {
						t.Errorf("denied: %s", q)
					}
				}
				for _, q := range a.MayAny {
					if !q.askAny(t.Context(), a.Authorizer) {
						t.Errorf("denied any: %s", q)
					}
				}
				for _, q := range a.MayNot {
					if q.ask(t.Context(), a.Authorizer) {
						t.Errorf("allowed: %s", q)
					}
				}
			}
		})
	}
	group.Wait()
}

// failedToFindOut: nobody is allowed anything because it could not be found out.
func failedToFindOut(t *testing.T, a Authorizing) {
	if a.Fail == nil {
		t.Skip("it has nothing to find out")
	}
	a.Fail()
	for _, q := range a.MayNot {
		require.False(t, q.ask(t.Context(), a.Authorizer), q)
	}
	askedByStrangers(t, a)
}

const prefix = "securitytest-"

// grant is an ACL for a topic and for reading.
func grant(user, topic string) security.ACL {
	return security.ACL{
		Type: kmsg.ACLResourceTypeTopic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: topic,
		Principal: security.User(user).String(), Host: "*",
		Operation: kmsg.ACLOperationRead, Permission: kmsg.ACLPermissionTypeAllow,
	}
}

func reads(user, topic string) Question {
	return Question{
		security.Requester{Principal: security.User(user), Host: "127.0.0.1"},
		kmsg.ACLOperationRead, security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic},
	}
}

// filter chooses one ACL.
func filter(acl security.ACL) security.ACLFilter {
	return security.ACLFilter{
		Type: acl.Type, Pattern: acl.Pattern, Name: &acl.Name, Principal: &acl.Principal, Host: &acl.Host,
		Operation: acl.Operation, Permission: acl.Permission,
	}
}

// lists returns the list of a managed authorizer, and skips the test of another.
func lists(t *testing.T, a Authorizing) security.ACLs {
	t.Helper()
	if !a.Managed {
		t.Skip("no ACLs can be created")
	}
	acls, ok := a.Authorizer.(security.ACLs)
	require.True(t, ok, "%T is no security.ACLs", a.Authorizer)
	return acls
}

func create(t *testing.T, acls security.ACLs, list ...security.ACL) {
	t.Helper()
	for _, err := range acls.CreateACLs(t.Context(), list) {
		require.NoError(t, err)
	}
}

func managed(t *testing.T, a Authorizing) {
	acls := lists(t, a)
	allowed, denied := grant("securitytest-a", prefix+"t"), grant("securitytest-a", prefix+"t")
	denied.Permission = kmsg.ACLPermissionTypeDeny
	question := reads("securitytest-a", prefix+"t")

	require.False(t, question.ask(t.Context(), a.Authorizer))
	create(t, acls, allowed, allowed)
	create(t, acls, allowed)
	require.True(t, question.ask(t.Context(), a.Authorizer))
	require.True(t, question.askAny(t.Context(), a.Authorizer))
	create(t, acls, denied)
	require.False(t, question.ask(t.Context(), a.Authorizer), "a denial wins")

	chosen := filter(allowed)
	chosen.Permission = kmsg.ACLPermissionTypeAny
	found, err := acls.DescribeACLs(t.Context(), chosen)
	require.NoError(t, err)
	require.ElementsMatch(t, []security.ACL{allowed, denied}, found)

	deleted := acls.DeleteACLs(t.Context(), []security.ACLFilter{filter(denied), filter(denied), filter(grant("securitytest-b", prefix+"t"))})
	require.Equal(t, []security.DeletedACLs{{ACLs: []security.ACL{denied}}, {ACLs: []security.ACL{denied}}, {}}, deleted)
	require.True(t, question.ask(t.Context(), a.Authorizer))
	acls.DeleteACLs(t.Context(), []security.ACLFilter{chosen})
	require.False(t, question.ask(t.Context(), a.Authorizer))
}

func narrow(t *testing.T, a Authorizing) {
	acls := lists(t, a)
	create(t, acls, grant("securitytest-a", prefix+"t"))
	implied := reads("securitytest-a", prefix+"t")
	implied.Operation = kmsg.ACLOperationDescribe
	allowed := []Question{reads("securitytest-a", prefix+"t"), implied}
	for _, user := range []string{"securitytest-a", "securitytest-b", "Securitytest-a", "*"} {
		for _, topic := range []string{prefix + "t", prefix + "t2", prefix, "*"} {
			for _, q := range everything(reads(user, topic).Who, topic) {
				require.Equal(t, slices.Contains(allowed, q), q.ask(t.Context(), a.Authorizer), q)
			}
		}
	}
}

// changing: whoever asks sees each change whole, and other ACLs as they are.
func changing(t *testing.T, a Authorizing) {
	acls := lists(t, a)
	create(t, acls, grant("securitytest-a", prefix+"stays"))
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if !reads("securitytest-a", prefix+"stays").ask(t.Context(), a.Authorizer) {
					t.Error("an ACL is not in force while others change")
				}
				if reads("securitytest-b", prefix+"stays").ask(t.Context(), a.Authorizer) {
					t.Error("a stranger is allowed while ACLs change")
				}
			}
		})
	}
	var changes sync.WaitGroup
	for i := range 4 {
		changes.Go(func() {
			mine := grant("securitytest-a", fmt.Sprint(prefix, i))
			for range 20 {
				create(t, acls, mine)
				if !reads("securitytest-a", mine.Name).ask(t.Context(), a.Authorizer) {
					t.Error("an ACL is not in force when its creation returns")
				}
				acls.DeleteACLs(t.Context(), []security.ACLFilter{filter(mine)})
				if reads("securitytest-a", mine.Name).ask(t.Context(), a.Authorizer) {
					t.Error("an ACL is in force when its deletion returns")
				}
			}
		})
	}
	changes.Wait()
	close(done)
	group.Wait()
}
