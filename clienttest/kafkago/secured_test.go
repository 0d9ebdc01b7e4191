package kafkago

import (
	"context"
	"errors"
	"testing"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestSecured(t *testing.T) {
	t.Parallel()
	library().Run(t)
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	library().Renew(t, false, 0)
}

// library is what is known of it.
func library() clienttest.Secured {
	return clienttest.Secured{
		Traits: clienttest.Traits{
			NotIdempotent: true, EmptyReadsNull: true,
			Lacks: map[string]string{secured.OAuthBearer: "kafka-go brings PLAIN and SCRAM alone"},
		},
		Says: map[string]string{
			secured.WrongPassword:      "SASL Authentication Failed",
			secured.NotEnabled:         "Unsupported SASL Mechanism",
			secured.UnknownAuthority:   "certificate signed by unknown authority",
			secured.OtherHost:          "doesn't contain any IP SANs",
			secured.NoCertificate:      "remote error: tls: ",
			secured.StrangeCertificate: "remote error: tls: ",
			secured.NotAllowed:         "Topic Authorization Failed",
		},
		Silent: []string{secured.WrongPassword},
		Open: func(t *testing.T, l secured.Login) (clienttest.Client, error) {
			return open(l.Address, l.TLS(t), mechanism(t, l)), nil
		},
		// kafka.Client says nothing but that there is no broker.
		Refused: func(ctx context.Context, t *testing.T, l secured.Login) error {
			conn, err := open(l.Address, l.TLS(t), mechanism(t, l)).dialer.DialContext(ctx, "tcp", l.Address)
			if err != nil {
				return err
			}
			_, err = conn.Brokers()
			return errors.Join(err, conn.Close())
		},
	}
}

// mechanism is how to log in; nil for no SASL.
func mechanism(t *testing.T, l secured.Login) sasl.Mechanism {
	algorithm := scram.SHA256
	switch l.Mechanism {
	case secured.Plain:
		return plain.Mechanism{Username: l.User, Password: l.Password}
	case secured.Scram512:
		algorithm = scram.SHA512
	case secured.Certificate:
		return nil
	}
	m, err := scram.Mechanism(algorithm, l.User, l.Password)
	require.NoError(t, err)
	return m
}
