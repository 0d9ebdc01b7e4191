package javascript

import (
	"testing"
	"time"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestSecured(t *testing.T) {
	t.Parallel()
	library(t).Run(t)
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	library(t).Renew(t, true, 10*time.Second)
}

// library is what is known of it.
func library(t *testing.T) clienttest.Secured {
	return clienttest.Secured{
		Traits: clienttest.Traits{UnorderedHeaders: true},
		Says: map[string]string{
			secured.WrongPassword:      "KafkaJSSASLAuthenticationError",
			secured.BadToken:           "Closed connection",
			secured.NotEnabled:         "does not support the requested SASL mechanism",
			secured.UnknownAuthority:   "unable to verify",
			secured.OtherHost:          "altnames",
			secured.NoCertificate:      " alert ",
			secured.StrangeCertificate: " alert ",
			secured.NotAllowed:         "authorization failed",
		},
		// It takes the answer, which has no code yet, for a success, and goes on with a request.
		Silent: []string{secured.BadToken},
		Brief:  true,
		Open:   clienttest.LogsIn("node", "kafkajs.js", install(t)),
	}
}
