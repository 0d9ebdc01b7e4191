package scram_test

import (
	"crypto/pbkdf2"
	"testing"

	"github.com/stretchr/testify/require"
	xdg "github.com/xdg-go/scram"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/scram"
	"github.com/iggykafka/gateway/security/securitytest"
)

// It looks for goroutines that are left, so nothing runs beside it.
func TestConform(t *testing.T) {
	const secret, salt, iterations = "alice's secret of some length", "some salt", 4096
	for number, hash := range map[int8]xdg.HashGeneratorFcn{security.ScramSHA256: xdg.SHA256, security.ScramSHA512: xdg.SHA512} {
		salted, err := pbkdf2.Key(hash, secret, []byte(salt), iterations, hash().Size())
		require.NoError(t, err)
		c := security.NewScramCredential(number, salted, []byte(salt), iterations)
		users := &securitytest.Users{}
		require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{{User: "alice", Mechanism: number, Credential: &c}}))
		login := func(user, password, as string) func() (securitytest.Login, error) {
			return func() (securitytest.Login, error) {
				client, err := hash.NewClient(user, password, as)
				if err != nil {
					return nil, err
				}
				conversation := client.NewConversation()
				return func(challenge []byte) ([]byte, error) {
					token, err := conversation.Step(string(challenge))
					return []byte(token), err
				}, nil
			}
		}
		m := scram.New(number, users)
		t.Run(m.Name(), func(t *testing.T) {
			securitytest.Mechanisms(t, func(*testing.T) securitytest.Mechanism {
				return securitytest.Mechanism{
					Mechanism: m, User: "alice", Right: login("alice", secret, ""),
					Secrets: []string{secret, string(c.StoredKey), string(c.ServerKey), string(salted)},
					Wrong: map[string]func() (securitytest.Login, error){
						"another password": login("alice", "another", ""),
						"unknown user":     login("nobody", secret, ""),
						"somebody else":    login("alice", secret, "bob"),
					},
				}
			})
		})
	}
}
