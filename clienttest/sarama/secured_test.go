package sarama

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

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
			secured.WrongPassword:      "SASL Authentication failed",
			secured.BadToken:           "SASL Authentication failed",
			secured.NotEnabled:         "run out of available brokers",
			secured.UnknownAuthority:   "certificate signed by unknown authority",
			secured.OtherHost:          "doesn't contain any IP SANs",
			secured.NoCertificate:      "remote error: tls: ",
			secured.StrangeCertificate: "remote error: tls: ",
			secured.NotAllowed:         "not authorized to access this topic",
		},
		// It says four characters, \x01, instead of that byte: to Kafka another token, and no good one.
		Silent: []string{secured.BadToken},
		Open: func(t *testing.T, l secured.Login) (clienttest.Client, error) {
			config := settings(sarama.MaxVersion)
			config.Metadata.Retry.Max = 0
			login(t, config, l)
			return open(l.Address, config)
		},
	}
}

// login says how to log in.
func login(t *testing.T, config *sarama.Config, l secured.Login) {
	config.Net.TLS.Enable, config.Net.TLS.Config = true, l.TLS(t)
	if l.Mechanism == secured.Certificate {
		return
	}
	sasl := &config.Net.SASL
	sasl.Enable, sasl.Mechanism, sasl.User, sasl.Password = true, sarama.SASLMechanism(l.Mechanism), l.User, l.Password
	sasl.TokenProvider = token(l.Token)
	hash := scram.SHA256
	if l.Mechanism == secured.Scram512 {
		hash = scram.SHA512
	}
	sasl.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &conversation{hash: hash} }
}

// token is always the same.
type token string

func (k token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(k)}, nil
}

// conversation is one login by SCRAM, for which Sarama brings no code.
type conversation struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (c *conversation) Begin(user, password, authz string) error {
	client, err := c.hash.NewClient(user, password, authz)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}
