package plain

import (
	"context"

	"github.com/iggykafka/gateway/core/security"
)

// Checker says whether a user has a password; security/scram's Passwords does. The
// error means that it could not be found out.
type Checker interface {
	Check(ctx context.Context, user, password string) (bool, error)
}

// Checked returns Passwords that ask a Checker.
func Checked(c Checker) Passwords { return checked{c} }

type checked struct{ checker Checker }

// Verify implements Passwords.
func (c checked) Verify(ctx context.Context, _ security.Requester, user, password string) error {
	switch right, err := c.checker.Check(ctx, user, password); {
	case err != nil:
		return err
	case !right:
		return ErrWrong
	}
	return nil
}
