package javascript

import (
	"testing"
	"time"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

func TestPlatformaticSecured(t *testing.T) {
	t.Parallel()
	platformaticLogins(t).Run(t)
}

func TestPlatformaticRenewal(t *testing.T) {
	t.Parallel()
	platformaticLogins(t).Renew(t, true, 10*time.Second)
}

// platformaticLogins is what is known of its logins.
func platformaticLogins(t *testing.T) clienttest.Secured {
	return clienttest.Secured{
		Traits: platformatic(t),
		Says: map[string]string{
			secured.WrongPassword:      "SASL_AUTHENTICATION_FAILED",
			secured.BadToken:           "Connection closed",
			secured.NotEnabled:         "UNSUPPORTED_SASL_MECHANISM",
			secured.UnknownAuthority:   "unable to verify",
			secured.OtherHost:          "altnames",
			secured.NoCertificate:      "Connection closed", // it says nothing of the alert
			secured.StrangeCertificate: "Connection closed",
			secured.NotAllowed:         "AUTHORIZATION_FAILED",
		},
		// It takes the answer, which has no code yet, for a success, and goes on with a request.
		Silent: []string{secured.BadToken},
		Brief:  true,
		Open:   clienttest.LogsIn("node", "platformatic.mjs", install(t)),
	}
}
