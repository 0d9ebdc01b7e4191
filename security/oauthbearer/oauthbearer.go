// Package oauthbearer logs clients in by OAUTHBEARER (RFC 7628, KIP-255, KIP-768):
// the client shows a signed JSON Web Token, which somebody else has given it.
//
// A token is good if it is signed with a key of the key set, by an algorithm that is
// allowed, has not expired, and has the issuer, audience and scopes that are
// expected. A claim of it names the user. The login lasts as long as the token
// (KIP-368).
//
// A failure takes two steps: the server answers with a little JSON, to which the
// client says the byte 1, and only then fails the login.
package oauthbearer

import (
	"context"
	"errors"
	"fmt"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Name is the mechanism's name.
const Name = "OAUTHBEARER"

// Kafka's texts.
const (
	invalidToken = `{"status":"invalid_token"}` // #nosec G101 -- a text for clients
	otherUser    = "Authentication failed: Client requested an authorization id (%s) that is different from the token's principal name (%s)"
)

// errOff is why the mechanism cannot be used.
var errOff = errors.New("it has no keys; set sasl.oauthbearer.jwks")

// Mechanism is OAUTHBEARER. It implements sasl.Mechanism.
type Mechanism struct{ tokens *Tokens }

// New returns the mechanism over what judges tokens. Nil switches it off.
func New(t *Tokens) *Mechanism { return &Mechanism{t} }

// Name implements sasl.Mechanism.
func (*Mechanism) Name() string { return Name }

// Ready implements sasl.Conditional.
func (m *Mechanism) Ready() error {
	if m.tokens == nil {
		return errOff
	}
	return nil
}

// Begin implements sasl.Mechanism.
func (m *Mechanism) Begin(security.Requester) sasl.Exchange { return &exchange{tokens: m.tokens} }

// exchange is one login: one message.
type exchange struct {
	tokens *Tokens
	over   bool
}

var errOver = errors.New("a second message")

// Next implements sasl.Exchange.
func (e *exchange) Next(ctx context.Context, message []byte) ([]byte, *sasl.Login, error) {
	if e.over {
		return nil, nil, &sasl.Refused{Cause: errOver}
	}
	e.over = true
	as, token, err := parse(string(message))
	if err != nil {
		return nil, nil, &sasl.Refused{Cause: err}
	}
	claims, err := e.tokens.verify(ctx, token)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, sasl.ErrUnavailable):
		return nil, nil, err
	case errors.Is(err, errScope):
		return nil, nil, e.refused(claims.user, e.tokens.lacksScope, err)
	case err != nil:
		return nil, nil, e.refused("", invalidToken, err)
	case as != "" && as != claims.user:
		return nil, nil, &sasl.Refused{User: claims.user, Message: fmt.Sprintf(otherUser, as, claims.user)}
	}
	return []byte{}, &sasl.Login{Principal: security.User(claims.user), Until: claims.until}, nil
}

// refused is the failure in two steps.
func (e *exchange) refused(user, answer string, why error) error {
	return &sasl.Refused{User: user, Message: answer, Answer: []byte(answer), Cause: why}
}
