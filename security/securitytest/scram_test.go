package securitytest_test

import (
	"testing"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestUsers(t *testing.T) {
	securitytest.ScramCredentials(t, func(*testing.T) (security.ScramCredentials, func() security.ScramCredentials) {
		return &securitytest.Users{}, nil
	})
}
