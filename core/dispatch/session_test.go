package dispatch

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// scripted is a Session that a test holds.
type scripted struct {
	Session
	bare     bool
	refuse   error
	answer   func(token []byte) handler.Authenticated
	spec     handler.Spec
	version  int16
	clientID string
}

func (s *scripted) Bare() bool                    { return s.bare }
func (s *scripted) Principal() security.Principal { return security.User("alice") }

func (s *scripted) Admit(spec handler.Spec, version int16, clientID string) error {
	s.spec, s.version, s.clientID = spec, version, clientID
	return s.refuse
}

func (s *scripted) Authenticate(_ context.Context, token []byte) handler.Authenticated {
	return s.answer(token)
}

// token sends a bare token.
func (b *bench) token(token string) ([]byte, error) {
	out, err := b.Dispatch(context.Background(), &b.from, []byte(token), &b.lease, &b.pool)
	if out == nil {
		return nil, err
	}
	return whole(b.t, out), err
}

// A bare token has no header, and neither has its answer. It may have any length.
func TestBareToken(t *testing.T) {
	t.Parallel()
	b := open(t, defaults)
	s := &scripted{bare: true}
	b.from.Session = s
	var got string
	for _, c := range []struct{ token, answer, want string }{
		{"\x01", "", "\x00\x00\x00\x00"},
		{"t", "answer", "\x00\x00\x00\x06answer"},
	} {
		s.answer = func(token []byte) handler.Authenticated {
			got = string(token)
			return handler.Authenticated{Token: []byte(c.answer), Lifetime: 7}
		}
		out, err := b.token(c.token)
		require.NoError(t, err)
		require.Equal(t, c.want, string(out))
		require.Equal(t, c.token, got)
	}
}

// A login that fails by bare tokens ends without an answer, whatever failed.
func TestBareTokenFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for reason, answer := range map[Reason]func([]byte) handler.Authenticated{
		LoginRefused: func([]byte) handler.Authenticated { return handler.Authenticated{Code: 58, Message: "wrong"} },
		"":           func([]byte) handler.Authenticated { return handler.Authenticated{Err: broken} },
		Panicked:     func([]byte) handler.Authenticated { panic(broken) },
	} {
		b := open(t, defaults)
		b.from.Session = &scripted{bare: true, answer: answer}
		out, err := b.token("t")
		require.Nil(t, out)
		var failed *Error
		require.ErrorAs(t, err, &failed)
		if reason == "" {
			require.ErrorIs(t, err, broken)
			reason = LoginRefused
		}
		require.Equal(t, reason, failed.Reason)
		require.Equal(t, reason == Panicked, failed.Stack != nil)
	}
}

// A session is asked before every request of a known key, and told the version as the
// client sent it.
func TestSessionAdmits(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.ApiVersions(), dispatchtest.Heartbeat(nil))
	s := &scripted{}
	b.from.Session = s
	send := func(p []byte) error {
		_, err := b.Dispatch(context.Background(), &b.from, p, &b.lease, &b.pool)
		return err
	}
	require.NoError(t, send(payload(kmsg.NewPtrHeartbeatRequest(), 3)))
	require.EqualValues(t, 12, s.spec.Key)
	require.EqualValues(t, 3, s.version)
	require.Equal(t, "me", s.clientID)
	require.NoError(t, send(raw(18, 99)))
	require.EqualValues(t, 18, s.spec.Key)
	require.EqualValues(t, 99, s.version)

	s.refuse = errors.New("not yet")
	for _, p := range [][]byte{payload(kmsg.NewPtrHeartbeatRequest(), 3), raw(18, 99)} {
		err := send(p)
		require.ErrorIs(t, err, s.refuse)
		require.ErrorIs(t, err, ErrLogin)
		var failed *Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, LoginRefused, failed.Reason)
	}
}

// A handler that ends a login without an answer is no fault of the gateway.
func TestLoginOfAHandler(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.Heartbeat(func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
		return nil, ErrLogin
	}))
	_, err := b.Dispatch(context.Background(), &b.from, payload(kmsg.NewPtrHeartbeatRequest(), 0), &b.lease, &b.pool)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, LoginRefused, failed.Reason)
}
