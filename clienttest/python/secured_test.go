package python

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestConfluentSecured(t *testing.T) {
	runSecured(t, "confluent.py", clienttest.Secured{Says: map[string]string{
		secured.WrongPassword:      "SASL authentication error: ",
		secured.BadToken:           "SASL authentication error: ",
		secured.NotEnabled:         "Unsupported SASL mechanism",
		secured.UnknownAuthority:   "certificate verify failed",
		secured.OtherHost:          "certificate verify failed",
		secured.NoCertificate:      " alert ",
		secured.StrangeCertificate: " alert ",
		secured.NotAllowed:         "TOPIC_AUTHORIZATION_FAILED",
	}})
}

func TestKafkaPythonSecured(t *testing.T) {
	runSecured(t, "kafkapython.py", clienttest.Secured{Says: map[string]string{
		secured.WrongPassword:      "SaslAuthenticationFailedError",
		secured.BadToken:           "SaslAuthenticationFailedError",
		secured.NotEnabled:         "", // the connection closes after the answer, and it looks at that first
		secured.UnknownAuthority:   "certificate verify failed",
		secured.OtherHost:          "IP address mismatch",
		secured.NoCertificate:      " alert ",
		secured.StrangeCertificate: " alert ",
		secured.NotAllowed:         "TopicAuthorizationFailedError",
	}})
}

func TestAioKafkaSecured(t *testing.T) {
	runSecured(t, "aio.py", clienttest.Secured{
		Says: map[string]string{
			secured.WrongPassword:      "SaslAuthenticationFailed",
			secured.BadToken:           "closed",
			secured.NotEnabled:         "UnsupportedSaslMechanism",
			secured.UnknownAuthority:   "certificate verify failed",
			secured.OtherHost:          "IP address mismatch",
			secured.NoCertificate:      "KafkaConnectionError",
			secured.StrangeCertificate: "KafkaConnectionError",
			secured.NotAllowed:         "TopicAuthorizationFailedError",
		},
		// It takes the answer, which has no code yet, for a success, and goes on with a request.
		Silent: []string{secured.BadToken},
	})
}

func runSecured(t *testing.T, script string, l clienttest.Secured) {
	t.Parallel()
	python := install(t)
	l.Brief = true
	l.Open = func(t *testing.T, login secured.Login) (clienttest.Client, error) {
		text, err := json.Marshal(login)
		require.NoError(t, err)
		return clienttest.Script(t, login.Address, python, "-B", "-X", "faulthandler", script, string(text)), nil
	}
	l.Run(t)
}
