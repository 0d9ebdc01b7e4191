//go:build cgo

package confluent

import (
	"context"
	"strings"
	"testing"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
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
	library().Renew(t, true, 0)
}

// library is what is known of it.
func library() clienttest.Secured {
	return clienttest.Secured{
		Says: map[string]string{
			secured.WrongPassword:      "SASL authentication error: ",
			secured.BadToken:           "SASL authentication error: ",
			secured.NotEnabled:         "Unsupported SASL mechanism",
			secured.UnknownAuthority:   "certificate verify failed",
			secured.OtherHost:          "certificate verify failed",
			secured.NoCertificate:      " alert ",
			secured.StrangeCertificate: " alert ",
			secured.NotAllowed:         "Authorization failed",
		},
		Open: func(_ *testing.T, l secured.Login) (clienttest.Client, error) { return open(settings(l), handed(l)) },
		Refused: func(ctx context.Context, t *testing.T, l secured.Login) error {
			c, err := open(settings(l), handed(l))
			require.NoError(t, err)
			defer c.AdminClient.Close()
			return c.refused(ctx, t)
		},
	}
}

func settings(l secured.Login) kafka.ConfigMap {
	config := kafka.ConfigMap{}
	for key, value := range l.Librdkafka(false) {
		config[key] = value
	}
	return config
}

// handed is the token that is handed to librdkafka.
func handed(l secured.Login) string {
	if l.Mechanism == secured.OAuthBearer {
		return l.Token
	}
	return ""
}

// refused returns the first event that says why librdkafka does not get in. It goes on trying for ever, and what it
// was asked for runs into a timeout.
func (c *client) refused(ctx context.Context, t *testing.T) error {
	producer, err := c.producer(nil)
	require.NoError(t, err)
	defer producer.Close()
	for {
		select {
		case event := <-producer.Events():
			if failed, ok := event.(kafka.Error); ok && telling(failed) {
				return failed
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// telling says whether an event has a cause. Alerts of TLS 1.3 come as failures of the transport, like all that
// closes a connection.
func telling(e kafka.Error) bool {
	return e.Code() != kafka.ErrAllBrokersDown && (e.Code() != kafka.ErrTransport || strings.Contains(e.Error(), " alert "))
}
