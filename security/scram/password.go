package scram

import (
	"context"
	"crypto/pbkdf2"
	"crypto/subtle"
	"runtime"

	"github.com/iggykafka/gateway/core/security"
)

// Passwords checks passwords that clients send as they are (by PLAIN) against SCRAM
// credentials.
//
// A check costs as many rounds of HMAC as the credentials have iterations: some
// milliseconds of a processor. No more than [MostChecks] run at once, so that others
// get a processor, too.
type Passwords struct {
	mechanisms []*Mechanism
	running    chan struct{}
}

// MostChecks is how many checks of passwords run at once.
func MostChecks() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// NewPasswords returns a checker of passwords over credentials.
func NewPasswords(users security.ScramCredentials) *Passwords {
	p := &Passwords{running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	for _, number := range security.ScramMechanisms {
		p.mechanisms = append(p.mechanisms, New(number, users))
	}
	return p
}

// Check reports whether a user has a password: that of either mechanism. It takes
// the same time whether the user exists or not. The error is that of ctx, which
// ended before there was a processor for it.
func (p *Passwords) Check(ctx context.Context, user, password string) (bool, error) {
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
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
