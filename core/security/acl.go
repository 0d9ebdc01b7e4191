package security

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ACL is one entry of an access control list (KIP-11, KIP-290).
type ACL struct {
	Type    kmsg.ACLResourceType
	Pattern kmsg.ACLResourcePatternType // literal or prefixed
	Name    string                      // "*" with a literal pattern means all of the type
	// Principal is "Type:name"; "User:*" means everybody.
	Principal string
	// Host is an address, or "*" for all.
	Host       string
	Operation  kmsg.ACLOperation
	Permission kmsg.ACLPermissionType
}

// ACLFilter chooses ACLs. A nil text matches any, and so do the values "any" of
// the types; a pattern "match" takes every ACL that concerns the resource Name.
type ACLFilter struct {
	Type       kmsg.ACLResourceType
	Pattern    kmsg.ACLResourcePatternType
	Name       *string
	Principal  *string
	Host       *string
	Operation  kmsg.ACLOperation
	Permission kmsg.ACLPermissionType
}

// ACLs is an authorizer's list of ACLs, as the keys 29 to 31 manage it. An error
// of type *kerr.Error becomes that code, with the error's text; any other is the
// backend's and goes through errcode. ACLs that were created are in force when
// the call returns, and so are deletions.
type ACLs interface {
	// DescribeACLs returns the ACLs that a filter chooses, sorted.
	DescribeACLs(ctx context.Context, filter ACLFilter) ([]ACL, error)
	// CreateACLs adds ACLs, one error each; one that exists already is no error.
	CreateACLs(ctx context.Context, acls []ACL) []error
	// DeleteACLs removes what each filter chooses, and returns it.
	DeleteACLs(ctx context.Context, filters []ACLFilter) []DeletedACLs
}

// DeletedACLs is what one filter chose. Err fails the filter as a whole.
type DeletedACLs struct {
	ACLs []ACL
	Err  error
}
