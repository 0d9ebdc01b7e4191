package secured

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// The users. Nobody but Alice may do anything, on listeners that want logins.
const (
	Alice = "alice"
	// Mallory can log in, and no more.
	Mallory = "mallory"
)

// passwordOf is the password of a user, which is never the name.
func passwordOf(user string) string { return user + "-secret" }

// Server is a running gateway, or a Kafka broker.
type Server struct {
	// Open is a listener without logins, for those who look from the side. They may do everything.
	Open string
	// sasl and ssl are listeners of these protocols; plainOnly has PLAIN alone, and elsewhere the certificate of
	// another host.
	sasl, ssl, plainOnly, elsewhere string
	tokens                          *issuer
	admin                           string // the URL of the listener for operators, or ""
	// PEM files
	ca, otherCA, server, elsewherePEM, alice, mallory, stranger string
}

// rules make users of the names of certificates.
const rules = "RULE:^CN=([^,]+)$/$1/,DEFAULT"

// Start runs the server until the end of the test. Logins are good for reauth: 0 for without end.
func Start(t testing.TB, reauth time.Duration) *Server {
	t.Helper()
	s := prepare(t)
	if jars := os.Getenv(kafkaVar); jars != "" {
		s.startKafka(t, jars, reauth)
	} else {
		s.startGateway(t, reauth)
	}
	s.makeUsers(t)
	return s
}

// prepare makes authorities, certificates and the issuer of tokens.
func prepare(t testing.TB) *Server {
	t.Helper()
	folder := t.TempDir()
	ours, others := ssltest.NewAuthority(t), ssltest.NewAuthority(t)
	write := func(name string, parts ...[]byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, slices.Concat(parts...), 0o600))
		return path
	}
	issue := func(name string, by *ssltest.Authority, opts ...ssltest.Option) string {
		issued := by.Issue(t, opts...)
		return write(name, issued.Key, issued.Certificate)
	}
	otherHost := func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"other.example.com"}, nil }
	return &Server{
		tokens: newIssuer(t, folder),
		ca:     write("ca.pem", ours.PEM), otherCA: write("other-ca.pem", others.PEM),
		server: issue("server.pem", ours, ssltest.Server()), elsewherePEM: issue("elsewhere.pem", ours, ssltest.Server(), otherHost),
		alice: issue("alice.pem", ours, ssltest.Client(Alice)), mallory: issue("mallory.pem", ours, ssltest.Client(Mallory)),
		stranger: issue("stranger.pem", others, ssltest.Client(Alice)),
	}
}

func (s *Server) startGateway(t testing.TB, reauth time.Duration) {
	t.Helper()
	s.Open = gatewaytest.Start(t,
		gatewaytest.Listener("sasl", server.ListenerConfig{Protocol: "SASL_SSL"}, &s.sasl),
		gatewaytest.Listener("ssl", server.ListenerConfig{Protocol: "SSL", ClientAuth: "required", ClientCA: s.ca}, &s.ssl),
		gatewaytest.Listener("plainonly", server.ListenerConfig{Protocol: "SASL_SSL", Mechanisms: []string{Plain}}, &s.plainOnly),
		gatewaytest.Listener("elsewhere", server.ListenerConfig{Protocol: "SASL_SSL", Certificate: s.elsewherePEM}, &s.elsewhere),
		gatewaytest.Admin(&s.admin),
		gatewaytest.Config(func(c *app.Config) {
			c.Groups.RetainClientIdentity = "true"
			c.TLS.Certificate, c.TLS.PrincipalMappingRules = s.server, rules
			c.SASL.OAuthBearer.JWKS, c.SASL.OAuthBearer.Issuer, c.SASL.OAuthBearer.Audience = s.tokens.jwks, issuerName, []string{audience}
			c.SASL.Logins.MaxReauth = reauth
			// All come from one address here; growing delays would make the others wait that fail beside.
			c.SASL.Logins.FailureDelay, c.SASL.Logins.MaxFailureDelay = time.Millisecond, time.Millisecond
			c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", superUsers()
		}))
}

func superUsers() []string { return []string{"User:ANONYMOUS", "User:" + Alice} }

// makeUsers gives Alice and Mallory their passwords.
func (s *Server) makeUsers(t testing.TB) {
	t.Helper()
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(s.Open))
	require.NoError(t, err)
	defer admin.Close()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		var users []kadm.UpsertSCRAM
		for _, name := range []string{Alice, Mallory} {
			users = append(users, kadm.UpsertSCRAM{User: name, Mechanism: mechanism, Iterations: 4096, Password: passwordOf(name)})
		}
		altered, err := admin.AlterUserSCRAMs(t.Context(), nil, users) // a user may be in a request once
		require.NoError(t, err)
		require.NoError(t, altered.Error())
	}
}

// Login returns how a user gets in by a mechanism.
func (s *Server) Login(t testing.TB, mechanism, user string) Login {
	t.Helper()
	l := Login{
		Name: mechanism, Address: s.sasl, Mechanism: mechanism, User: user, Password: passwordOf(user), CA: s.ca,
		TokenURL: s.tokens.url + "/token",
	}
	switch mechanism {
	case Certificate:
		l.Address, l.PEM = s.ssl, map[string]string{Alice: s.alice, Mallory: s.mallory}[user]
	case OAuthBearer:
		token, err := s.tokens.token(user, tokenLife)
		require.NoError(t, err)
		l.Token = token
	}
	return l
}

// Mechanisms are all that there is.
func Mechanisms() []string { return []string{Plain, Scram256, Scram512, OAuthBearer, Certificate} }

// Logins returns Alice's, one for each mechanism.
func (s *Server) Logins(t testing.TB) []Login {
	t.Helper()
	var out []Login
	for _, mechanism := range Mechanisms() {
		out = append(out, s.Login(t, mechanism, Alice))
	}
	return out
}

// TokenURLs are the values of AllowedURLs.
func (s *Server) TokenURLs() string { return s.tokens.url + "/token," + s.tokens.url + "/expired" }
