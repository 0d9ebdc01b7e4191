// Package scram logs clients in by SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802,
// RFC 7677), as Kafka has them since KIP-84, over the credentials of users.
//
// The conversation itself is that of github.com/xdg-go/scram. Here is what Kafka
// adds to it and leaves out:
//
//   - there is no channel binding: the first message begins with "n,";
//   - a client may act for nobody but the user who logs in;
//   - the extension tokenauth=true asks for a login by a delegation token
//     (KIP-48), of which there are none;
//   - who is refused gets Kafka's general message and no word of SCRAM's own
//     ("e=..."), whatever was wrong.
//
// Kafka refuses a user that does not exist at once, so a stranger can find out who
// does. Here such a login goes on, with a salt that is made from the name, and
// ends as one with a wrong password does.
package scram

import (
	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Mechanism is one of the two. It implements sasl.Mechanism.
type Mechanism struct {
	number int8
	hash   scram.HashGeneratorFcn
	users  security.ScramCredentials
	fakes  fakes
}

// New returns a mechanism by its number, security.ScramSHA256 or ScramSHA512.
func New(number int8, users security.ScramCredentials) *Mechanism {
	return &Mechanism{
		number: number,
		hash:   scram.HashGeneratorFcn(security.ScramHash(number)),
		users:  users,
		fakes:  newFakes(users),
	}
}

// Name implements sasl.Mechanism.
func (m *Mechanism) Name() string { return security.ScramName(m.number) }

// Begin implements sasl.Mechanism.
func (m *Mechanism) Begin(security.Requester) sasl.Exchange {
	e := &exchange{mechanism: m}
	// It fails for no lookup at all.
	server, _ := m.hash.NewServer(e.lookup)
	e.conversation = server.NewConversation()
	return e
}

// credential returns what to check a user against. For one without a credential
// it is a false one, which nobody can prove to have.
func (m *Mechanism) credential(user string) (c security.ScramCredential, known bool) {
	fake := m.fakes.credential(m.number, user, shapeOf(m.users, m.number))
	c, known = m.users.ScramCredential(user, m.number)
	if !known {
		return fake, false
	}
	return c, true
}

// prepare brings a name into the form in which names are compared (RFC 4013). In
// ASCII that is the name itself.
func prepare(name string) (string, error) { return stringprep.SASLprep.Prepare(name) }
