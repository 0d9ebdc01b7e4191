// Package sasl logs clients in by SASL: the state machine of a connection until
// it is logged in, and again whenever its login has to be renewed. What proves
// who a client is, a [Mechanism], is a plugin; the rooms of security/ hold those
// that the gateway brings.
package sasl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

// Mechanism is one way to log in. Every implementation passes
// securitytest.Mechanisms.
type Mechanism interface {
	// Name is its name in SASL: "PLAIN", "SCRAM-SHA-256".
	Name() string
	// Begin begins a login. who is what is known of the client so far.
	Begin(who security.Requester) Exchange
}

// Exchange is one login under way. It is used by one goroutine at a time, and
// owns nothing that has to be given back.
type Exchange interface {
	// Next takes a token of the client and returns what the server says to it. The
	// token is valid only until Next returns. A non-nil Login means that the client
	// has proved who it is, and that the answer is the last one. An error ends the
	// exchange: a *Refused says why to the client, any other only to the log; the
	// client gets Kafka's general message then. One that is ErrUnavailable, such as an
	// *Unavailable, or that of a context, closes the connection without an answer.
	Next(ctx context.Context, token []byte) (answer []byte, done *Login, err error)
}

// ErrUnavailable marks errors after which nobody knows whether the client proved who
// it is, such as a server that does not answer. The client may try again, which
// stock clients do when their connection closes, but not after a refusal.
var ErrUnavailable = security.ErrUnavailable

// Unavailable is ErrUnavailable of a user.
type Unavailable struct {
	// User is whom the client said to be: for the audit.
	User string
	// Cause is why nobody knows.
	Cause error
}

// Error tells what the audit shows.
func (u *Unavailable) Error() string { return unchecked(u.Cause).Error() }

// Unwrap returns ErrUnavailable with the cause.
func (u *Unavailable) Unwrap() error { return unchecked(u.Cause) }

// unchecked makes an error ErrUnavailable, if it is not.
func unchecked(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Login is a login that succeeded.
type Login struct {
	Principal security.Principal
	// Until is when what the client showed stops being valid; zero is never.
	Until time.Time
}

// Refused is why a client was not let in.
type Refused struct {
	// User is whom the client said to be, as far as it is known: for the audit.
	User string
	// Message is what the client is told; it must not help somebody who guesses.
	// Empty stands for Kafka's own general message.
	Message string
	// Answer is sent in place of an error, where the mechanism has its own way to
	// refuse and the client has to answer to it; nil otherwise. Whatever the client
	// answers gets Message.
	Answer []byte
	// Cause is for the audit; nil where Message says it all.
	Cause error
}

// Error tells what the audit shows.
func (r *Refused) Error() string {
	switch {
	case r.Cause != nil:
		return r.Cause.Error()
	case r.Message != "":
		return r.Message
	}
	return "authentication failed"
}

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.Cause }

// cut shortens a text to n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
