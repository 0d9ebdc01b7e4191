package ssl

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// Who resumes a session is who began it, whatever certificate there is beside it: a client that has the session of one
// user and the certificate of another is never taken for the other without the proof, nor is one without a certificate.
func TestResumedByAnother(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, auth := range []string{"requested", "required"} {
			s := newSite(t, auth)
			_, on := s.open(t, zap.NewNop())
			alice := s.client(t, s.ca.Issue(t, ssltest.Client("alice")))
			alice.MaxVersion, alice.ClientSessionCache = version, tls.NewLRUClientSessionCache(4)
			_, _, err := meet(t, on, alice)
			require.NoError(t, err)
			bob := s.client(t, s.ca.Issue(t, ssltest.Client("bob")))
			bob.MaxVersion = version
			who, _, err := meet(t, on, bob)
			require.NoError(t, err)
			require.Equal(t, security.User("CN=bob"), who)
			bob.ClientSessionCache = alice.ClientSessionCache
			who, state, err := meet(t, on, bob)
			require.NoError(t, err)
			require.True(t, state.DidResume)
			require.Equal(t, security.User("CN=alice"), who)
		}
	}
}
