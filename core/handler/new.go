package handler

import (
	"context"
	"reflect"
	"runtime"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/security"
)

// Req ties a request type to its response by kmsg's own RequestWith method, so
// that a function which answers a request with the response of another key
// does not compile.
type Req[T any, R kmsg.Response] interface {
	*T
	kmsg.Request
	RequestWith(context.Context, kmsg.Requestor) (R, error)
}

// Option changes the Spec of a handler under construction.
type Option func(*Spec)

// AdvertiseFrom makes ApiVersions show the range as starting at min.
func AdvertiseFrom(min int16) Option { return func(s *Spec) { s.AdvertisedMin = min } }

// HiddenIf leaves the key out of ApiVersions if hidden; see [Spec.Hidden].
func HiddenIf(hidden bool) Option { return func(s *Spec) { s.Hidden = hidden } }

// Unsupported answers versions outside the handler's range; see
// [Spec.Unsupported].
func Unsupported(answer func(Call) kmsg.Response) Option {
	return func(s *Spec) { s.Unsupported = answer }
}

// Sized tells the size of a response before it is encoded; see
// [Spec.EncodedSize].
func Sized[R kmsg.Response](size func(R) int) Option {
	return func(s *Spec) {
		s.EncodedSize = func(resp kmsg.Response) int { return size(resp.(R)) }
	}
}

// Parts names the large parts of a response; see [Spec.Parts].
func Parts[R kmsg.Response](parts func(resp R, each func(part *[]byte))) Option {
	return func(s *Spec) {
		s.Parts = func(resp kmsg.Response, each func(*[]byte)) { parts(resp.(R), each) }
	}
}

// BeforeLogin serves the key before a login; see [Spec.BeforeLogin].
func BeforeLogin() Option { return func(s *Spec) { s.BeforeLogin = true } }

// Authorizes declares the checks of the handler; see [Check].
func Authorizes(checks ...Check) Option { return func(s *Spec) { s.Checks = checks } }

// Uses declares the quota that the key's bytes count for; see [Spec.Uses].
func Uses(kind security.QuotaKind) Option { return func(s *Spec) { s.Uses = kind } }

// WhenThrottled tells what to send in place of an answer whose client is over a
// quota; see [Spec.Throttled].
func WhenThrottled[R kmsg.Response](instead func(R) R) Option {
	return func(s *Spec) {
		s.Throttled = func(resp kmsg.Response) kmsg.Response { return instead(resp.(R)) }
	}
}

// Unmetered frees the key from quotas, as Kafka does with logins.
func Unmetered() Option { return func(s *Spec) { s.Unmetered = true } }

// New makes a Handler from a typed function. The key is read from the request
// type and all type arguments are inferred:
//
//	handler.New(0, 6, shape, handler.CloseConnection, d.describe)
//
// The versions min to max are those that fn answers; shape describes their
// request bodies. Nothing is checked here: the dispatcher's table checks all
// handlers together at start-up and reports every fault at once.
func New[T any, R kmsg.Response, P Req[T, R]](
	min, max int16, shape guard.Shape, bad Policy,
	fn func(context.Context, Call, P) (R, error), opts ...Option,
) Handler {
	spec := Spec{
		Range:         Range{Key: P(new(T)).Key(), Min: min, Max: max},
		AdvertisedMin: min,
		Shape:         shape,
		BadRequest:    bad,
		Origin:        nameOf(fn),
	}
	for _, opt := range opts {
		opt(&spec)
	}
	return typed[T, R, P]{spec: spec, fn: fn}
}

// typed adapts a typed function to Handler. The assertion in Handle is the only
// one in the gateway: handlers never assert a type.
type typed[T any, R kmsg.Response, P Req[T, R]] struct {
	spec Spec
	fn   func(context.Context, Call, P) (R, error)
}

func (h typed[T, R, P]) Spec() Spec               { return h.spec }
func (h typed[T, R, P]) NewRequest() kmsg.Request { return P(new(T)) }

func (h typed[T, R, P]) Handle(ctx context.Context, call Call, req kmsg.Request) (kmsg.Response, error) {
	resp, err := h.fn(ctx, call, req.(P))
	// A nil *Response inside the interface would look like an answer.
	if err != nil || reflect.ValueOf(resp).IsNil() {
		return nil, err
	}
	return resp, nil
}

// NilFunction is the Origin of a handler that was made without a function. The
// table refuses it.
const NilFunction = "nil function"

// nameOf returns the name of a function as stack traces write it.
func nameOf(fn any) string {
	v := reflect.ValueOf(fn)
	if v.IsNil() {
		return NilFunction
	}
	return runtime.FuncForPC(v.Pointer()).Name()
}
