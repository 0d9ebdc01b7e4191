package app

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/authorizer"
)

// failing runs the program of the modules with a configuration that stops it.
func failing(t *testing.T, modules []fx.Option, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, exitFailed, program{args: args, out: &out, err: &errs, modules: modules}.run(t.Context()))
	return out.String() + errs.String()
}

// One start names every value that no module has, beside the other faults, and so does
// each command that needs the configuration.
func TestWordsOfModules(t *testing.T) {
	t.Parallel()
	path := write(t, `
protocol: TLS
quotas: {keeper: x}
groups: {coordinator: foo}
authorization: {authorizer: zz}
sasl: {mechanisms: [FOO, PLAIN, BAR], plain: {passwords: p}}
tls: {min_version: 1.3}
storage: {backend: bar}
listeners:
  other: {listen: "127.0.0.1:0", protocol: ssl, mechanisms: BAZ, client_auth: yes please}
`)
	from := " (file " + path + ")\n"
	const begin = "kafka-gateway: "
	want := begin + `tls.min_version: "1.3" is none of TLSv1.2, TLSv1.3` + from +
		begin + `protocol: "TLS" is none of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL` + from +
		begin + `listeners.other.protocol: "ssl" is none of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL` + from +
		begin + `listeners.other.mechanisms: "BAZ" is none of OAUTHBEARER, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512` + from +
		begin + `listeners.other.client_auth: "yes please" is none of none, requested, required` + from +
		begin + `storage.backend: "bar" is none of embedded, memory, iggy` + from +
		begin + `groups.coordinator: "foo" is none of durable, memory` + from +
		begin + `sasl.mechanisms: "FOO" is none of OAUTHBEARER, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512` + from +
		begin + `sasl.mechanisms: "BAR" is none of OAUTHBEARER, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512` + from +
		begin + `sasl.plain.passwords: "p" is none of auto, iggy, scram` + from +
		begin + `authorization.authorizer: "zz" is none of acls, iggy, none` + from +
		begin + `quotas.keeper: "x" is none of none, stored` + from
	for _, command := range []string{"serve", "config", "apis", "doctor"} {
		require.Equal(t, want, failing(t, []fx.Option{gateway.Plugins()}, command, "--config", path))
	}
}

// The names of further modules count, and those of modules that were left out do not.
// Nothing that modules invoke runs for that.
func TestWordsOfFurtherModules(t *testing.T) {
	t.Parallel()
	mine := fx.Options(
		fx.Provide(func() authorizer.Out {
			return authorizer.Out{Candidate: authorizer.Candidate{Name: "mine", Make: func() (security.Authorizer, error) { panic("not chosen") }}}
		}),
		fx.Invoke(func(*server.Server) { panic("nothing is to run") }),
	)
	path := write(t, "{authorization: {authorizer: mine}, log: {level: loud}}")
	got := failing(t, []fx.Option{gateway.Plugins(), mine}, "--config", path)
	require.Equal(t, "kafka-gateway: log.level: \"loud\" is none of debug, info, warn, error (file "+path+")\n", got)
	got = failing(t, []fx.Option{gateway.Admin(), gateway.Core(), mine}, "--config", write(t, "{groups: {coordinator: mine}, log: {level: loud}}"))
	require.NotContains(t, got, "groups.coordinator")
}

// What only the start finds wrong has its origin, too.
func TestOriginOfLateFaults(t *testing.T) {
	t.Parallel()
	path := write(t, "sasl: {mechanisms: [OAUTHBEARER]}")
	require.Equal(t, "kafka-gateway: sasl.mechanisms: OAUTHBEARER: it has no keys; set sasl.oauthbearer.jwks (file "+path+")\n",
		failing(t, []fx.Option{gateway.Plugins()}, "--config", path, "--admin.listen=", "--protocol=SASL_PLAINTEXT"))
	require.Regexp(t, `FAIL +configuration +sasl\.mechanisms: OAUTHBEARER: it has no keys; set sasl\.oauthbearer\.jwks \(file `,
		failing(t, []fx.Option{gateway.Plugins()}, "doctor", "--config", path, "--admin.listen=", "--listen=127.0.0.1:1"))
	users := write(t, "admin:secret")
	require.Regexp(t, `FAIL +configuration +sasl\.users_file: .*: line 1: .* \(flag --sasl\.users_file\)\n`,
		failing(t, []fx.Option{gateway.Plugins()}, "doctor", "--admin.listen=", "--listen=127.0.0.1:1", "--sasl.users_file", users))
	l := loaded{origin: map[string]string{"iggy.password": "env X"}}
	require.EqualError(t, l.cause(errors.New("iggy.username, iggy.password: no\nno key: no\nlog.level: no")),
		"iggy.username, iggy.password: no (env X)\nno key: no\nlog.level: no")
}
