// Package security is the contract between the gateway and whatever decides who
// its clients are and what they may do: principals, authorizers, ACLs, SCRAM
// credentials, quotas, and the record of what was refused. It holds values and
// interfaces; the rooms below security/ implement them, and securitytest there
// has a suite for each.
//
// Operations, resource types, permissions and patterns are the codec's own types
// (kmsg.ACLOperation and its kin), which are Kafka's numbers.
package security

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrUnavailable marks errors of logins after which nobody knows whether the client proved
// who it is.
var ErrUnavailable = errors.New("the login could not be checked")

// UserType is the type of every principal that Kafka itself knows.
const UserType = "User"

// Principal is who a client is: "User:alice".
type Principal struct{ Type, Name string }

// Anonymous is a client that has not said who it is: every client of a PLAINTEXT
// listener, and one of an SSL listener that shows no certificate.
var Anonymous = User("ANONYMOUS")

// User returns the principal of a user name.
func User(name string) Principal { return Principal{UserType, name} }

// String returns "Type:name", as ACLs and logs write it.
func (p Principal) String() string { return p.Type + ":" + p.Name }

// ParsePrincipal reads "Type:name". The name may hold colons.
func ParsePrincipal(s string) (Principal, error) {
	kind, name, found := strings.Cut(s, ":")
	if !found || kind == "" || name == "" {
		return Principal{}, fmt.Errorf("%q is no principal: write User:name", s)
	}
	return Principal{kind, name}, nil
}

// Requester is who asks, for one request.
type Requester struct {
	Principal Principal
	// Host is the address without a slash: "10.0.0.7", as ACLs name hosts.
	Host string
	// Listener is the name of the listener that the request came to.
	Listener string
	// ClientID is what the request's header says, of any length and content.
	ClientID string
}

// Resource is something that can be allowed or denied. A cluster has the name
// ClusterName.
type Resource struct {
	Type kmsg.ACLResourceType
	Name string
}

// ClusterName is the name of the only resource of type cluster.
const ClusterName = "kafka-cluster"

// Cluster is the cluster as a resource.
var Cluster = Resource{kmsg.ACLResourceTypeCluster, ClusterName}

// Authorizer decides what principals may do. It is asked several times for most
// requests, from many goroutines at once: it answers from memory wherever it can,
// and never yes because it could not find out. Every implementation passes
// securitytest.Authorizers.
type Authorizer interface {
	// Authorize reports whether who may do op on the resource.
	Authorize(ctx context.Context, who Requester, op kmsg.ACLOperation, on Resource) bool
	// AuthorizeAny reports whether who may do op on at least one resource of a
	// type that could exist (KIP-679).
	AuthorizeAny(ctx context.Context, who Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool
}

// Audit records what was refused, for operators: one line each, so many of a kind
// and no more, without secrets. Its methods do not block and keep nothing that
// they are given.
type Audit interface {
	// LoginRefused tells of a failed login. why is for the operator, and may say
	// more than the client was told. One that is ErrUnavailable says that the login
	// could not be checked, which is no refusal. mechanism is one that the listener
	// offers, or "unknown".
	LoginRefused(who Requester, mechanism, user string, why error)
	// Denied tells of an operation that an authorizer denied to a request of an
	// API key.
	Denied(who Requester, key kmsg.Key, op kmsg.ACLOperation, on Resource)
	// ConnectionRefused tells of a connection that the gateway ended before its first
	// request was served: a TLS handshake that failed, a limit that was reached, a request
	// before the login. Those that hang up by themselves are not told of. The client's id is empty where no request has told it.
	ConnectionRefused(who Requester, why error)
}
