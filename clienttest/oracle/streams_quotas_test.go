package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// quotaSteps set quotas, look at them and take them away. The names are of nobody
// else, so that no other stream is slowed.
func quotaSteps() []step {
	return slices.Concat(alterQuotaSteps(), describeQuotaSteps(), clearQuotaSteps())
}

// quotaEntity is pairs of type and name; "*" is the default.
func quotaEntity(pairs ...string) []kmsg.AlterClientQuotasRequestEntryEntity {
	var e []kmsg.AlterClientQuotasRequestEntryEntity
	for i := 0; i+1 < len(pairs); i += 2 {
		c := kmsg.AlterClientQuotasRequestEntryEntity{Type: pairs[i]}
		if pairs[i+1] != "*" {
			c.Name = str(pairs[i+1])
		}
		e = append(e, c)
	}
	return e
}

// quotaOps are pairs of key and value; nil removes.
func quotaOps(pairs ...any) []kmsg.AlterClientQuotasRequestEntryOp {
	var ops []kmsg.AlterClientQuotasRequestEntryOp
	for i := 0; i+1 < len(pairs); i += 2 {
		op := kmsg.AlterClientQuotasRequestEntryOp{Key: pairs[i].(string)}
		switch v := pairs[i+1].(type) {
		case nil:
			op.Remove = true
		case int:
			op.Value = float64(v)
		case float64:
			op.Value = v
		}
		ops = append(ops, op)
	}
	return ops
}

func alterQuotas(name string, validate bool, entries ...kmsg.AlterClientQuotasRequestEntry) step {
	return step{name: name, min: 0, max: 1, capture: sortQuotas, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrAlterClientQuotasRequest()
		r.Entries, r.ValidateOnly = entries, validate
		return r
	}}
}

func quotaEntry(e []kmsg.AlterClientQuotasRequestEntryEntity, ops ...any) kmsg.AlterClientQuotasRequestEntry {
	return kmsg.AlterClientQuotasRequestEntry{Entity: e, Ops: quotaOps(ops...)}
}

const (
	produceRate = "producer_byte_rate"
	connectRate = "connection_creation_rate"
	requestTime = "request_percentage"
)

// quotaEntities are those that the stream sets quotas of.
func quotaEntities() [][]kmsg.AlterClientQuotasRequestEntryEntity {
	return [][]kmsg.AlterClientQuotasRequestEntryEntity{
		quotaEntity("user", "oracle-a"), quotaEntity("user", "oracle-a b/c%25ü=*"), quotaEntity("user", "<default>"),
		quotaEntity("user", "oracle-a", "client-id", "oracle-app"), quotaEntity("user", "oracle-a", "client-id", "*"),
		quotaEntity("user", "*", "client-id", "oracle-app"), quotaEntity("client-id", "oracle-app"),
		quotaEntity("ip", "10.9.8.7"), quotaEntity("ip", "fe80::1"),
	}
}

func alterQuotaSteps() []step {
	x := quotaEntity("user", "oracle-x")
	address := quotaEntity("ip", "10.9.8.7")
	var steps []step
	for _, e := range quotaEntities() {
		key := produceRate
		if e[0].Type == "ip" {
			key = connectRate
		}
		steps = append(steps, alterQuotas(fmt.Sprintf("set %s", quotaName(e)), false, quotaEntry(e, key, 1_000_000)))
	}
	refusals := []struct {
		name  string
		entry kmsg.AlterClientQuotasRequestEntry
	}{
		{"of nobody", quotaEntry(nil, produceRate, 1)},
		{"of an empty user", quotaEntry(quotaEntity("user", ""), produceRate, 1)},
		{"of an empty client id", quotaEntry(quotaEntity("client-id", ""), produceRate, 1)},
		{"of an empty address", quotaEntry(quotaEntity("ip", ""), connectRate, 1)},
		{"of an odd type", quotaEntry(quotaEntity("planet", "x"), produceRate, 1)},
		{"of no type", quotaEntry(quotaEntity("", "x"), produceRate, 1)},
		{"of a user and an address", quotaEntry(quotaEntity("user", "x", "ip", "10.9.8.7"), produceRate, 1)},
		{"of bytes of an address", quotaEntry(address, produceRate, 1)},
		{"of no address", quotaEntry(quotaEntity("ip", "999.1.1.1"), connectRate, 1)},
		{"of half a connection", quotaEntry(address, connectRate, 1.5)},
		{"of too many connections", quotaEntry(address, connectRate, 3e9)},
		{"of no connection", quotaEntry(address, connectRate, 0)},
		{"of an odd kind", quotaEntry(x, "nope", 1)},
		{"of connections of a user", quotaEntry(x, connectRate, 1)},
		{"of nothing", quotaEntry(x, produceRate, 0)},
		{"below nothing", quotaEntry(x, produceRate, -5)},
		{"of half a byte", quotaEntry(x, produceRate, 1000.5)},
		{"of nearly a byte", quotaEntry(x, produceRate, 0.9999999)},
		{"of too many bytes", quotaEntry(x, produceRate, 9.3e18)},
		{"of no number", quotaEntry(x, produceRate, math.NaN())},
		{"of infinite time", quotaEntry(x, requestTime, math.Inf(1))},
		{"below all", quotaEntry(x, requestTime, math.Inf(-1))},
		{"of nothing known twice", quotaEntry(x, produceRate, 5, produceRate, 6)},
	}
	for _, r := range refusals {
		steps = append(steps, alterQuotas("refused: "+r.name, false, r.entry))
	}
	return append(steps,
		alterQuotas("a fraction of time", false, quotaEntry(quotaEntity("user", "oracle-a"), requestTime, 99.5, "controller_mutation_rate", 1000.25)),
		alterQuotas("nearly a whole number", false, quotaEntry(quotaEntity("user", "oracle-a"), produceRate, 1_000_000.0000005)),
		alterQuotas("remove what is not there", false, quotaEntry(quotaEntity("user", "oracle-nobody"), produceRate, nil, "nope", nil)),
		alterQuotas("nothing of somebody", false, quotaEntry(quotaEntity("user", "oracle-nobody"))),
		alterQuotas("nothing", false),
		alterQuotas("validate", true, quotaEntry(x, produceRate, 5)),
		alterQuotas("validate a fault", true, quotaEntry(x, produceRate, -5)),
		alterQuotas("a type twice", false, quotaEntry(quotaEntity("user", "oracle-x", "user", "oracle-y"), produceRate, nil)),
		alterQuotas("an entity twice, and others", false,
			quotaEntry(quotaEntity("user", "oracle-twice", "client-id", "*"), produceRate, 5),
			quotaEntry(quotaEntity("client-id", "*", "user", "oracle-twice"), produceRate, 6),
			quotaEntry(x, produceRate, -5), quotaEntry(quotaEntity("user", "oracle-other"), produceRate, nil)),
	)
}

func describeQuotaSteps() []step {
	describe := func(name string, strict bool, components ...kmsg.DescribeClientQuotasRequestComponent) step {
		return step{name: "describe " + name, min: 0, max: 1, capture: sortQuotas, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeClientQuotasRequest()
			r.Components, r.Strict = components, strict
			return r
		}}
	}
	match := func(kind string, how kmsg.QuotasMatchType, name ...string) kmsg.DescribeClientQuotasRequestComponent {
		c := kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: how}
		if len(name) > 0 {
			c.Match = &name[0]
		}
		return c
	}
	const exact, byDefault, any = kmsg.QuotasMatchTypeExact, kmsg.QuotasMatchTypeDefault, kmsg.QuotasMatchTypeAny
	return []step{
		describe("all", false),
		describe("all strictly", true),
		describe("users", true, match("user", any)),
		describe("users and more", false, match("user", any)),
		describe("a user", true, match("user", exact, "oracle-a")),
		describe("a user and more", false, match("user", exact, "oracle-a")),
		describe("a user who is called so", true, match("user", exact, "<default>")),
		describe("the default user", true, match("user", byDefault)),
		describe("the default user and more", false, match("user", byDefault)),
		describe("pairs", true, match("user", any), match("client-id", any)),
		describe("pairs with the default", true, match("user", any), match("client-id", byDefault)),
		describe("addresses", true, match("ip", any)),
		describe("nobody", true, match("user", exact, "oracle-nobody")),
		describe("by null", true, match("user", exact)),
		describe("a default with a name", true, match("user", byDefault, "x")),
		describe("any with a name", true, match("user", any, "x")),
		describe("an odd match", true, match("user", 7)),
		describe("a negative match", true, match("user", -1, "x")),
		describe("a type twice", true, match("user", any), match("user", exact, "x"), match("planet", 9)),
		describe("no type", true, match("", 9)),
		describe("an odd type", true, match("planet", 9)),
		describe("users and addresses", true, match("user", any), match("ip", any)),
	}
}

func clearQuotaSteps() []step {
	var steps []step
	for _, e := range append(quotaEntities(), quotaEntity("user", "oracle-twice", "client-id", "*")) {
		steps = append(steps, alterQuotas("remove "+quotaName(e), false,
			quotaEntry(e, produceRate, nil, connectRate, nil, requestTime, nil, "controller_mutation_rate", nil)))
	}
	return steps
}

func quotaName(e []kmsg.AlterClientQuotasRequestEntryEntity) string {
	var parts []string
	for _, c := range e {
		part := c.Type
		if c.Name != nil {
			part += " " + *c.Name
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

// sortQuotas undoes the order of Kafka's hash tables.
func sortQuotas(_ *side, resp kmsg.Response) {
	text := func(kind string, name *string) string {
		if name == nil {
			return kind
		}
		return kind + "=" + *name
	}
	switch r := resp.(type) {
	case *kmsg.DescribeClientQuotasResponse:
		names := func(e kmsg.DescribeClientQuotasResponseEntry) string {
			var all []string
			for _, c := range e.Entity {
				all = append(all, text(c.Type, c.Name))
			}
			return strings.Join(all, " ")
		}
		for _, e := range r.Entries {
			slices.SortFunc(e.Entity, func(a, b kmsg.DescribeClientQuotasResponseEntryEntity) int { return cmp.Compare(a.Type, b.Type) })
			slices.SortFunc(e.Values, func(a, b kmsg.DescribeClientQuotasResponseEntryValue) int { return cmp.Compare(a.Key, b.Key) })
		}
		slices.SortFunc(r.Entries, func(a, b kmsg.DescribeClientQuotasResponseEntry) int { return cmp.Compare(names(a), names(b)) })
	case *kmsg.AlterClientQuotasResponse:
		names := func(e kmsg.AlterClientQuotasResponseEntry) string {
			var all []string
			for _, c := range e.Entity {
				all = append(all, text(c.Type, c.Name))
			}
			return strings.Join(all, " ")
		}
		for _, e := range r.Entries {
			slices.SortFunc(e.Entity, func(a, b kmsg.AlterClientQuotasResponseEntryEntity) int { return cmp.Compare(a.Type, b.Type) })
		}
		slices.SortFunc(r.Entries, func(a, b kmsg.AlterClientQuotasResponseEntry) int { return cmp.Compare(names(a), names(b)) })
	}
}
