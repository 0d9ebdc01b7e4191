package dispatch

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reason says, in one word, why a request closes its connection. It is the
// value of a metric label.
type Reason string

// The reasons of Dispatch.
const (
	BadHeader          Reason = "bad_header"
	UnknownKey         Reason = "unknown_key"
	UnsupportedVersion Reason = "unsupported_version"
	BadRequest         Reason = "bad_request"   // and the key's policy is to close
	OverBudget         Reason = "memory_budget" // guard.ErrBudget
	HandlerFailed      Reason = "handler_error" // a Go error of a handler
	Refused            Reason = "refused"       // handler.Refusal
	AnswerTooLarge     Reason = "answer_too_large"
	Panicked           Reason = "panic"
	LoginRefused       Reason = "login" // a session does not admit the request
)

// The causes of an Error that have no other name.
var (
	ErrUnknownKey         = errors.New("no handler serves the key")
	ErrUnsupportedVersion = errors.New("the version is outside the served range")
	ErrAnswerTooLarge     = errors.New("answer above max_frame_size")
	ErrPanic              = errors.New("panic")
	errWrongResponse      = errors.New("the handler answered with the response of another key")
)

// Error is why a request gets no answer.
type Error struct {
	Reason   Reason
	Key      int16 // of the request; key, version and client id are zero after BadHeader
	Version  int16
	ClientID string
	Err      error  // never nil
	Stack    []byte // of a panic
}

// Error names the request and the cause.
func (e *Error) Error() string {
	if e.Reason == BadHeader {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s (key %d) v%d: %v", kmsg.NameForKey(e.Key), e.Key, e.Version, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
