package secured

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ways to log in. Certificate has no SASL: a client's certificate says who it is.
const (
	Plain       = "PLAIN"
	Scram256    = "SCRAM-SHA-256"
	Scram512    = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
	Certificate = "SSL"
)

// Login is what a client is told, and what it shows. Scripts of other languages read it as JSON.
type Login struct {
	// Name is that of a subtest.
	Name string `json:"name"`
	// Address is where to connect.
	Address string `json:"address"`
	// Mechanism is one of the constants.
	Mechanism string `json:"mechanism"`
	User      string `json:"user"`
	Password  string `json:"password"`
	// Token is what OAUTHBEARER shows. TokenURL hands it out to clients that fetch tokens (RFC 6749, 4.4), with
	// User and Password for client id and secret.
	Token    string `json:"token"`
	TokenURL string `json:"token_url"`
	// CA is the PEM file of the authorities that the client trusts.
	CA string `json:"ca"`
	// PEM is the file with certificate and key that the client shows; "" for none.
	PEM string `json:"pem"`
}

// Over says "SASL_SSL" or "SSL".
func (l Login) Over() string {
	if l.Mechanism == Certificate {
		return "SSL"
	}
	return "SASL_SSL"
}

// TLS returns the settings for clients in Go.
func (l Login) TLS(t testing.TB) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(l.CA)
	require.NoError(t, err)
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	require.True(t, config.RootCAs.AppendCertsFromPEM(ca))
	if l.PEM != "" {
		pair, err := tls.LoadX509KeyPair(l.PEM, l.PEM)
		require.NoError(t, err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// Librdkafka returns the settings of librdkafka. It is handed tokens by its caller, except where fetching is set.
func (l Login) Librdkafka(fetching bool) map[string]string {
	out := map[string]string{
		"bootstrap.servers": l.Address, "security.protocol": strings.ToLower(l.Over()), "ssl.ca.location": l.CA,
	}
	if l.PEM != "" {
		out["ssl.certificate.location"], out["ssl.key.location"] = l.PEM, l.PEM
	}
	switch l.Mechanism {
	case Certificate:
		return out
	case OAuthBearer:
		if fetching {
			out["sasl.oauthbearer.method"], out["sasl.oauthbearer.token.endpoint.url"] = "oidc", l.TokenURL
			out["sasl.oauthbearer.client.id"], out["sasl.oauthbearer.client.secret"] = l.User, l.Password
		}
	default:
		out["sasl.username"], out["sasl.password"] = l.User, l.Password
	}
	out["sasl.mechanism"] = l.Mechanism
	return out
}

// Properties writes a file for Kafka's tools and Java clients, and returns its path. More settings may be added.
// Java wants to be told by the system property AllowedURLs where tokens may come from.
func (l Login) Properties(t testing.TB, more map[string]string) string {
	t.Helper()
	out := map[string]string{
		"security.protocol": l.Over(), "ssl.truststore.type": "PEM", "ssl.truststore.location": l.CA,
	}
	if l.PEM != "" {
		out["ssl.keystore.type"], out["ssl.keystore.location"] = "PEM", l.PEM
	}
	if l.Mechanism != Certificate {
		out["sasl.mechanism"], out["sasl.jaas.config"] = l.Mechanism, l.jaas()
	}
	if l.Mechanism == OAuthBearer {
		out["sasl.oauthbearer.token.endpoint.url"] = l.TokenURL
		out["sasl.login.callback.handler.class"] = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
	}
	maps.Copy(out, more)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(out)) {
		fmt.Fprintf(&text, "%s=%s\n", key, out[key])
	}
	file, err := os.CreateTemp(t.TempDir(), "*.properties")
	require.NoError(t, err)
	_, err = file.WriteString(text.String())
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return file.Name()
}

// AllowedURLs is the system property that says where Java may fetch tokens.
const AllowedURLs = "org.apache.kafka.sasl.oauthbearer.allowed.urls"

func (l Login) jaas() string {
	module, user, password := "scram.ScramLoginModule", "username", "password"
	switch l.Mechanism {
	case Plain:
		module = "plain.PlainLoginModule"
	case OAuthBearer:
		module, user, password = "oauthbearer.OAuthBearerLoginModule", "clientId", "clientSecret"
	}
	return fmt.Sprintf(`org.apache.kafka.common.security.%s required %s="%s" %s="%s";`, module, user, l.User, password, l.Password)
}
