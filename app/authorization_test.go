package app

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// An authorizer that sees nobody but User:ANONYMOUS is told of.
func TestAuthorizationWithoutLogins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags map[string]string
		warns int
	}{
		{map[string]string{}, 0},
		{map[string]string{"authorization.authorizer": "acls"}, 1},
		{map[string]string{"authorization.authorizer": "acls", "listeners.more.listen": "127.0.0.1:0"}, 1},
		{map[string]string{"authorization.authorizer": "acls", "listeners.more.listen": "127.0.0.1:0", "listeners.more.protocol": "SASL_PLAINTEXT"}, 0},
		{map[string]string{"authorization.authorizer": "acls", "protocol": "SASL_PLAINTEXT"}, 0},
	} {
		l, err := load("", nil, c.flags)
		require.NoError(t, err)
		core, logs := observer.New(zap.WarnLevel)
		l.warnOfAuthorization(zap.New(core))
		require.Equal(t, c.warns, logs.FilterMessageSnippet("User:ANONYMOUS").Len(), c.flags)
	}
}

// Faults of the section stop the start, each with its key.
func TestAuthorizationIsChecked(t *testing.T) {
	t.Parallel()
	_, err := load("", nil, map[string]string{"authorization.super_users": "admin", "authorization.max_acls": "0"})
	require.ErrorContains(t, err, `authorization.super_users: "admin" is no principal: write User:name`)
	require.ErrorContains(t, err, "authorization.max_acls: 0 is out of range")
}
