package scram

import (
	"context"
	"crypto/pbkdf2"
	"crypto/subtle"

	"github.com/iggykafka/gateway/core/security"
)

// Passwords checks passwords that clients send as they are (by PLAIN) against SCRAM
// credentials.
//
// A check costs as many rounds of HMAC as the credentials have iterations: some
// milliseconds of a processor. No more run at once than there are [security.Turns], so
// that others get a processor, too.
type Passwords struct {
	mechanisms []*Mechanism
	turns      *security.Turns
}

// NewPasswords returns a checker of passwords over credentials. It shares the turns
// with others that compute for strangers; nil stands for turns of its own.
func NewPasswords(users security.ScramCredentials, turns *security.Turns) *Passwords {
	if turns == nil {
		turns = security.NewTurns()
	}
	p := &Passwords{turns: turns}
	for _, number := range security.ScramMechanisms {
		p.mechanisms = append(p.mechanisms, New(number, users))
	}
	return p
}

// Check reports whether a user has a password: that of either mechanism. It takes
// the same time whether the user exists or not. The error is that of ctx, which
// ended before there was a processor for it.
func (p *Passwords) Check(ctx context.Context, user, password string) (bool, error) {
	if err := p.turns.Take(ctx); err != nil {
		return false, err
	}
	defer p.turns.Give()
	right := false
	for _, m := range p.mechanisms {
		c, known := m.credential(user)
		if equal := m.proves(password, c); equal && known {
			right = true
		}
	}
	return right, nil
}

// proves reports whether a password is that of a credential.
func (m *Mechanism) proves(password string, c security.ScramCredential) bool {
	salted, err := pbkdf2.Key(m.hash, password, c.Salt, int(c.Iterations), m.hash().Size())
	if err != nil {
		return false
	}
	made := security.NewScramCredential(m.number, salted, c.Salt, c.Iterations)
	return subtle.ConstantTimeCompare(made.StoredKey, c.StoredKey) == 1
}
