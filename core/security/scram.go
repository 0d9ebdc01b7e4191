package security

import "context"

// The numbers that the protocol has for SCRAM mechanisms (KIP-554).
const (
	ScramSHA256 int8 = 1
	ScramSHA512 int8 = 2
)

// ScramCredential is what a server keeps of a password (RFC 5802). It does not
// tell the password, but whoever has it can pretend to be the server.
type ScramCredential struct {
	Iterations                 int32
	Salt, StoredKey, ServerKey []byte
	// Fixed marks a user that clients cannot alter, because the operator wrote it
	// down elsewhere.
	Fixed bool
}

// ScramChange changes one credential of one user: a nil Credential deletes it.
type ScramChange struct {
	User       string
	Mechanism  int8
	Credential *ScramCredential
}

// ScramUser is a user as DescribeUserScramCredentials shows it: which mechanisms,
// and how many iterations each.
type ScramUser struct {
	Name       string
	Iterations map[int8]int32
}

// ScramCredentials keeps the credentials of users. Logins look at them, and the
// keys 50 and 51 manage them. It is used from many goroutines at once. Every
// implementation passes securitytest.ScramCredentials.
type ScramCredentials interface {
	// ScramCredential returns a credential, from memory; ok is false where there
	// is none.
	ScramCredential(user string, mechanism int8) (c ScramCredential, ok bool)
	// ScramUsers returns all users, sorted by name.
	ScramUsers(ctx context.Context) ([]ScramUser, error)
	// AlterScramCredentials makes the changes, all in one step, and returns when
	// they are in force and will outlive a restart. A nil Credential of a user
	// without one does nothing: who cares looks first. One change of a user with
	// Fixed credentials refuses them all. After an error all changes were made or
	// none; which of these is settled by making them again.
	AlterScramCredentials(ctx context.Context, changes []ScramChange) error
}
