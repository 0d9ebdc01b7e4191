package scram

import (
	"context"
	"crypto/pbkdf2"
	"crypto/subtle"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/proven"
)

// Passwords checks passwords that clients send as they are (by PLAIN) against SCRAM
// credentials.
//
// A check costs as many rounds of HMAC as the credentials have iterations: some
// milliseconds of a processor. No more run at once than there are [security.Turns], so
// that others get a processor, too. A password that was right is remembered for as long
// as the credential is the same one: clients that come again cost next to nothing.
type Passwords struct {
	mechanisms []*Mechanism
	turns      *security.Turns
	known      *proven.Passwords[right]
}

// maxRemembered is of how many users a password is remembered, some 300 bytes each.
const maxRemembered = 10_000

// right is the credential by which a password was right.
type right struct {
	mechanism *Mechanism
	storedKey []byte
}

// NewPasswords returns a checker of passwords over credentials. It shares the turns
// with others that compute for strangers; nil stands for turns of its own.
func NewPasswords(users security.ScramCredentials, turns *security.Turns) *Passwords {
	if turns == nil {
		turns = security.NewTurns()
	}
	p := &Passwords{turns: turns, known: proven.New[right](maxRemembered)}
	for _, number := range security.ScramMechanisms {
		p.mechanisms = append(p.mechanisms, New(number, users))
	}
	return p
}

// Check reports whether a user has a password: that of either mechanism. It takes
// the same time whether the user exists or not; less for a password that was right
// before. The error is that of ctx, which ended before there was a processor for it.
func (p *Passwords) Check(ctx context.Context, user, password string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	mark := p.known.Mark(user, password)
	if p.remembers(user, mark) {
		return true, nil
	}
	if err := p.turns.Take(ctx); err != nil {
		return false, err
	}
	defer p.turns.Give()
	is := false
	for _, m := range p.mechanisms {
		c, known := m.credential(user)
		if equal := m.proves(password, c); equal && known {
			is = true
			p.known.Remember(user, mark, right{m, c.StoredKey})
		}
	}
	return is, nil
}

// remembers reports whether a password was right, and still is.
func (p *Passwords) remembers(user string, mark proven.Mark) bool {
	was, ok := p.known.Right(user, mark)
	if !ok {
		return false
	}
	c, known := was.mechanism.credential(user)
	if !known || subtle.ConstantTimeCompare(c.StoredKey, was.storedKey) == 0 {
		p.known.Forget(user, mark)
		return false
	}
	return true
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
