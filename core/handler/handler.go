// Package handler is the contract between the gateway and the code that
// answers one Kafka API key.
//
// # Errors
//
// A handler has two ways to fail, and they mean different things to a client:
//
//   - A Kafka error is data. It is a code inside the response, in the place
//     the key's layout has for it, and the connection stays open.
//   - A Go error closes the connection without a byte. It is for answers that
//     must not or cannot be given: a reply above the frame limit, a broken
//     invariant. The server logs it once; the handler does not log it. One that
//     a client causes as often as it likes is a [Refusal].
//
// A response of nil together with a nil error means that no reply is due. Only
// Produce with acks=0 may do that: on every other key the client would wait
// for ever, and the answers to its later requests would be taken for this one.
//
// # What a handler may rely on
//
// The request passed to Handle has been checked by the handler's own
// [guard.Shape] and decoded at a version within its [Range]. Its []byte fields
// alias the frame: they are valid until Handle returns, and the handler may
// write to them; who keeps bytes longer clones them. Strings are copies. The
// context ends when the client goes away. Handle is called from many
// goroutines at once, but never twice at once for one connection.
//
// # What a handler must not do
//
// Set the version of its response (the dispatcher does), start goroutines that
// outlive Handle, or reach for the connection: nothing here leads to it.
package handler

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/security"
)

// Handler answers the requests of one API key. [New] makes one from a typed
// function; nothing outside this package has reason to implement it otherwise,
// except a wrapper that embeds one.
type Handler interface {
	// Spec describes the handler. It must return the same value at every call.
	Spec() Spec
	// NewRequest returns an empty request of the handler's key.
	NewRequest() kmsg.Request
	// Handle answers one request; see the package comment for its duties. The
	// response must be of the type that the request's ResponseKind gives.
	Handle(context.Context, Call, kmsg.Request) (kmsg.Response, error)
}

// Range is a span of versions of one API key, both ends included.
type Range struct{ Key, Min, Max int16 }

// Contains reports whether version lies in the range.
func (r Range) Contains(version int16) bool { return r.Min <= version && version <= r.Max }

// Spec is what the dispatcher and ApiVersions need to know of a handler.
type Spec struct {
	// Range holds the versions that the handler answers.
	Range
	// AdvertisedMin is the lowest version that ApiVersions shows. It differs
	// from Min only for Produce, where some clients read a minimum above 0 as
	// "no compression"; a version below Min is still refused.
	AdvertisedMin int16
	// Hidden leaves the key out of ApiVersions, though it is answered: for keys
	// that clients had better not ask for on their own, as the gateway is
	// configured.
	Hidden bool
	// Shape describes the request body of every served version. Bodies are
	// checked against it before they are decoded.
	Shape guard.Shape
	// BadRequest says what a body gets that does not fit Shape, or does not
	// decode. The zero Policy is refused at start-up: every handler chooses.
	BadRequest Policy
	// Unsupported answers a version outside Range, as ApiVersions must so that
	// clients can negotiate. The response is sent at the version it carries.
	// Nil closes the connection, as Kafka does.
	Unsupported func(Call) kmsg.Response
	// EncodedSize estimates the encoded length in bytes of a response, for keys
	// whose answers are long: a buffer of that size is taken at once in place of one
	// that grows. Parts count by what the response holds in their place then. Nil suits
	// every other key.
	EncodedSize func(kmsg.Response) int
	// Parts names the large parts of a response, such as records: byte fields that
	// its version has, in the order in which they are encoded. Where they are large
	// the answer is sent from where they lie, in place of a copy of them. Nil suits
	// every other key.
	Parts func(resp kmsg.Response, each func(part *[]byte))
	// BeforeLogin serves the key to clients that have yet to log in, where the
	// listener asks for it. All other keys close the connection then.
	BeforeLogin bool
	// Checks lists what the handler asks of [Call.Allowed] and its kin.
	Checks []Check
	// Uses is the quota that the key's bytes count for, if any: of the request for
	// security.ProducedBytes, of the answer for security.FetchedBytes.
	Uses security.QuotaKind
	// Throttled makes, of an answer to a client that is over a quota, the one that is
	// sent in its place; its bytes are not charged then. It may change its argument.
	// Nil sends the answer as it is.
	Throttled func(kmsg.Response) kmsg.Response
	// Unmetered frees the key from quotas.
	Unmetered bool
	// Origin names the function that answers, for start-up errors.
	Origin string
}

// Advertised returns the range that ApiVersions shows for the handler.
func (s Spec) Advertised() Range { return Range{s.Key, s.AdvertisedMin, s.Max} }

// Call holds the facts about one request that are not in its body. It is
// passed by value and offers no way back to the connection.
type Call struct {
	// ClientID is the header's client id; null and absent read as "".
	ClientID string
	// Host is the peer's address as Kafka writes it: "/10.0.0.7".
	Host string
	// Principal is who asks: security.Anonymous where nobody has to log in.
	Principal security.Principal
	// Listener is where the request came in.
	Listener Listener
	// Access decides what the caller may do; see Allowed. Nil allows everything,
	// as a gateway without an authorizer does.
	Access Access
	// Account is what quotas leave to the caller; see Change and MaxBytes. Nil bounds
	// nothing, as a gateway without quotas does.
	Account Account
	// Login is the login of the connection. Nil where the listener has none.
	Login Login
	// MaxFrame is the largest reply in bytes, its 4-byte length prefix not
	// counted. Above it the connection closes, so an answer whose size depends
	// on stored state is priced before it is built.
	MaxFrame int
	// APIs lists what ApiVersions answers: one row a key, sorted by key.
	APIs []Range
	// Memory charges the process-wide budget for what the call holds until its
	// answer is written. Nil charges nothing, which is what tests want.
	Memory Memory
	// Drain ends when the gateway shuts down. Nil never ends.
	Drain context.Context
	// Waited adds up how long the call was parked; see Park. Nil adds up nothing.
	Waited *time.Duration
}

// Memory is the part of the memory budget that one request holds.
type Memory interface {
	// Reserve charges bytes until the answer to the request is written. It
	// waits for a while when the budget is spent, and then fails; the handler
	// returns that error as it is, which closes the connection.
	Reserve(ctx context.Context, bytes int64) error
	// Buffer lends a slice of n bytes, with whatever contents, until the
	// answer to the request is written. It is for large parts of a response, which
	// would be garbage otherwise. It reserves 2n bytes at once: what is lent may
	// take up to twice as much, and small parts are copied into the answer.
	Buffer(ctx context.Context, n int) ([]byte, error)
}

// Reserve charges bytes to the call's memory budget; see [Memory].
func (c Call) Reserve(ctx context.Context, bytes int64) error {
	if c.Memory == nil {
		return nil
	}
	return c.Memory.Reserve(ctx, bytes)
}

// Buffer lends n bytes for a part of the response; see [Memory].
func (c Call) Buffer(ctx context.Context, n int) ([]byte, error) {
	if c.Memory == nil {
		return make([]byte, n), nil
	}
	return c.Memory.Buffer(ctx, n)
}

// Park returns a context for a wait: it ends with ctx, and also as soon as the
// gateway starts to shut down, so that whoever waits answers instead of holding
// up the drain. Work that must be finished keeps using ctx. The function ends the
// wait; until then the time counts as waited. It is called once, before Handle
// returns.
func (c Call) Park(ctx context.Context) (context.Context, context.CancelFunc) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	stop := func() bool { return true }
	if c.Drain != nil {
		stop = context.AfterFunc(c.Drain, cancel)
	}
	return ctx, func() {
		stop()
		cancel()
		if c.Waited != nil {
			*c.Waited += time.Since(began)
		}
	}
}
