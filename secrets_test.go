package gateway_test

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
	"github.com/iggykafka/gateway/security/users"
)

// secrets are what must not be found anywhere, by what each is.
type secrets map[string]string

// spellings are the ways that a secret may be written in.
func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{
		secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)),
	}
}

// requireNoneIn looks for the secrets in what the gateway wrote.
func (s secrets) requireNoneIn(t *testing.T, where, written string) {
	t.Helper()
	require.NotEmpty(t, written, where)
	for what, secret := range s {
		for _, spelling := range spellings(secret) {
			if strings.Contains(written, spelling) {
				t.Errorf("%s shows %s", where, what)
				break
			}
		}
	}
}

// login is a way to log in, rightly and wrongly. A mechanism that is added to the
// gateway gets a line here.
type login struct{ right, wrong sasl.Mechanism }

// The gateway writes no secret: not at debug, not in metrics, pages, traces, answers,
// in what config prints, nor in the errors of a start.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const stored, guessed, changed = "right-Password-4711", "wrong-Password-0815", "next-Password-1234"
	s := secrets{
		"a password": stored, "a wrong password": guessed, "a new password": changed,
		"the password of Iggy": "iggy-Password-99", "the token of Iggy": "iggy-Token-4242", "the password of the collector": "trace-Password-7",
	}
	folder, program := t.TempDir(), program(t)
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	collector := &sink{}
	traces := httptest.NewServer(collector)
	defer traces.Close()

	// Credentials, a certificate and the keys of tokens.
	sha256Of, keys256 := credential(t, security.ScramSHA256, stored)
	sha512Of, keys512 := credential(t, security.ScramSHA512, stored)
	for name, value := range keys256 {
		s["SHA-256: "+name] = value
	}
	for name, value := range keys512 {
		s["SHA-512: "+name] = value
	}
	ca := ssltest.NewAuthority(t)
	own := ca.Issue(t, ssltest.Server())
	files := own.Write(t, folder)
	s["the private key"] = strings.Split(string(own.Key), "\n")[1]
	private, public := tokenKey(t)
	token := signed(t, private, time.Hour)
	expired := signed(t, private, -time.Hour)
	s["a token"], s["an expired token"] = token, expired
	s["the signature of a token"] = token[strings.LastIndex(token, ".")+1:]

	config := file("config.yaml", fmt.Sprintf(`
listen: 127.0.0.1:0
listeners:
  secure: {listen: "127.0.0.1:0", protocol: SASL_SSL}
tls: {certificate: %s, key: %s}
sasl:
  users_file: %s
  failure_delay: 0s
  oauthbearer: {jwks: %s, allow_unverified_issuer: true, allow_unverified_audience: true}
authorization: {authorizer: acls, super_users: ["User:ANONYMOUS"]}
iggy: {password: %q, token: %q}
storage: {dir: %s}
admin: {listen: "127.0.0.1:0", pprof: true}
tracing: {endpoint: %q, sample_ratio: 1}
log: {level: debug, format: json}
`, files.Certificate, files.Key, file("users", sha256Of+"\n"+sha512Of+"\n"), file("jwks", public),
		s["the password of Iggy"], s["the token of Iggy"], filepath.Join(folder, "data"),
		strings.Replace(traces.URL, "http://", "http://tracer:"+s["the password of the collector"]+"@", 1)))

	dump, err := exec.Command(program, "config", "--config", config).CombinedOutput()
	require.NoError(t, err, "%s", dump)
	s.requireNoneIn(t, "config", string(dump))

	gw := run(t, program, "--config", config)
	trust := &tls.Config{RootCAs: ca.Pool()}
	secure := func(opts ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(gw.listeners["secure"]), kgo.DialTLSConfig(trust), kgo.RequestRetries(0))...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	for _, l := range []login{
		{plain.Auth{User: "alice", Pass: stored}.AsMechanism(), plain.Auth{User: "alice", Pass: guessed}.AsMechanism()},
		{scram.Auth{User: "alice", Pass: stored}.AsSha256Mechanism(), scram.Auth{User: "alice", Pass: guessed}.AsSha256Mechanism()},
		{scram.Auth{User: "alice", Pass: stored}.AsSha512Mechanism(), scram.Auth{User: "alice", Pass: guessed}.AsSha512Mechanism()},
		{oauth.Auth{Token: token}.AsMechanism(), oauth.Auth{Token: expired}.AsMechanism()},
		{plain.Auth{User: "bob", Pass: stored}.AsMechanism(), plain.Auth{Zid: guessed, User: "alice", Pass: stored}.AsMechanism()},
	} {
		err := secure(kgo.SASL(l.wrong)).Ping(t.Context())
		require.ErrorIs(t, err, kerr.SaslAuthenticationFailed)
		s.requireNoneIn(t, "the error of "+l.wrong.Name(), err.Error())
		if user, isPlain := l.right.(interface{ Name() string }); isPlain && user.Name() == "PLAIN" {
			_ = secure(kgo.SASL(l.right)).Ping(t.Context()) // bob does not exist
			continue
		}
		right := secure(kgo.SASL(l.right))
		require.NoError(t, right.Ping(t.Context()), l.right.Name())
		answer, err := right.Request(t.Context(), kmsg.NewPtrDescribeACLsRequest()) // denied, and audited
		require.NoError(t, err)
		require.Equal(t, kerr.ClusterAuthorizationFailed.Code, answer.(*kmsg.DescribeACLsResponse).ErrorCode)
	}

	// Credentials are changed, shown and deleted, and so are configs.
	open, err := kgo.NewClient(kgo.SeedBrokers(gw.listeners["default"]))
	require.NoError(t, err)
	defer open.Close()
	salted, err := pbkdf2.Key(sha512.New, changed, []byte("salt"), 4096, sha512.Size)
	require.NoError(t, err)
	s["a salted password"] = string(salted)
	alter := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, iterations := range []int32{1, 4096} { // one that is refused, and one that is not
		one := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
		one.Name, one.Mechanism, one.Iterations, one.Salt, one.SaltedPassword = fmt.Sprint("user", iterations), security.ScramSHA512, iterations, []byte("salt"), salted
		alter.Upsertions = append(alter.Upsertions, one)
	}
	var answers strings.Builder
	describe := kmsg.NewPtrDescribeConfigsRequest()
	broker := kmsg.NewDescribeConfigsRequestResource()
	broker.ResourceType, broker.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
	describe.Resources = append(describe.Resources, broker)
	for _, request := range []kmsg.Request{alter, kmsg.NewPtrDescribeUserSCRAMCredentialsRequest(), describe, kmsg.NewPtrDescribeClientQuotasRequest()} {
		answer, err := open.Request(t.Context(), request)
		require.NoError(t, err)
		fmt.Fprintf(&answers, "%s\n%+v\n", answer.AppendTo(nil), answer)
	}
	s.requireNoneIn(t, "an answer", answers.String())

	for path, page := range crawl(t, gw.admin) {
		s.requireNoneIn(t, path, page)
	}
	require.Eventually(t, func() bool { return strings.Contains(collector.String(), "SASLAuthenticate") }, time.Minute, 50*time.Millisecond)
	written := gw.stop(t)
	for _, line := range []string{"a login was refused", "an operation was denied"} {
		require.Contains(t, written, line)
	}
	s.requireNoneIn(t, "the log", written)
	s.requireNoneIn(t, "a trace", collector.String())

	// Faults of the start.
	for _, flags := range [][]string{
		{"--tls.certificate", files.Key}, {"--sasl.users_file", file("broken", sha512Of+"x\n")}, {"--sasl.users_file", files.Key},
		{"--tracing.endpoint", "htp://tracer:" + s["the password of the collector"] + "@host"},
		{"--sasl.oauthbearer.jwks", "http://keys:" + s["the password of the collector"] + "@example.com"},
	} {
		out, err := exec.Command(program, append([]string{"--config", config}, flags...)...).CombinedOutput()
		require.Error(t, err, "%v: %s", flags, out)
		s.requireNoneIn(t, strings.Join(flags[:1], " "), string(out))
	}
}

// credential returns the line of a user, and what of it is a secret.
func credential(t *testing.T, mechanism int8, password string) (line string, keys map[string]string) {
	t.Helper()
	hash, size := sha256.New, sha256.Size
	if mechanism == security.ScramSHA512 {
		hash, size = sha512.New, sha512.Size
	}
	salt := []byte("a salt of alice!")
	salted, err := pbkdf2.Key(hash, password, salt, 4096, size)
	require.NoError(t, err)
	keyed := func(word string) []byte {
		h := hmac.New(hash, salted)
		h.Write([]byte(word))
		return h.Sum(nil)
	}
	stored := hash()
	stored.Write(keyed("Client Key"))
	c := security.ScramCredential{Iterations: 4096, Salt: salt, StoredKey: stored.Sum(nil), ServerKey: keyed("Server Key")}
	return users.FormatLine("alice", mechanism, c), map[string]string{
		"salted password": string(salted), "client key": string(keyed("Client Key")), "stored key": string(c.StoredKey), "server key": string(c.ServerKey),
	}
}
