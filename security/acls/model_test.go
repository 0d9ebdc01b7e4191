package acls

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/security"
)

// model is a list of ACLs that is read from the first to the last, as Kafka's
// documentation says it.
type model struct {
	acls        []security.ACL
	allowIfNone bool
}

func (m model) authorize(who security.Principal, host string, op kmsg.ACLOperation, on security.Resource) bool {
	concerned, allowed := false, false
	for _, a := range m.acls {
		if !concerns(a, on) {
			continue
		}
		concerned = true
		if !about(a, who, host) {
			continue
		}
		if a.Permission == kmsg.ACLPermissionTypeDeny && (a.Operation == op || a.Operation == kmsg.ACLOperationAll) {
			return false
		}
		if a.Permission == kmsg.ACLPermissionTypeAllow && allows(a.Operation, op) {
			allowed = true
		}
	}
	return allowed || !concerned && m.allowIfNone
}

// authorizeAny is Kafka's Authorizer.authorizeByResourceType, line by line.
func (m model) authorizeAny(who security.Principal, host string, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	if m.authorize(who, host, op, security.Resource{Type: on, Name: "hardcode"}) {
		return true
	}
	var allow, deny []security.ACL
	for _, a := range m.acls {
		switch {
		case a.Type != on || !about(a, who, host) || a.Operation != op && a.Operation != kmsg.ACLOperationAll:
		case a.Permission == kmsg.ACLPermissionTypeDeny:
			deny = append(deny, a)
		default:
			allow = append(allow, a)
		}
	}
	everything := func(a security.ACL) bool {
		return a.Pattern == kmsg.ACLResourcePatternTypeLiteral && a.Name == "*"
	}
	if slices.ContainsFunc(deny, everything) {
		return false
	}
	return slices.ContainsFunc(allow, func(a security.ACL) bool {
		return everything(a) || !slices.ContainsFunc(deny, func(d security.ACL) bool {
			if d.Pattern == kmsg.ACLResourcePatternTypeLiteral {
				return a.Pattern == d.Pattern && a.Name == d.Name
			}
			return strings.HasPrefix(a.Name, d.Name)
		})
	})
}

func concerns(a security.ACL, on security.Resource) bool {
	if a.Type != on.Type {
		return false
	}
	if a.Pattern == kmsg.ACLResourcePatternTypePrefixed {
		return strings.HasPrefix(on.Name, a.Name)
	}
	return a.Name == on.Name || a.Name == "*"
}

func about(a security.ACL, who security.Principal, host string) bool {
	if a.Principal != "User:*" && a.Principal != who.String() {
		return false
	}
	if network, err := netip.ParsePrefix(a.Host); err == nil {
		return network.Contains(netip.MustParseAddr(host))
	}
	return a.Host == "*" || a.Host == host
}

func allows(allowed, op kmsg.ACLOperation) bool {
	switch op {
	case kmsg.ACLOperationDescribe:
		return slices.Contains([]kmsg.ACLOperation{
			kmsg.ACLOperationAll, op, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDelete, kmsg.ACLOperationAlter,
		}, allowed)
	case kmsg.ACLOperationDescribeConfigs:
		return allowed == kmsg.ACLOperationAll || allowed == op || allowed == kmsg.ACLOperationAlterConfigs
	}
	return allowed == kmsg.ACLOperationAll || allowed == op
}

// What is drawn is from few values, so that ACLs meet each other and the questions.
var (
	someUsers    = rapid.SampledFrom([]string{"User:a", "User:a", "User:a", "User:*", "User:b", "Group:a", "User:"})
	someHosts    = rapid.SampledFrom([]string{"*", "*", "*", "10.0.0.1", "10.0.0.2", "10.0.0.0/31", "::1", "2001:db8::/32"})
	someNames    = rapid.SampledFrom([]string{"*", "*", "a", "aa", "ab", "aba", "abb", "b", "ba", "bb", "h", "hardcode"})
	someTypes    = rapid.SampledFrom([]kmsg.ACLResourceType{kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup})
	somePatterns = rapid.SampledFrom([]kmsg.ACLResourcePatternType{kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLResourcePatternTypePrefixed})
	permissions  = rapid.SampledFrom([]kmsg.ACLPermissionType{kmsg.ACLPermissionTypeAllow, kmsg.ACLPermissionTypeAllow, kmsg.ACLPermissionTypeDeny})
	operations   = rapid.OneOf(
		rapid.SampledFrom([]kmsg.ACLOperation{kmsg.ACLOperationRead, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationAll}),
		rapid.Map(rapid.Int8Range(2, int8(lastOperation)), func(n int8) kmsg.ACLOperation { return kmsg.ACLOperation(n) }),
	)
)

// What is asked of every list.
var (
	askedBy = []security.Principal{security.User("a"), security.User("c"), {Type: "Group", Name: "a"}, security.User("")}
	askedAt = []string{"10.0.0.1", "10.0.0.2", "::1", "2001:db8::7"}
	askedOf = []string{"a", "aa", "aab", "ab", "aba", "abab", "b", "bab", "c", "*", "hardcode", ""}
)

func drawACL(t *rapid.T) security.ACL {
	return security.ACL{
		Type:       someTypes.Draw(t, "type"),
		Pattern:    somePatterns.Draw(t, "pattern"),
		Name:       someNames.Draw(t, "name"),
		Principal:  someUsers.Draw(t, "principal"),
		Host:       someHosts.Draw(t, "host"),
		Operation:  operations.Draw(t, "operation"),
		Permission: permissions.Draw(t, "permission"),
	}
}

// The index answers as the list that is read from the first to the last.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := model{
			acls:        rapid.SliceOfNDistinct(rapid.Custom(drawACL), 0, 12, rapid.ID[security.ACL]).Draw(t, "ACLs"),
			allowIfNone: rapid.Bool().Draw(t, "allow if none"),
		}
		ix := newIndex(m.acls)
		for _, who := range askedBy {
			for _, host := range askedAt {
				for op := kmsg.ACLOperationRead; op <= lastOperation; op++ {
					same(t, m, ix, who, host, op)
				}
			}
		}
	})
}

// same asks the model and the index about all names, and about any.
func same(t *rapid.T, m model, ix *index, who security.Principal, host string, op kmsg.ACLOperation) {
	const topic = kmsg.ACLResourceTypeTopic
	for _, name := range askedOf {
		on := security.Resource{Type: topic, Name: name}
		if got, want := ix.authorize(&client{principal: who, host: host}, op, on, m.allowIfNone), m.authorize(who, host, op, on); got != want {
			t.Fatalf("%s from %s %s topic %q: %v, want %v", who, host, op, name, got, want)
		}
	}
	if got, want := ix.authorizeAny(&client{principal: who, host: host}, op, topic, m.allowIfNone), m.authorizeAny(who, host, op, topic); got != want {
		t.Fatalf("%s from %s %s any topic: %v, want %v", who, host, op, got, want)
	}
}

// A list to which ACLs are added and from which they are removed answers as one that
// had the result from the start.
func TestChangesModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := New(newMemory(), Config{Max: 1000})
		if err := l.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		var acls []security.ACL
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			if rapid.Bool().Draw(t, "create") {
				some := rapid.SliceOfN(rapid.Custom(drawACL), 0, 4).Draw(t, "some")
				for i, err := range l.CreateACLs(t.Context(), some) {
					if err == nil && !slices.Contains(acls, some[i]) {
						acls = append(acls, some[i])
					}
				}
				continue
			}
			for range 10 {
				describesAs(t, l, acls, drawFilter(t))
			}
			f := drawFilter(t)
			chosen := describesAs(t, l, acls, f)
			deleted := l.DeleteACLs(t.Context(), []security.ACLFilter{f})[0]
			if !slices.Equal(deleted.ACLs, chosen) || deleted.Err != nil {
				t.Fatalf("%+v\ndeletes %v, %v\nwant %v", f, deleted.ACLs, deleted.Err, chosen)
			}
			acls = slices.DeleteFunc(acls, func(a security.ACL) bool { return slices.Contains(chosen, a) })
		}
		slices.SortFunc(acls, Compare)
		if found, _ := l.DescribeACLs(t.Context(), everything()); !slices.Equal(found, acls) {
			t.Fatalf("the list is %v, want %v", found, acls)
		}
	})
}

// describesAs compares what a filter chooses of a list with what it chooses of acls, and
// returns that.
func describesAs(t *rapid.T, l *List, acls []security.ACL, f security.ACLFilter) (chosen []security.ACL) {
	for _, a := range acls {
		if matches(f, a) {
			chosen = append(chosen, a)
		}
	}
	slices.SortFunc(chosen, Compare)
	if found, err := l.DescribeACLs(t.Context(), f); err != nil || !slices.Equal(found, chosen) {
		t.Fatalf("%+v\nchooses %v, %v\nwant %v", f, found, err, chosen)
	}
	return chosen
}

func drawFilter(t *rapid.T) security.ACLFilter {
	return security.ACLFilter{
		Type:       rapid.SampledFrom([]kmsg.ACLResourceType{1, 1, 2, 3}).Draw(t, "type"),
		Pattern:    kmsg.ACLResourcePatternType(rapid.Int8Range(1, 4).Draw(t, "pattern")),
		Name:       rapid.Ptr(someNames, true).Draw(t, "name"),
		Principal:  rapid.Ptr(someUsers, true).Draw(t, "principal"),
		Host:       rapid.Ptr(someHosts, true).Draw(t, "host"),
		Operation:  rapid.SampledFrom([]kmsg.ACLOperation{1, 1, 2, 3}).Draw(t, "operation"),
		Permission: rapid.SampledFrom([]kmsg.ACLPermissionType{1, 1, 2, 3}).Draw(t, "permission"),
	}
}

// matches is what KIP-290 says of filters.
func matches(f security.ACLFilter, a security.ACL) bool {
	switch {
	case f.Type != kmsg.ACLResourceTypeAny && f.Type != a.Type,
		f.Operation != kmsg.ACLOperationAny && f.Operation != a.Operation,
		f.Permission != kmsg.ACLPermissionTypeAny && f.Permission != a.Permission,
		f.Principal != nil && *f.Principal != a.Principal,
		f.Host != nil && *f.Host != a.Host:
		return false
	}
	switch f.Pattern {
	case kmsg.ACLResourcePatternTypeAny:
		return f.Name == nil || *f.Name == a.Name
	case kmsg.ACLResourcePatternTypeMatch:
		return f.Name == nil || concerns(a, security.Resource{Type: a.Type, Name: *f.Name})
	}
	return f.Pattern == a.Pattern && (f.Name == nil || *f.Name == a.Name)
}
