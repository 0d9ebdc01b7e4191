package saslauthenticate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
	"github.com/iggykafka/gateway/handlers/saslauthenticate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, saslauthenticate.New()) }

func TestReadme(t *testing.T) { handlertest.Readme(t, saslauthenticate.New(), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, saslauthenticate.New()) }

// TestScenarios runs against the login of a connection; see sasltest.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata/logins", func(t *testing.T) handlertest.Env {
		login, commands := sasltest.Scenario(t)
		return handlertest.Env{Handler: saslauthenticate.New(), Call: handler.Call{Login: login}, Commands: commands}
	})
	handlertest.Scenarios(t, "testdata/none", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: saslauthenticate.New()}
	})
}

// What the login answers stands in the answer, at every version, and only the
// versions that have a lifetime tell it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for v := int16(0); v <= 2; v++ {
		login := &sasltest.Login{Answer: handler.Authenticated{Token: []byte("t"), Lifetime: 7}}
		none := ""
		require.Equal(t, &kmsg.SASLAuthenticateResponse{
			Version: v, ErrorMessage: &none, SASLAuthBytes: []byte("t"), SessionLifetimeMillis: map[int16]int64{1: 7, 2: 7}[v],
		}, ask(t, login, v))
		require.Equal(t, []string{"token"}, login.Asked)

		login.Answer = handler.Authenticated{Code: 58, Message: "no"}
		message := "no"
		require.Equal(t, &kmsg.SASLAuthenticateResponse{
			Version: v, ErrorCode: 58, ErrorMessage: &message, SASLAuthBytes: []byte{},
		}, ask(t, login, v))
	}
}

func ask(t *testing.T, login handler.Login, version int16) kmsg.Response {
	t.Helper()
	resp, err := saslauthenticate.New().Handle(context.Background(), handler.Call{Login: login},
		&kmsg.SASLAuthenticateRequest{Version: version, SASLAuthBytes: []byte("token")})
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, version)
	require.NoError(t, err)
	return back
}

// A login that nobody could check ends without an answer.
func TestClose(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := saslauthenticate.New().Handle(context.Background(),
		handler.Call{Login: &sasltest.Login{Answer: handler.Authenticated{Err: broken}}}, &kmsg.SASLAuthenticateRequest{})
	require.ErrorIs(t, err, broken)
}

// The wait after a failure ends when the gateway shuts down.
func TestDrainEndsTheWait(t *testing.T) {
	t.Parallel()
	drain, begin := context.WithCancel(context.Background())
	begin()
	login := &waiting{}
	_, err := saslauthenticate.New().Handle(context.Background(), handler.Call{Login: login, Drain: drain}, &kmsg.SASLAuthenticateRequest{})
	require.ErrorIs(t, err, context.Canceled)
}

// waiting answers when its context ends.
type waiting struct{ sasltest.Login }

func (*waiting) Authenticate(ctx context.Context, _ []byte) handler.Authenticated {
	<-ctx.Done()
	return handler.Authenticated{Err: ctx.Err()}
}
