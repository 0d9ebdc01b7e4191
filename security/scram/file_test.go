package scram_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/users"
)

// usersFile is a users file with one user.
func usersFile(t *testing.T, path, name, password string) {
	t.Helper()
	line := users.FormatLine(name, security.ScramSHA512, *credential(t, security.ScramSHA512, password))
	require.NoError(t, os.WriteFile(path, []byte("# the first administrator\n"+line+"\n"), 0o600))
}

// A fresh gateway has no users. The file has the one who makes the others, and whom
// nobody else can change.
func TestFirstAdministrator(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	usersFile(t, path, "admin", "admin-secret")
	b := start(t, gatewaytest.Config(func(c *app.Config) {
		c.SASL.Users.UsersFile = path
		c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", []string{"User:admin"}
	}))
	b.admin = kadm.NewClient(b.franz("admin", "admin-secret", kadm.ScramSha512))
	b.set("alice", kadm.ScramSha256, "alice-secret")
	described, err := b.admin.DescribeUserSCRAMs(b.ctx)
	require.NoError(t, err)
	require.Len(t, described, 2)

	for _, client := range []*kadm.Client{b.admin, kadm.NewClient(b.franz("alice", "alice-secret", kadm.ScramSha256))} {
		want := kerr.PolicyViolation
		if client != b.admin {
			want = kerr.ClusterAuthorizationFailed
		}
		altered, err := client.AlterUserSCRAMs(b.ctx, nil, []kadm.UpsertSCRAM{
			{User: "admin", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "mine"},
		})
		if err == nil {
			err = altered.Error()
		}
		require.ErrorIs(t, err, want)
	}

	usersFile(t, path, "admin", "another")
	require.Eventually(t, func() bool {
		return b.franz("admin", "another", kadm.ScramSha512).Ping(b.ctx) == nil
	}, patience, 20*time.Millisecond)
	b.wrong("admin", "admin-secret", kadm.ScramSha512)
}
