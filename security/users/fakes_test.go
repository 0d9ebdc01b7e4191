package users_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
	"github.com/iggykafka/gateway/security/users"
)

// What the salts of users are made from who do not exist outlives a restart, from the
// first user on, of the store or of the file. A gateway without users keeps nothing.
func TestFakesOutliveARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	c := securitytest.Credential(security.ScramSHA256, "x", 4096)
	for name, begin := range map[string]func(*testing.T, *entries){
		"by the store": func(t *testing.T, e *entries) {
			s := start(t, e, users.Config{}, zap.NewNop())
			require.Nil(t, s.ScramFakeSecret())
			require.Empty(t, e.values)
			require.NoError(t, s.AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, &c)))
		},
		"by the file": func(t *testing.T, e *entries) { start(t, e, users.Config{UsersFile: path}, zap.NewNop()) },
		"by a store of before": func(t *testing.T, e *entries) {
			first := &entries{}
			require.NoError(t, start(t, first, users.Config{}, zap.NewNop()).AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, &c)))
			e.values = map[string][]byte{"SCRAM-SHA-256/alice": first.values["SCRAM-SHA-256/alice"], "fakes": []byte("damaged")}
			start(t, e, users.Config{}, zap.NewNop())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &entries{}
			begin(t, e)
			core, seen := observer.New(zapcore.WarnLevel)
			secret := start(t, e, users.Config{}, zap.New(core)).ScramFakeSecret()
			require.Len(t, secret, 64)
			s := start(t, e, users.Config{}, zap.New(core))
			require.NoError(t, s.AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, nil)))
			require.Equal(t, secret, s.ScramFakeSecret())
			require.Equal(t, secret, start(t, e, users.Config{}, zap.New(core)).ScramFakeSecret(), "also without users")
			require.Empty(t, seen.All())
			all, err := s.ScramUsers(t.Context())
			require.NoError(t, err)
			require.Empty(t, all)
		})
	}
}
