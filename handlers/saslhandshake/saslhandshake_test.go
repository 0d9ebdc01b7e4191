package saslhandshake_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
	"github.com/iggykafka/gateway/handlers/saslhandshake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, saslhandshake.New()) }

func TestReadme(t *testing.T) { handlertest.Readme(t, saslhandshake.New(), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, saslhandshake.New()) }

// TestScenarios runs against the login of a connection; see sasltest.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata/logins", func(t *testing.T) handlertest.Env {
		login, commands := sasltest.Scenario(t)
		return handlertest.Env{Handler: saslhandshake.New(), Call: handler.Call{Login: login}, Commands: commands}
	})
	handlertest.Scenarios(t, "testdata/none", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: saslhandshake.New()}
	})
}

// The login is told version and mechanism as they came.
func TestLoginIsAsked(t *testing.T) {
	t.Parallel()
	for v := int16(0); v <= 1; v++ {
		login := &sasltest.Login{Mechanisms: []string{"A", "B"}, Code: 33}
		resp, err := saslhandshake.New().Handle(context.Background(), handler.Call{Login: login},
			&kmsg.SASLHandshakeRequest{Version: v, Mechanism: "C"})
		require.NoError(t, err)
		back, err := handlertest.RoundTrip(resp, v)
		require.NoError(t, err)
		require.Equal(t, &kmsg.SASLHandshakeResponse{Version: v, ErrorCode: 33, SupportedMechanisms: []string{"A", "B"}}, back)
		require.Equal(t, []string{"C"}, login.Asked)
		require.Equal(t, v, login.Version)
	}
}
