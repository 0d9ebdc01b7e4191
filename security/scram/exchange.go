package scram

import (
	"context"
	"errors"
	"strings"

	"github.com/xdg-go/scram"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// exchange is one login.
type exchange struct {
	mechanism    *Mechanism
	conversation *scram.ServerConversation
	step         int
	user         string
	known        bool // the user has a credential
	// clientNonce is the client's part of the nonce, nonce all of it.
	clientNonce, nonce string
}

// maxToken is the longest message of a client, in bytes. A name and a nonce of a
// few hundred bytes are long.
const maxToken = 8 << 10

// What the audit shows. None of it has anything of a message: a last message that
// was cut is still good for guessing passwords.
var (
	errFirst     = errors.New("the client's first message is not one of SCRAM")
	errBinding   = errors.New("the client asks for channel binding, which there is none of")
	errToken     = errors.New("the client wants to log in by a delegation token, of which there are none")
	errName      = errors.New("the user name is not one that SASLprep allows")
	errFinal     = errors.New("the client's last message is not the one that was due")
	errDoubled   = errors.New("the client's last message has its nonce twice, as those of librdkafka before 2.6.1 do: no server that keeps to RFC 5802 takes them")
	errUnknown   = errors.New("the user has no credential of this mechanism")
	errWrong     = errors.New("the password is wrong")
	errCompleted = errors.New("a message after the last one")
)

// otherUser is what Kafka tells a client that wants to act for somebody else.
const otherUser = "Authentication failed: Client requested an authorization id that is different from username"

// Next implements sasl.Exchange.
func (e *exchange) Next(_ context.Context, token []byte) ([]byte, *sasl.Login, error) {
	e.step++
	switch e.step {
	case 1:
		answer, err := e.first(token)
		return answer, nil, err
	case 2:
		return e.last(token)
	}
	return nil, nil, e.refused(errCompleted)
}

// first answers the message that names the user.
func (e *exchange) first(token []byte) ([]byte, error) {
	message := string(token)
	if err := checkFirst(message); err != nil {
		return nil, e.refused(err)
	}
	answer, err := e.conversation.Step(message)
	switch {
	case errors.Is(err, errName):
		return nil, e.refused(errName)
	case err != nil:
		return nil, e.refused(errFirst)
	}
	if as := e.conversation.AuthzID(); as != "" && as != e.conversation.Username() {
		return nil, &sasl.Refused{User: e.user, Message: otherUser}
	}
	e.clientNonce = strings.TrimPrefix(strings.Split(message, ",")[3], "r=") // checkFirst saw to it
	nonce, _, _ := strings.Cut(answer, ",")
	e.nonce = strings.TrimPrefix(nonce, "r=")
	return []byte(answer), nil
}

// lookup is the conversation's way to a credential.
func (e *exchange) lookup(name string) (scram.StoredCredentials, error) {
	user, err := prepare(name)
	if err != nil || user == "" {
		return scram.StoredCredentials{}, errName
	}
	e.user = user
	var c security.ScramCredential
	c, e.known = e.mechanism.credential(user)
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(c.Salt), Iters: int(c.Iterations)},
		StoredKey:  c.StoredKey,
		ServerKey:  c.ServerKey,
	}, nil
}

// last answers the message that proves that the client has the password.
func (e *exchange) last(token []byte) ([]byte, *sasl.Login, error) {
	if len(token) > maxToken {
		return nil, nil, e.refused(errFinal)
	}
	answer, err := e.conversation.Step(string(token))
	switch {
	case err != nil && e.doubled(string(token)):
		return nil, nil, e.refused(errDoubled)
	case err != nil && answer != scram.ErrInvalidProof:
		return nil, nil, e.refused(errFinal)
	case !e.known:
		return nil, nil, e.refused(errUnknown)
	case err != nil || !e.conversation.Valid():
		return nil, nil, e.refused(errWrong)
	}
	return []byte(answer), &sasl.Login{Principal: security.User(e.user)}, nil
}

// doubled reports whether a last message has the client's part of the nonce twice.
// Kafka takes such messages up to 3.7.1 (CVE-2024-56128), and refuses them in 4.4.
func (e *exchange) doubled(message string) bool {
	_, rest, _ := strings.Cut(message, ",r=")
	nonce, _, _ := strings.Cut(rest, ",")
	return nonce != "" && nonce == e.clientNonce+e.nonce
}

func (e *exchange) refused(why error) error { return &sasl.Refused{User: e.user, Cause: why} }

// checkFirst holds what Kafka asks of a first message, and the conversation does
// not: n,[a=authzid],n=name,r=nonce[,extensions].
func checkFirst(message string) error {
	if len(message) > maxToken {
		return errFirst
	}
	fields := strings.Split(message, ",")
	switch {
	case len(fields) < 4:
		return errFirst
	case fields[0] == "y", strings.HasPrefix(fields[0], "p="):
		return errBinding
	case fields[0] != "n":
		return errFirst
	}
	nonce, found := strings.CutPrefix(fields[3], "r=")
	if !found || nonce == "" || !printable(nonce) {
		return errFirst
	}
	for _, extension := range fields[4:] {
		name, value, found := strings.Cut(extension, "=")
		switch {
		case !found || !letters(name) || !printable(value):
			return errFirst
		case strings.EqualFold(name, "tokenauth") && strings.EqualFold(value, "true"):
			return errToken
		}
	}
	return nil
}

// printable reports whether s is of the characters that RFC 5802 calls so. A comma
// is none, and has been split at.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

func letters(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
