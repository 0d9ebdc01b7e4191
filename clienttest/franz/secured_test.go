package franz

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestSecured(t *testing.T) {
	t.Parallel()
	library().Run(t)
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	library().Renew(t, true, 0)
}

// library is what is known of it.
func library() clienttest.Secured {
	return clienttest.Secured{
		Says: map[string]string{
			secured.WrongPassword:      "SASL_AUTHENTICATION_FAILED",
			secured.BadToken:           "SASL_AUTHENTICATION_FAILED",
			secured.NotEnabled:         "UNSUPPORTED_SASL_MECHANISM",
			secured.UnknownAuthority:   "certificate signed by unknown authority",
			secured.OtherHost:          "doesn't contain any IP SANs",
			secured.NoCertificate:      "remote error: tls: ",
			secured.StrangeCertificate: "remote error: tls: ",
			secured.NotAllowed:         "TOPIC_AUTHORIZATION_FAILED",
		},
		Open: func(t *testing.T, l secured.Login) (clienttest.Client, error) { return open(options(t, l)...) },
	}
}

// options say where to connect, and how to log in.
func options(t *testing.T, l secured.Login) []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(l.Address), kgo.DialTLSConfig(l.TLS(t)), kgo.RequestRetries(1)}
	secret := scram.Auth{User: l.User, Pass: l.Password}
	switch l.Mechanism {
	case secured.Plain:
		opts = append(opts, kgo.SASL(plain.Auth{User: l.User, Pass: l.Password}.AsMechanism()))
	case secured.Scram256:
		opts = append(opts, kgo.SASL(secret.AsSha256Mechanism()))
	case secured.Scram512:
		opts = append(opts, kgo.SASL(secret.AsSha512Mechanism()))
	case secured.OAuthBearer:
		opts = append(opts, kgo.SASL(oauth.Auth{Token: l.Token}.AsMechanism()))
	}
	return opts
}
