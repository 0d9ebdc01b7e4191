package python

import (
	"testing"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestConfluentSecured(t *testing.T) { t.Parallel(); confluent(t).Run(t) }

func TestKafkaPythonSecured(t *testing.T) { t.Parallel(); kafkaPython(t).Run(t) }

func TestAioKafkaSecured(t *testing.T) { t.Parallel(); aioKafka(t).Run(t) }

func TestConfluentRenewal(t *testing.T) { t.Parallel(); confluent(t).Renew(t, true, 0) }

// kafka-python is not among these. When the coordinator's connection closes, two of its threads log in on the next one at
// the same time, now and then both read from it, and TLS breaks or they wait for ever.

func TestAioKafkaRenewal(t *testing.T) { t.Parallel(); aioKafka(t).Renew(t, false, 0) }

func confluent(t *testing.T) clienttest.Secured {
	return secure(t, "confluent.py", clienttest.Secured{Says: map[string]string{
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

func kafkaPython(t *testing.T) clienttest.Secured {
	return secure(t, "kafkapython.py", clienttest.Secured{Says: map[string]string{
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

func aioKafka(t *testing.T) clienttest.Secured {
	return secure(t, "aio.py", clienttest.Secured{
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

// secure adds how a script is opened.
func secure(t *testing.T, script string, l clienttest.Secured) clienttest.Secured {
	l.Brief = true
	l.Open = clienttest.LogsIn(install(t), "-B", "-X", "faulthandler", script)
	return l
}
