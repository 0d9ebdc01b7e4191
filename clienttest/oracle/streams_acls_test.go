package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

// TestACLsAgainstKafka compares the keys 29 to 31 for a super user, and the answers of
// a server without an authorizer.
func TestACLsAgainstKafka(t *testing.T) {
	kafka, gateway := newSide("Kafka", kafkaBroker(t).plain), newSide("gateway", gatewaytest.Start(t, gatewaytest.ACLs()))
	defer kafka.hangUp()
	defer gateway.hangUp()
	permitted := newAllowances(allowedOfACLs)
	for _, st := range aclSteps() {
		for v := st.min; v <= st.max; v++ {
			name := fmt.Sprintf("%s v%d", st.name, v)
			ours := exchange(t, gateway, st, v)
			theirs := exchange(t, kafka, st, v)
			// What the broker shows lags behind what its controller has done.
			for end := time.Now().Add(lag); st.build(kafka, v).Key() == int16(kmsg.DescribeACLs) &&
				len(compare(name, theirs, ours, newAllowances(allowedOfACLs))) > 0 && time.Now().Before(end); {
				time.Sleep(pause)
				theirs = exchange(t, kafka, st, v)
			}
			for _, difference := range compare(name, theirs, ours, permitted) {
				t.Error(difference)
			}
		}
	}
	if !t.Failed() {
		permitted.reportUnused(t)
	}
}

// allowedOfACLs lists the differences of TestACLsAgainstKafka, as allowed does.
var allowedOfACLs = []allowance{
	{`create (any|match).*`, `.*ErrorCode`, `-1`, `42`, "a value that an ACL cannot have is the client's fault"},
	{`create (any|match).*`, `.*ErrorMessage`, `null`, `"Invalid .*`, "the same"},
	{`create with an any.*`, `.*ErrorCode`, `-1`, `0`, "and only that ACL's"},
	{`create with an any.*`, `.*ErrorMessage`, `null`, `""`, "the same"},
	{`create with an any.*`, `.*ErrorCode`, `-1`, `42`, "the same"},
	{`create with an any.*`, `.*ErrorMessage`, `null`, `"Invalid .*`, "the same"},
	{`.* unknown 0 .*`, `.*`, `closed|absent`, `.*`, "UNKNOWN is answered as other values that nobody knows; Kafka closes"},
}

type (
	creation = kmsg.CreateACLsRequestCreation
	chooser  = kmsg.DeleteACLsRequestFilter
)

// newACL allows a user to read a literal topic from everywhere, but for the changes.
func newACL(topic string, changes ...func(*creation)) creation {
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.Principal, c.Host, c.Operation, c.PermissionType = 2, topic, "User:a", "*", 3, 3
	for _, change := range changes {
		change(&c)
	}
	return c
}

// choose chooses every ACL, but for the changes.
func choose(changes ...func(*chooser)) chooser {
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType = 1, 1, 1, 1
	for _, change := range changes {
		change(&f)
	}
	return f
}

func createStep(name string, acls ...creation) step {
	return step{name: "create " + name, min: 1, max: 3, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrCreateACLsRequest()
		r.Creations = acls
		return r
	}}
}

func deleteStep(name string, filters ...chooser) step {
	return step{name: "delete " + name, min: 1, max: 3, capture: sortACLs, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrDeleteACLsRequest()
		r.Filters = filters
		return r
	}}
}

func describeStep(name string, changes ...func(*chooser)) step {
	return step{name: "describe " + name, min: 1, max: 3, capture: sortACLs, build: func(*side, int16) kmsg.Request {
		f := choose(changes...)
		r := kmsg.NewPtrDescribeACLsRequest()
		r.ResourceType, r.ResourcePatternType, r.ResourceName = f.ResourceType, f.ResourcePatternType, f.ResourceName
		r.Principal, r.Host, r.Operation, r.PermissionType = f.Principal, f.Host, f.Operation, f.PermissionType
		return r
	}}
}

func aclSteps() []step {
	host := func(h string) func(*creation) { return func(c *creation) { c.Host = h } }
	prefixed := func(c *creation) { c.ResourcePatternType = 4 }
	everything := deleteStep("everything", choose())
	return slices.Concat(
		[]step{
			describeStep("nothing"),
			createStep("none"),
			createStep("twice", newACL("t"), newACL("t")),
			createStep("again", newACL("t")),
			createStep("more", newACL("t-", prefixed), newACL("*"), newACL("*", prefixed), newACL("t", host("10.0.0.1")),
				newACL("t", func(c *creation) { c.PermissionType, c.Principal = 2, "User:*" }),
				newACL("kafka-cluster", prefixed, func(c *creation) { c.ResourceType = 4 })),
			createStep("hosts", newACL("h", host("localhost")), newACL("h", host("10.1.2.3/8")), newACL("h", host("2001:db8::/32")),
				newACL("h", host("010.0.0.0/08")), newACL("h", host("0.0.0.0/0"))),
			createStep("odd users", newACL("u", user4("User:")), newACL("u", user4(":a")), newACL("u", user4("Group:a:b")), newACL("u", user4("a"))),
			describeStep("everything"),
		},
		badACLs(), filterSteps(),
		[]step{everything, describeStep("nothing again"), deleteStep("nothing"), everything},
	)
}

func user4(principal string) func(*creation) { return func(c *creation) { c.Principal = principal } }

// badACLs are refused, or are odd and are not.
func badACLs() (steps []step) {
	for _, h := range []string{"", "10.0.0.0/33", "10.0.0/8", "10.0.0.300/8", "host/8", "0.0.0.0//0", "2001:db8::/129", "2001:zz8::/12",
		"2001:db8::/", "::ffff:10.0.0.0/104", "10.0.0.0/", "/8"} {
		steps = append(steps, createStep("for the host "+h, newACL("bad", func(c *creation) { c.Host = h })))
	}
	for _, v := range []int8{0, 1, 2, 5, 15, 16, -1} {
		name := map[int8]string{0: "unknown 0", 1: "any"}[v]
		name = cmp.Or(name, fmt.Sprint("value ", v))
		steps = append(steps,
			createStep(name+" as type", newACL("odd", func(c *creation) { c.ResourceType = kmsg.ACLResourceType(v) })),
			createStep(name+" as operation", newACL("odd", func(c *creation) { c.Operation = kmsg.ACLOperation(v) })),
			createStep(name+" as permission", newACL("odd", func(c *creation) { c.PermissionType = kmsg.ACLPermissionType(v) })),
		)
		if v == 2 {
			name = "match"
		}
		steps = append(steps, createStep(name+" as pattern", newACL("odd", func(c *creation) { c.ResourcePatternType = kmsg.ACLResourcePatternType(v) })))
	}
	return append(steps,
		createStep("for no name", newACL("")),
		createStep("for an odd cluster", newACL("x", func(c *creation) { c.ResourceType = 4 })),
		createStep("for every cluster", newACL("*", func(c *creation) { c.ResourceType = 4 })),
		createStep("bad and good", newACL(""), newACL("good"), newACL("x", user4("x"))),
		createStep("bad in two ways", newACL("", user4("x"), func(c *creation) { c.ResourceType = 8 })),
		createStep("bad in two other ways", newACL("x", user4("x"), func(c *creation) { c.Host, c.Operation = "", 77 })),
		createStep("with an any", newACL("t"), newACL("x", func(c *creation) { c.ResourceType = 1 })),
	)
}

// filterSteps choose ACLs, first to look at and then to delete, where each version has less to delete.
func filterSteps() (steps []step) {
	change := func(kind, pattern, op, permission int8, name, principal, host *string) func(*chooser) {
		return func(f *chooser) {
			f.ResourceType, f.ResourcePatternType = kmsg.ACLResourceType(kind), kmsg.ACLResourcePatternType(pattern)
			f.Operation, f.PermissionType = kmsg.ACLOperation(op), kmsg.ACLPermissionType(permission)
			f.ResourceName, f.Principal, f.Host = name, principal, host
		}
	}
	filters := []struct {
		name   string
		change func(*chooser)
	}{
		{"what concerns t-1", change(2, 2, 1, 1, str("t-1"), nil, nil)},
		{"what concerns t of any type", change(1, 2, 1, 1, str("t"), nil, nil)},
		{"what concerns something", change(2, 2, 1, 1, nil, nil, nil)},
		{"what concerns all", change(2, 2, 1, 1, str("*"), nil, nil)},
		{"the pattern t", change(2, 3, 1, 1, str("t"), nil, nil)},
		{"the prefix t-", change(2, 4, 1, 1, str("t-"), nil, nil)},
		{"a pattern of any kind", change(2, 1, 1, 1, str("*"), nil, nil)},
		{"no name", change(2, 1, 1, 1, str(""), nil, nil)},
		{"a user", change(1, 1, 1, 1, nil, str("Group:a:b"), nil)},
		{"no user", change(1, 1, 1, 1, nil, str(""), nil)},
		{"a host in a network", change(1, 1, 1, 1, nil, nil, str("10.0.0.7"))},
		{"a network", change(1, 1, 1, 1, nil, nil, str("10.1.2.3/8"))},
		{"a bad network", change(1, 1, 1, 1, nil, nil, str("10.1.2.3/88"))},
		{"denials", change(1, 1, 1, 2, nil, nil, nil)},
		{"operation ALL", change(1, 1, 2, 1, nil, nil, nil)},
		{"operation 15", change(1, 1, 15, 1, nil, nil, nil)},
		{"a type 8", change(8, 1, 1, 1, nil, nil, nil)},
		{"a pattern 5", change(2, 5, 1, 1, nil, nil, nil)},
		{"an operation 99", change(2, 1, 99, 1, nil, nil, nil)},
		{"a permission 4", change(2, 1, 1, 4, nil, nil, nil)},
		{"unknown 0 type", change(0, 1, 1, 1, nil, nil, nil)},
		{"unknown 0 permission", change(1, 1, 1, 0, nil, nil, nil)},
	}
	for _, f := range filters {
		steps = append(steps, describeStep(f.name, f.change))
	}
	for _, f := range filters {
		steps = append(steps, deleteStep(f.name, choose(f.change)))
	}
	return append(steps, deleteStep("by two filters", choose(change(2, 1, 1, 1, str("h"), nil, nil)),
		choose(change(8, 1, 1, 1, str("h"), nil, nil)), choose(change(2, 1, 1, 1, str("h"), nil, str("localhost")))))
}

// sortACLs undoes the order of Kafka's hash tables.
func sortACLs(_ *side, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.DescribeACLsResponse:
		type resource = kmsg.DescribeACLsResponseResource
		slices.SortFunc(r.Resources, func(a, b resource) int {
			return cmp.Or(cmp.Compare(a.ResourceType, b.ResourceType), cmp.Compare(a.ResourceName, b.ResourceName),
				cmp.Compare(a.ResourcePatternType, b.ResourcePatternType))
		})
		for _, found := range r.Resources {
			slices.SortFunc(found.ACLs, func(a, b kmsg.DescribeACLsResponseResourceACL) int {
				return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Host, b.Host),
					cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.PermissionType, b.PermissionType))
			})
		}
	case *kmsg.DeleteACLsResponse:
		for _, result := range r.Results {
			slices.SortFunc(result.MatchingACLs, func(a, b kmsg.DeleteACLsResponseResultMatchingACL) int {
				return cmp.Or(cmp.Compare(a.ResourceType, b.ResourceType), cmp.Compare(a.ResourceName, b.ResourceName),
					cmp.Compare(a.ResourcePatternType, b.ResourcePatternType), cmp.Compare(a.Principal, b.Principal),
					cmp.Compare(a.Host, b.Host), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.PermissionType, b.PermissionType))
			})
		}
	}
}
