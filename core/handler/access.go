package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// Listener is one address that clients connect to.
type Listener struct {
	// Name is the listener's name in the configuration.
	Name string
	// Protocol is how it secures connections: "PLAINTEXT", "SASL_SSL".
	Protocol string
	// Host and Port are where its clients are told to connect to.
	Host string
	Port int32
}

// Access decides what one caller may do.
type Access interface {
	// Authorize reports whether the caller may do op on the resource. A denial is
	// audited unless quiet.
	Authorize(ctx context.Context, op kmsg.ACLOperation, on security.Resource, quiet bool) bool
	// AuthorizeAny is Authorize for at least one resource of a type.
	AuthorizeAny(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool
}

// Login is the SASL login of one connection (KIP-43, KIP-152, KIP-368).
type Login interface {
	// Versions notes that ApiVersions is answered without an error: before a login
	// that may happen once.
	Versions()
	// Handshake answers SaslHandshake: the mechanisms that the listener has, and
	// the code. After version 0 bare tokens follow, after version 1 the key
	// SaslAuthenticate.
	Handshake(version int16, mechanism string) (mechanisms []string, code int16)
	// Authenticate answers a token of the client.
	Authenticate(ctx context.Context, token []byte) Authenticated
}

// Authenticated is the answer to one token.
type Authenticated struct {
	Code    int16
	Message string // for the client, with a code
	Token   []byte // the server's; never nil without a code
	// Lifetime is how long the login is good for, once it is complete; zero has no
	// end.
	Lifetime int64 // ms
	// Err closes the connection in place of any answer: the token was no part of a
	// login, or nobody could tell whether it is right, which must not look as if it
	// were wrong.
	Err error
}

// Check is something that a handler asks an authorizer. Declared checks are the
// table of what each key needs; a handler that asks anything else fails its
// conformance.
type Check struct {
	Operation kmsg.ACLOperation
	Resource  kmsg.ACLResourceType
	// Of names the resources that are asked about: "each topic", "the group".
	// Empty for the cluster.
	Of string
	// Code is what a refusal answers; 0 where what is refused is left out.
	Code int16
	// When says in which cases the check is made, as "by replicas"; empty for
	// always. "or else" begins a check that is made when the one before it fails,
	// of which one must hold.
	When string
	// Any marks AllowedAny.
	Any bool
}

// Allowed reports whether the caller may do op on a resource. A denial is audited,
// so it is asked only where a refusal will be told to the client; see Shown.
func (c Call) Allowed(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType, name string) bool {
	return c.Access == nil || c.Access.Authorize(ctx, op, security.Resource{Type: on, Name: name}, false)
}

// AllowedCluster is Allowed for the cluster.
func (c Call) AllowedCluster(ctx context.Context, op kmsg.ACLOperation) bool {
	return c.Access == nil || c.Access.Authorize(ctx, op, security.Cluster, false)
}

// Shown is Allowed without an audit: for what is silently left out of an answer,
// and for the first of two checks of which one must hold.
func (c Call) Shown(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType, name string) bool {
	return c.Access == nil || c.Access.Authorize(ctx, op, security.Resource{Type: on, Name: name}, true)
}

// ShownCluster is Shown for the cluster.
func (c Call) ShownCluster(ctx context.Context, op kmsg.ACLOperation) bool {
	return c.Access == nil || c.Access.Authorize(ctx, op, security.Cluster, true)
}

// AllowedAny reports whether the caller may do op on at least one resource of a
// type. A denial is audited.
func (c Call) AllowedAny(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return c.Access == nil || c.Access.AuthorizeAny(ctx, op, on)
}

// OmittedOperations stands in answers whose client did not ask for authorized
// operations (KIP-430).
const OmittedOperations = -1 << 31

// operations lists what can be done to each type of resource, in Kafka's order.
var operations = map[kmsg.ACLResourceType][]kmsg.ACLOperation{
	kmsg.ACLResourceTypeTopic: {
		kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationCreate, kmsg.ACLOperationDelete, kmsg.ACLOperationAlter,
		kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs,
	},
	kmsg.ACLResourceTypeGroup: {
		kmsg.ACLOperationRead, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribe,
		kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs,
	},
	kmsg.ACLResourceTypeCluster: {
		kmsg.ACLOperationCreate, kmsg.ACLOperationAlter, kmsg.ACLOperationDescribe, kmsg.ACLOperationClusterAction,
		kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationIdempotentWrite,
	},
}

// Operations returns the authorized operations of the caller on a resource, as the
// bit set of KIP-430: bit n for the operation with the number n. Nothing is
// audited.
func (c Call) Operations(ctx context.Context, on kmsg.ACLResourceType, name string) int32 {
	var set int32
	for _, op := range operations[on] {
		if c.Shown(ctx, op, on, name) {
			set |= 1 << op
		}
	}
	return set
}
