// Package plain logs clients in by PLAIN (RFC 4616): user name and password as they
// are. It belongs on listeners that encrypt.
//
// What knows the passwords is a plugin, [Passwords]. The configuration names one of
// the candidates of the graph; "scram" checks a password against the user's SCRAM
// credentials, so that the users of keys 50 and 51 may log in by PLAIN, too.
//
// As in Kafka, a client may not act for somebody else: the authorization id is
// empty or the user's name. The texts of refusals are Kafka's.
package plain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Name is the mechanism's name.
const Name = "PLAIN"

// MaxName is the longest user name and the longest password, in bytes: that of RFC
// 4616 for characters of four bytes.
const MaxName = 4 * 255

// Passwords knows which password a user has. It is asked from many goroutines at
// once, as many as sasl.max_logins.
type Passwords interface {
	// Verify returns nil if the user has the password, and ErrWrong if there is no
	// such user or it has another one, which takes the same time. Any other error
	// means that nobody knows. Errors hold no password.
	Verify(ctx context.Context, who security.Requester, user, password string) error
}

// ErrWrong is what Passwords return for a wrong password, and for a user that does
// not exist.
var ErrWrong = errors.New("wrong user name or password")

// Kafka's texts.
const (
	badToken   = "Invalid SASL/PLAIN response: expected 3 tokens, got %d" // #nosec G101 -- a text for clients
	noUser     = "Authentication failed: username not specified"
	noPassword = "Authentication failed: password not specified"
	wrong      = "Authentication failed: Invalid username or password"
	otherUser  = "Authentication failed: Client requested an authorization id that is different from username"
)

// Mechanism is PLAIN. It implements sasl.Mechanism.
type Mechanism struct {
	passwords Passwords
	missing   error
}

// New returns the mechanism over passwords.
func New(p Passwords) *Mechanism { return &Mechanism{passwords: p} }

// Name implements sasl.Mechanism.
func (*Mechanism) Name() string { return Name }

// Ready implements sasl.Conditional.
func (m *Mechanism) Ready() error { return m.missing }

// Begin implements sasl.Mechanism.
func (m *Mechanism) Begin(who security.Requester) sasl.Exchange {
	return &exchange{passwords: m.passwords, who: who}
}

// exchange is one login: one token.
type exchange struct {
	passwords Passwords
	who       security.Requester
	over      bool
}

var errOver = errors.New("a second token")

// Next implements sasl.Exchange.
func (e *exchange) Next(ctx context.Context, token []byte) ([]byte, *sasl.Login, error) {
	if e.over {
		return nil, nil, &sasl.Refused{Cause: errOver}
	}
	e.over = true
	as, user, password, err := parse(string(token))
	if err != nil {
		return nil, nil, err
	}
	switch err := e.passwords.Verify(ctx, e.who, user, password); {
	case errors.Is(err, ErrWrong):
		return nil, nil, &sasl.Refused{User: user, Message: wrong, Cause: err}
	case err != nil:
		return nil, nil, &sasl.Unavailable{User: user, Cause: err}
	case as != "" && as != user:
		return nil, nil, &sasl.Refused{User: user, Message: otherUser}
	}
	return []byte{}, &sasl.Login{Principal: security.User(user)}, nil
}

// parse reads a token: authorization id, user and password, with zero bytes
// between them.
func parse(token string) (as, user, password string, err error) {
	fields := strings.SplitN(token, "\x00", 4)
	if len(fields) != 3 {
		return "", "", "", &sasl.Refused{Message: fmt.Sprintf(badToken, len(fields))}
	}
	as, user, password = fields[0], fields[1], fields[2]
	switch {
	case user == "":
		return "", "", "", &sasl.Refused{Message: noUser}
	case password == "":
		return "", "", "", &sasl.Refused{User: user, Message: noPassword}
	case len(user) > MaxName || len(password) > MaxName || !utf8.ValidString(user) || !utf8.ValidString(password):
		return "", "", "", &sasl.Refused{Message: wrong} // nobody can have these
	}
	return as, user, password, nil
}
