package acls

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// longest bounds the texts of one ACL together, in bytes: many times what names of
// resources and principals need.
const longest = 4096

// lastOperation is TWO_PHASE_COMMIT (KIP-939), the last that Kafka 4.4 has; the codec
// has no name for it.
const lastOperation = kmsg.ACLOperation(15)

// within returns a value, and the zero value, Kafka's UNKNOWN, for one that Kafka
// does not know.
func within[T ~int8](v, last T) T {
	if v < 0 || v > last {
		return 0
	}
	return v
}

// principalOf returns who an ACL is about.
func principalOf(acl security.ACL) security.Principal {
	kind, name, _ := strings.Cut(acl.Principal, ":")
	return security.Principal{Type: kind, Name: name}
}

// check says what is wrong with an ACL that is to be created, in Kafka's words and
// in its order.
func check(acl security.ACL) error {
	invalid := func(format string, args ...any) error { return security.Refuse(kerr.InvalidRequest, format, args...) }
	isCluster := acl.Type == kmsg.ACLResourceTypeCluster
	switch t := within(acl.Type, kmsg.ACLResourceTypeUser); {
	case isCluster && acl.Name != security.ClusterName:
		return invalid("The only valid name for the CLUSTER resource is %s", security.ClusterName)
	case acl.Name == "":
		return invalid("Invalid empty resource name")
	case t <= kmsg.ACLResourceTypeAny:
		return invalid("Invalid resourceType %s", t)
	}
	if p := within(acl.Pattern, kmsg.ACLResourcePatternTypePrefixed); p < kmsg.ACLResourcePatternTypeLiteral {
		return invalid("Invalid patternType %s", p)
	}
	if op := within(acl.Operation, lastOperation); op <= kmsg.ACLOperationAny {
		return invalid("Invalid operation %s", op)
	}
	if p := within(acl.Permission, kmsg.ACLPermissionTypeAllow); p <= kmsg.ACLPermissionTypeAny {
		return invalid("Invalid permissionType %s", p)
	}
	return checkTexts(acl, invalid)
}

func checkTexts(acl security.ACL, invalid func(string, ...any) error) error {
	size := 0
	for _, text := range []string{acl.Name, acl.Principal, acl.Host} {
		size += len(text)
		if !utf8.ValidString(text) {
			return invalid("%q is not UTF-8", text)
		}
	}
	switch {
	case size > longest:
		return invalid("The texts of an ACL have %d bytes together, limit %d", size, longest)
	case !strings.Contains(acl.Principal, ":"):
		return invalid("Could not parse principal from `%s` (no colon is present separating the principal type from the principal name)", acl.Principal)
	case acl.Host == "":
		return invalid("Host pattern cannot be null or empty")
	case strings.Contains(acl.Host, "/"):
		if _, fault := parseNetwork(acl.Host); fault != "" {
			return invalid("Invalid CIDR notation '%s': %s", acl.Host, fault)
		}
	}
	return nil
}

// Compare orders ACLs by resource, and those of one by principal, host and what they
// say.
func Compare(a, b security.ACL) int {
	return cmp.Or(
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Pattern, b.Pattern),
		cmp.Compare(a.Principal, b.Principal),
		cmp.Compare(a.Host, b.Host),
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Permission, b.Permission),
	)
}
