package users_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/users"
)

// Clients cannot make users without end.
func TestMaxCredentials(t *testing.T) {
	t.Parallel()
	s := start(t, &entries{}, users.Config{MaxCredentials: 2}, zap.NewNop())
	c := security.NewScramCredential(security.ScramSHA256, make([]byte, 32), []byte("salt"), 4096)
	set := func(user string) security.ScramChange {
		return security.ScramChange{User: user, Mechanism: security.ScramSHA256, Credential: &c}
	}
	deleted := func(user string) security.ScramChange {
		return security.ScramChange{User: user, Mechanism: security.ScramSHA256}
	}
	alter := func(changes ...security.ScramChange) error { return s.AlterScramCredentials(t.Context(), changes) }
	require.NoError(t, alter(set("a"), set("b")))
	err := alter(set("c"))
	require.ErrorIs(t, err, kerr.PolicyViolation)
	require.EqualError(t, err, "There would be 3 credentials; sasl.max_credentials is 2.")
	_, there := s.ScramCredential("c", security.ScramSHA256)
	require.False(t, there)
	require.NoError(t, alter(set("a")), "it is there already")
	require.NoError(t, alter(deleted("a"), set("c")))
	require.ErrorIs(t, alter(deleted("c"), set("d"), set("e")), kerr.PolicyViolation)
	require.NoError(t, alter(deleted("b")))
	require.NoError(t, alter(set("d")))
}

// Where the setting was lowered, users can still be altered and deleted.
func TestMaxCredentialsIsLowered(t *testing.T) {
	t.Parallel()
	kept := &entries{}
	c := security.NewScramCredential(security.ScramSHA256, make([]byte, 32), []byte("salt"), 4096)
	var changes []security.ScramChange
	for _, user := range []string{"a", "b", "c"} {
		changes = append(changes, security.ScramChange{User: user, Mechanism: security.ScramSHA256, Credential: &c})
	}
	require.NoError(t, start(t, kept, users.Config{}, zap.NewNop()).AlterScramCredentials(t.Context(), changes))
	s := start(t, kept, users.Config{MaxCredentials: 1}, zap.NewNop())
	require.NoError(t, s.AlterScramCredentials(t.Context(), changes))
	more := security.ScramChange{User: "d", Mechanism: security.ScramSHA256, Credential: &c}
	require.ErrorIs(t, s.AlterScramCredentials(t.Context(), []security.ScramChange{more}), kerr.PolicyViolation)
	require.NoError(t, s.AlterScramCredentials(t.Context(), []security.ScramChange{{User: "a", Mechanism: security.ScramSHA256}, more}))
	require.NoError(t, s.AlterScramCredentials(t.Context(), []security.ScramChange{{User: "b", Mechanism: security.ScramSHA256}}))
}
