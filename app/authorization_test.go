package app

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/app/doctor"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

// What looks as if it secured the gateway and does not is told of.
func TestOpennessIsToldOf(t *testing.T) {
	t.Parallel()
	const (
		anonymous = "every client is User:ANONYMOUS to the authorizer"
		super     = "whoever reaches this listener may do everything"
		beside    = "while other listeners have clients say who they are"
		logins    = "nobody has to log in"
		plain     = "nothing is encrypted"
		nobody    = "no client is asked for a certificate"
	)
	acls := func(more ...string) map[string]string {
		flags := map[string]string{"authorization.authorizer": "acls", "listeners.more.listen": "127.0.0.1:0"}
		for i := 0; i < len(more); i += 2 {
			flags[more[i]] = more[i+1]
		}
		return flags
	}
	for _, c := range []struct {
		flags map[string]string
		want  []string
	}{
		{map[string]string{}, nil},
		{map[string]string{"authorization.authorizer": "acls"}, []string{anonymous}},
		{acls(), []string{anonymous}},
		{acls("listeners.more.protocol", "SSL"), []string{anonymous}},
		{acls("listeners.more.protocol", "SSL", "tls.client_auth", "requested"), nil},
		{acls("listeners.more.protocol", "SSL", "listeners.more.client_auth", "required"), nil},
		{acls("listeners.more.protocol", "SSL", "listeners.more.client_auth", "none", "tls.client_auth", "required"), []string{anonymous}},
		{acls("listeners.more.protocol", "SASL_PLAINTEXT"), nil},
		{acls("protocol", "SASL_PLAINTEXT"), nil},
		{acls("protocol", "SASL_PLAINTEXT", "listeners.more.listen", "10.0.0.1:1"), []string{beside}},
		{acls("protocol", "SASL_PLAINTEXT", "listeners.more.listen", "[::1]:1"), nil},
		{acls("protocol", "SASL_PLAINTEXT", "listeners.more.listen", "localhost:1"), nil},
		{acls("protocol", "SASL_PLAINTEXT", "authorization.super_users", "User:ANONYMOUS"), nil},
		{
			acls("protocol", "SASL_PLAINTEXT", "listeners.more.listen", "10.0.0.1:1", "authorization.super_users", "User:a,User:ANONYMOUS"),
			[]string{super, beside},
		},
		{map[string]string{"sasl.users_file": "users"}, []string{logins}},
		{map[string]string{"sasl.users_file": "users", "protocol": "SASL_PLAINTEXT"}, nil},
		{map[string]string{"tls.certificate": "tls.crt"}, []string{plain}},
		{map[string]string{"tls.certificate": "tls.crt", "protocol": "SASL_SSL"}, nil},
		{map[string]string{"tls.client_ca": "ca.crt"}, []string{plain}},
		{map[string]string{"tls.client_ca": "ca.crt", "protocol": "SASL_SSL"}, []string{nobody}},
		{map[string]string{"tls.client_ca": "ca.crt", "protocol": "SASL_SSL", "tls.client_auth": "requested"}, nil},
		{map[string]string{"tls.client_ca": "ca.crt", "listeners.more.listen": "127.0.0.1:0", "listeners.more.protocol": "SSL", "listeners.more.client_auth": "required"}, nil},
		{map[string]string{"listeners.more.client_ca": "ca.crt", "listeners.more.listen": "127.0.0.1:0", "listeners.more.protocol": "SSL"}, []string{nobody}},
	} {
		l, err := load("", nil, c.flags)
		require.NoError(t, err, c.flags)
		core, logs := observer.New(zap.WarnLevel)
		l.warnOfOpenness(zap.New(core))
		require.Equal(t, len(c.want), logs.Len(), "%v: %v", c.flags, logs.All())
		for i, line := range logs.All() {
			require.Contains(t, line.Message, c.want[i], c.flags)
		}
	}
}

// A gateway that asks for logins says that nobody has one yet.
func TestNoUsersIsToldOf(t *testing.T) {
	t.Parallel()
	some := &securitytest.Users{}
	some.Fix("alice", security.ScramSHA256, securitytest.Credential(security.ScramSHA256, "secret", 4096))
	sasl := func(more ...string) map[string]string {
		flags := map[string]string{"protocol": "SASL_PLAINTEXT"}
		for i := 0; i < len(more); i += 2 {
			flags[more[i]] = more[i+1]
		}
		return flags
	}
	for _, c := range []struct {
		flags map[string]string
		users security.ScramCredentials
		told  bool
	}{
		{sasl(), &securitytest.Users{}, true},
		{sasl("sasl.plain.passwords", "scram", "storage.backend", "iggy"), &securitytest.Users{}, true},
		{sasl("storage.backend", "iggy"), &securitytest.Users{}, false},
		{sasl("sasl.plain.passwords", "mine"), &securitytest.Users{}, false}, // of another module
		{sasl("sasl.plain.passwords", "iggy", "storage.backend", "iggy"), &securitytest.Users{}, false},
		{sasl("sasl.oauthbearer.jwks", "keys.json", "sasl.oauthbearer.expected_issuer", "i", "sasl.oauthbearer.expected_audience", "a"), &securitytest.Users{}, false},
		{sasl(), some, false},
		{sasl(), nil, false},
		{map[string]string{}, &securitytest.Users{}, false},
	} {
		l, err := load("", nil, c.flags)
		require.NoError(t, err, c.flags)
		core, logs := observer.New(zap.WarnLevel)
		l.warnOfNobody(t.Context(), zap.New(core), c.users)
		require.Equal(t, c.told, logs.Len() == 1, "%v: %v", c.flags, logs.All())
	}
}

// Super users without an authorizer stop the start, unless it was switched off by its
// key.
func TestSuperUsersNeedAnAuthorizer(t *testing.T) {
	t.Parallel()
	flags := map[string]string{"authorization.super_users": "User:admin"}
	_, err := load("", nil, flags)
	require.EqualError(t, err, "authorization.super_users: there is no authorizer, so everybody may do everything; "+
		"set authorization.authorizer to acls, or to none if that is meant (flag --authorization.super_users)")
	for _, meant := range []string{"none", "acls"} {
		flags["authorization.authorizer"] = meant
		_, err := load("", nil, flags)
		require.NoError(t, err)
	}
}

// Faults of the section stop the start, each with its key.
func TestAuthorizationIsChecked(t *testing.T) {
	t.Parallel()
	_, err := load("", nil, map[string]string{"authorization.super_users": "admin", "authorization.max_acls": "0"})
	require.ErrorContains(t, err, `authorization.super_users: "admin" is no principal: write User:name`)
	require.ErrorContains(t, err, "authorization.max_acls: 0 is out of range")
}

// Doctor looks at every file that decides who clients are, or is a secret.
func TestFilesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	l, err := load("", nil, map[string]string{
		"storage.dir": "data", "sasl.users_file": "users", "tls.certificate": "tls.crt", "tls.key": "tls.key",
		"listeners.in.listen": "127.0.0.1:0", "listeners.in.protocol": "SSL", "listeners.in.certificate": "in.pem", "listeners.in.client_ca": "ca.pem",
		"sasl.oauthbearer.jwks": "keys.json", "sasl.oauthbearer.expected_issuer": "i", "sasl.oauthbearer.expected_audience": "a",
	})
	require.NoError(t, err)
	require.Equal(t, []doctor.File{
		{Key: "storage.dir", Path: "data", Secret: true},
		{Key: "sasl.users_file", Path: "users", Secret: true},
		{Key: "sasl.oauthbearer.jwks", Path: "keys.json"},
		{Key: "tls.certificate", Path: "tls.crt"},
		{Key: "tls.key", Path: "tls.key", Secret: true},
		{Key: "listeners.in.certificate", Path: "in.pem", Secret: true},
		{Key: "listeners.in.client_ca", Path: "ca.pem"},
	}, l.files())
	l.Storage.Backend, l.SASL.OAuthBearer.JWKS = "memory", "https://issuer/keys"
	for _, f := range l.files() {
		require.NotContains(t, []string{"storage.dir", "sasl.oauthbearer.jwks"}, f.Key)
	}
}
