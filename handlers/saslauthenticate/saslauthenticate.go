// Package saslauthenticate answers SaslAuthenticate (key 36), versions 0 to 2: one
// token of a client's SASL login, and the server's answer to it.
//
// KIP-152 brought it, KIP-368 the session lifetime of version 1; version 2 is
// flexible.
package saslauthenticate

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// noLogins is what Kafka says on listeners without logins.
const noLogins = "SaslAuthenticate request received after successful authentication"

// New returns the handler. The login of the connection decides; see handler.Login.
func New() handler.Handler {
	return handler.New(0, 2, shape, handler.CloseConnection, authenticate, handler.BeforeLogin(), handler.Unmetered())
}

func authenticate(ctx context.Context, call handler.Call, req *kmsg.SASLAuthenticateRequest) (*kmsg.SASLAuthenticateResponse, error) {
	done := handler.Authenticated{Code: kerr.IllegalSaslState.Code, Message: noLogins}
	if call.Login != nil {
		ctx, end := call.Park(ctx) // a failed login waits
		defer end()
		done = call.Login.Authenticate(ctx, req.SASLAuthBytes)
	}
	if done.Err != nil {
		return nil, done.Err
	}
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.ErrorCode, resp.SASLAuthBytes, resp.SessionLifetimeMillis = done.Code, done.Token, done.Lifetime
	resp.ErrorMessage = &done.Message // Kafka sends an empty one with a success
	return resp, nil
}
