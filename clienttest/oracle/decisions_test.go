package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls"
)

// rounds is how many lists of ACLs are compared.
const rounds = 60

// TestDecisionsAgainstKafka gives random ACLs to Kafka and to an acls.List, and compares
// what they allow the user. Kafka tells in the authorized operations of topics, groups
// and the cluster, and, for any topic, by InitProducerID.
func TestDecisionsAgainstKafka(t *testing.T) {
	kafka := kafkaServer(t)
	defer kafka.super.hangUp()
	defer kafka.user.hangUp()
	awaitCoordinator(t, kafka.super)
	create := createTopics()
	create.Version = 7
	for _, name := range decidedNames {
		create.Topics = append(create.Topics, newTopic(name, 1))
	}
	kafka.super.must(t, create)

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		granted := drawACLs(random)
		list := newList(t)
		for _, err := range list.CreateACLs(t.Context(), granted) {
			require.NoError(t, err)
		}
		kafka.super.must(t, dropGrants(), createGrants(granted))
		require.Eventually(t, func() bool { return slices.Equal(shownACLs(t, kafka.super), describe(t, list)) }, wait, pause)
		require.Equal(t, decisions(t, list), answeredDecisions(t, kafka.user), "seed %d, round %d:\n%s", seed, round, lines(granted))
	}
}

func newList(t *testing.T) *acls.List {
	list := acls.New(embeddedtest.Open(t), acls.Config{Max: 1000})
	require.NoError(t, list.Load(t.Context()))
	return list
}

// decidedNames are the topics and the groups that are asked about. Kafka asks about
// "hardcode" before it says whether any topic is allowed.
var decidedNames = []string{"dec", "dec-a", "dec-ab", "other", "hardcode"}

func drawACLs(random *rand.Rand) (drawn []security.ACL) {
	type types = kmsg.ACLResourceType
	names := []string{"*", "*", "d", "dec", "dec-", "dec-a", "dec-ab", "dec-abc", "other", "hardcode", "hard"}
	for range random.IntN(9) {
		a := security.ACL{
			Type:       pick(random, types(2), 2, 2, 3, 3, 4, 5),
			Pattern:    pick(random, kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLResourcePatternTypePrefixed),
			Name:       pick(random, names...),
			Principal:  pick(random, "User:"+user, "User:"+user, "User:*", "User:bob", "Group:"+user),
			Host:       pick(random, "*", "*", "127.0.0.1", "127.0.0.0/8", "127.0.0.2", "10.0.0.0/8", "::1", "0.0.0.0/0"),
			Operation:  kmsg.ACLOperation(2 + random.IntN(11)),
			Permission: pick(random, kmsg.ACLPermissionTypeAllow, kmsg.ACLPermissionTypeAllow, kmsg.ACLPermissionTypeDeny),
		}
		if a.Type == kmsg.ACLResourceTypeCluster {
			a.Name = security.ClusterName
		}
		if !slices.Contains(drawn, a) {
			drawn = append(drawn, a)
		}
	}
	return drawn
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func describe(t *testing.T, list security.ACLs) []string {
	all, err := list.DescribeACLs(t.Context(), security.ACLFilter{Type: 1, Pattern: 1, Operation: 1, Permission: 1})
	require.NoError(t, err)
	return strings.Split(lines(all), "\n")
}

// lines writes ACLs, one a line, sorted.
func lines(all []security.ACL) string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s %s %s %s %s %s %q", a.Permission, a.Principal, a.Host, a.Operation, a.Type, a.Pattern, a.Name))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func shownACLs(t *testing.T, s *side) []string {
	var all []security.ACL
	s.ask(t, describeGrants(), func(_ *side, resp kmsg.Response) {
		for _, r := range resp.(*kmsg.DescribeACLsResponse).Resources {
			for _, a := range r.ACLs {
				all = append(all, security.ACL{
					Type: r.ResourceType, Pattern: r.ResourcePatternType, Name: r.ResourceName,
					Principal: a.Principal, Host: a.Host, Operation: a.Operation, Permission: a.PermissionType,
				})
			}
		}
	})
	return strings.Split(lines(all), "\n")
}

// access is a list as the user's requests see it.
type access struct{ *acls.List }

var asUser = security.Requester{Principal: security.User(user), Host: "127.0.0.1"}

func (a access) Authorize(ctx context.Context, op kmsg.ACLOperation, on security.Resource, _ bool) bool {
	return a.List.Authorize(ctx, asUser, op, on)
}

func (a access) AuthorizeAny(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return a.List.AuthorizeAny(ctx, asUser, op, on)
}

// decisions is what a list allows the user: sets of operations, as KIP-430 has them.
func decisions(t *testing.T, list *acls.List) map[string]int32 {
	ctx, call, out := t.Context(), handler.Call{Access: access{list}}, map[string]int32{}
	for kind, short := range map[kmsg.ACLResourceType]string{kmsg.ACLResourceTypeTopic: "topic ", kmsg.ACLResourceTypeGroup: "group "} {
		for _, name := range decidedNames {
			out[short+name] = -1
			if call.Shown(ctx, kmsg.ACLOperationDescribe, kind, name) {
				out[short+name] = call.Operations(ctx, kind, name)
			}
		}
	}
	if call.ShownCluster(ctx, kmsg.ACLOperationDescribe) {
		out["cluster"] = call.Operations(ctx, kmsg.ACLResourceTypeCluster, security.ClusterName)
	}
	if call.AllowedCluster(ctx, kmsg.ACLOperationIdempotentWrite) || call.AllowedAny(ctx, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic) {
		out["write any"] = 1
	}
	return out
}

// answeredDecisions asks a server for the same.
func answeredDecisions(t *testing.T, s *side) map[string]int32 {
	out := map[string]int32{}
	topics := metadata(false, decidedNames...)
	topics.Version, topics.IncludeTopicAuthorizedOperations = 10, true
	s.ask(t, topics, func(_ *side, resp kmsg.Response) {
		for _, topic := range resp.(*kmsg.MetadataResponse).Topics {
			out["topic "+*topic.Topic] = topic.AuthorizedOperations
			if topic.ErrorCode != 0 {
				out["topic "+*topic.Topic] = -1
			}
		}
	})
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Version, groups.Groups, groups.IncludeAuthorizedOperations = 5, decidedNames, true
	s.ask(t, groups, func(_ *side, resp kmsg.Response) {
		for _, group := range resp.(*kmsg.DescribeGroupsResponse).Groups {
			out["group "+group.Group] = group.AuthorizedOperations
			if group.ErrorCode != 0 {
				out["group "+group.Group] = -1
			}
		}
	})
	cluster := kmsg.NewPtrDescribeClusterRequest()
	cluster.IncludeClusterAuthorizedOperations = true
	s.ask(t, cluster, func(_ *side, resp kmsg.Response) {
		if ops := resp.(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations; ops != 0 {
			out["cluster"] = ops
		}
	})
	producer := kmsg.NewPtrInitProducerIDRequest()
	producer.Version = 4
	s.ask(t, producer, func(_ *side, resp kmsg.Response) {
		if resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			out["write any"] = 1
		}
	})
	return out
}

// taking is a list that takes whoever has the client id of the user for the user, and
// lets others do everything.
type taking struct{ *acls.List }

func (k taking) Authorize(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	return who.ClientID != user || k.List.Authorize(ctx, asUser, op, on)
}

// TestACLsOfAUserAgainstKafka compares the keys 29 to 31 for one who may not, or may,
// see and change ACLs.
func TestACLsOfAUserAgainstKafka(t *testing.T) {
	kafka := kafkaServer(t)
	list := newList(t)
	addr := gatewaytest.Start(t, gatewaytest.Authorizer(taking{list}))
	gateway := newSide("gateway", addr)
	gateway.clientID = user
	for _, s := range []*side{kafka.super, kafka.user, gateway} {
		defer s.hangUp()
	}
	permitted := newAllowances([]allowance{
		{`.*`, `.*ErrorMessage`, `"Request Request\(.*\) needs (ALTER|DESCRIBE) permission\."`, `"Request needs (ALTER|DESCRIBE) permission\."`,
			"Kafka tells how it handles requests inside"},
	})
	for _, grants := range []string{"nothing", "describe cluster", "alter cluster", "all cluster", "all topic *"} {
		for _, st := range []step{
			describeStep("all"),
			createStep("two", newACL("t"), newACL("")),
			createStep("none"),
			deleteStep("two", choose(func(f *chooser) { f.Principal = str("User:a") }), choose(func(f *chooser) { f.ResourceType = 8 })),
		} {
			for v := st.min; v <= st.max; v++ {
				granted := parseGrants(t, grants)
				kafka.grant(t, granted)
				list.DeleteACLs(t.Context(), []security.ACLFilter{{Type: 1, Pattern: 1, Operation: 1, Permission: 1}})
				list.CreateACLs(t.Context(), granted)
				name := fmt.Sprintf("%s/%s v%d", grants, st.name, v)
				ours := exchange(t, gateway, st, v)
				for _, difference := range compare(name, exchange(t, kafka.user, st, v), ours, permitted) {
					t.Error(difference)
				}
			}
		}
	}
}
