package handler

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Policy says what a request body gets that does not decode: nothing but a
// closed connection ([CloseConnection]), or an answer in the requested version
// that carries INVALID_REQUEST ([InvalidRequest]).
//
// The rule of the house: answer only when every served version of the key has
// a top-level error code. Elsewhere an answer without entries would look like
// success. The zero Policy means that nobody chose, and is refused at start-up.
type Policy struct {
	name     string
	response reflect.Type
	set      func(kmsg.Response, int16)
}

// CloseConnection closes the connection without a byte, as Kafka does.
var CloseConnection = Policy{name: "close"}

// InvalidRequest answers with an empty response in which set has placed the
// given code (42, INVALID_REQUEST); the connection stays open. set may also
// fill fields whose empty value would mislead, such as a producer id of 0.
func InvalidRequest[R kmsg.Response](set func(resp R, code int16)) Policy {
	return Policy{
		name:     "INVALID_REQUEST",
		response: reflect.TypeFor[R](),
		set:      func(resp kmsg.Response, code int16) { set(resp.(R), code) },
	}
}

// String returns "close", "INVALID_REQUEST" or, for the zero Policy, "none".
func (p Policy) String() string {
	if p.name == "" {
		return "none"
	}
	return p.name
}

// Chosen reports whether p is one of the two policies.
func (p Policy) Chosen() bool { return p.name != "" }

// Fits reports whether p can answer requests of the type of req. It is false
// for an InvalidRequest policy that was written for another key's response.
func (p Policy) Fits(req kmsg.Request) bool {
	return p.response == nil || p.response == reflect.TypeOf(req.ResponseKind())
}

// Answer returns the reply to req, whose body did not decode, or nil when the
// connection is to be closed.
func (p Policy) Answer(req kmsg.Request) kmsg.Response {
	if p.set == nil {
		return nil
	}
	resp := req.ResponseKind()
	p.set(resp, kerr.InvalidRequest.Code)
	return resp
}
