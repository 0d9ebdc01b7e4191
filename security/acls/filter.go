package acls

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// checkFilter says what is wrong with a filter of ACLs to delete. One that describes
// may hold values that nobody knows: it chooses nothing.
func checkFilter(f security.ACLFilter) error {
	switch {
	case within(f.Type, kmsg.ACLResourceTypeUser) == 0, within(f.Pattern, kmsg.ACLResourcePatternTypePrefixed) == 0:
		return security.Refuse(kerr.InvalidRequest, "Unknown patternFilter.")
	case within(f.Operation, lastOperation) == 0, within(f.Permission, kmsg.ACLPermissionTypeAllow) == 0:
		return security.Refuse(kerr.InvalidRequest, "Unknown entryFilter.")
	}
	return nil
}

// Chooses reports whether a filter chooses an ACL (Kafka's AclBindingFilter.matches).
func Chooses(f security.ACLFilter, acl security.ACL) bool {
	return (f.Type == kmsg.ACLResourceTypeAny || f.Type == acl.Type) &&
		choosesPattern(f, acl) &&
		(f.Principal == nil || *f.Principal == acl.Principal) &&
		(f.Host == nil || *f.Host == acl.Host) &&
		(f.Operation == kmsg.ACLOperationAny || f.Operation == acl.Operation) &&
		(f.Permission == kmsg.ACLPermissionTypeAny || f.Permission == acl.Permission)
}

func choosesPattern(f security.ACLFilter, acl security.ACL) bool {
	concerns := f.Pattern == kmsg.ACLResourcePatternTypeMatch
	switch {
	case f.Pattern != kmsg.ACLResourcePatternTypeAny && !concerns && f.Pattern != acl.Pattern:
		return false
	case f.Name == nil || *f.Name == acl.Name:
		return true
	case !concerns:
		return false
	case acl.Pattern == kmsg.ACLResourcePatternTypePrefixed:
		return strings.HasPrefix(*f.Name, acl.Name)
	}
	return acl.Name == anyName
}
