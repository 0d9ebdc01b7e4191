package plain_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/plain"
	"github.com/iggykafka/gateway/security/scram"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// passwords by name of the user.
type passwords map[string]string

func (p passwords) Verify(ctx context.Context, _ security.Requester, user, password string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if password == "" || p[user] != password {
		return plain.ErrWrong
	}
	return nil
}

func token(fields ...string) func() (securitytest.Login, error) {
	return func() (securitytest.Login, error) {
		return securitytest.Token([]byte(strings.Join(fields, "\x00"))), nil
	}
}

const secret = "alice's secret of some length"

func conform(m sasl.Mechanism) securitytest.Mechanism {
	return securitytest.Mechanism{
		Mechanism: m, User: "alice", Right: token("", "alice", secret), Replays: true,
		Secrets: []string{secret, "another password"},
		Wrong: map[string]func() (securitytest.Login, error){
			"another password": token("", "alice", "another password"),
			"unknown user":     token("", "nobody", secret),
			"somebody else":    token("bob", "alice", secret),
			"no password":      token("", "alice", ""),
			"no user":          token("", "", secret),
			"two fields":       token("alice", secret),
			"four fields":      token("", "alice", secret, ""),
			"no text":          token("", "alice\xff", secret),
		},
	}
}

func TestConform(t *testing.T) {
	securitytest.Mechanisms(t, func(*testing.T) securitytest.Mechanism {
		return conform(plain.New(passwords{"alice": secret, "bob": "bob's secret"}))
	})
}

// What a Kafka 4.4 broker answers.
func TestMessages(t *testing.T) {
	t.Parallel()
	m := plain.New(passwords{"alice": secret})
	for token, want := range map[string]string{
		"\x00alice\x00wrong":        "Authentication failed: Invalid username or password",
		"\x00nobody\x00x":           "Authentication failed: Invalid username or password",
		"bob\x00alice\x00wrong":     "Authentication failed: Invalid username or password",
		"\x00\x00x":                 "Authentication failed: username not specified",
		"\x00alice\x00":             "Authentication failed: password not specified",
		"bob\x00alice\x00" + secret: "Authentication failed: Client requested an authorization id that is different from username",
		"garbage":                   "Invalid SASL/PLAIN response: expected 3 tokens, got 1",
		"":                          "Invalid SASL/PLAIN response: expected 3 tokens, got 1",
		"a\x00b\x00c\x00d":          "Invalid SASL/PLAIN response: expected 3 tokens, got 4",
		"a\x00b\x00c\x00d\x00e":     "Invalid SASL/PLAIN response: expected 3 tokens, got 4",
	} {
		_, done, err := m.Begin(security.Requester{}).Next(t.Context(), []byte(token))
		require.Nil(t, done)
		var why *sasl.Refused
		require.ErrorAs(t, err, &why)
		require.Equal(t, want, why.Message, "%q", token)
	}
	_, done, err := m.Begin(security.Requester{}).Next(t.Context(), []byte("alice\x00alice\x00"+secret))
	require.NoError(t, err)
	require.Equal(t, security.User("alice"), done.Principal)
}

// failing does not know any password.
type failing struct{ why error }

func (f failing) Verify(context.Context, security.Requester, string, string) error { return f.why }

// Whoever cannot tell refuses nobody, and the audit learns of whom it could not.
func TestNobodyKnows(t *testing.T) {
	t.Parallel()
	for said, why := range map[string]error{
		"the login could not be checked: no line": errors.New("no line"),
		"the login could not be checked":          security.ErrUnavailable,
	} {
		_, _, err := plain.New(failing{why}).Begin(security.Requester{}).Next(t.Context(), []byte("\x00alice\x00x"))
		require.EqualError(t, err, said)
		require.ErrorIs(t, err, sasl.ErrUnavailable)
		require.ErrorIs(t, err, why)
		var of *sasl.Unavailable
		require.ErrorAs(t, err, &of)
		require.Equal(t, "alice", of.User)
		var refused *sasl.Refused
		require.False(t, errors.As(err, &refused))
	}
}

// The users with SCRAM credentials have the same passwords here.
func TestOverScram(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	salt := []byte("some salt")
	salted, err := pbkdf2.Key(sha256.New, secret, salt, 4096, sha256.Size)
	require.NoError(t, err)
	c := security.NewScramCredential(security.ScramSHA256, salted, salt, 4096)
	require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{
		{User: "alice", Mechanism: security.ScramSHA256, Credential: &c},
	}))
	m := plain.New(plain.Checked(scram.NewPasswords(users, nil)))
	for token, right := range map[string]bool{
		"\x00alice\x00" + secret:  true,
		"\x00alice\x00" + "wrong": false,
		"\x00bob\x00" + secret:    false,
	} {
		_, done, err := m.Begin(security.Requester{}).Next(t.Context(), []byte(token))
		require.Equal(t, right, err == nil && done != nil, "%q: %v", token, err)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	candidate := func(name string) plain.Candidate {
		return plain.Candidate{Name: name, Make: func() (plain.Passwords, error) { return passwords{"alice": name}, nil }}
	}
	m, err := plain.Choose("b", []plain.Candidate{candidate("a"), candidate("b")})
	require.NoError(t, err)
	require.NoError(t, m.Ready())
	_, done, err := m.Begin(security.Requester{}).Next(t.Context(), []byte("\x00alice\x00b"))
	require.NoError(t, err)
	require.NotNil(t, done)

	_, err = plain.Choose("c", []plain.Candidate{candidate("b"), candidate("a")})
	require.EqualError(t, err, `sasl.plain.passwords: "c" is none of a, auto, b`)
	_, err = plain.Choose("a", []plain.Candidate{candidate("a"), candidate("a")})
	require.EqualError(t, err, `sasl.plain.passwords: two candidates have the name "a"`)
	broken := plain.Candidate{Name: "a", Make: func() (plain.Passwords, error) { return nil, errors.New("no file") }}
	_, err = plain.Choose("a", []plain.Candidate{broken})
	require.EqualError(t, err, "sasl.plain.passwords: a: no file")

	m, err = plain.Choose("a", nil)
	require.NoError(t, err)
	require.Error(t, m.Ready())
}

// A program may bring passwords of its own.
func TestModule(t *testing.T) {
	t.Parallel()
	var out struct {
		fx.In
		Mechanisms []sasl.Mechanism `group:"gateway.mechanisms"`
	}
	mine := fx.Provide(func() plain.Out {
		return plain.Out{Candidate: plain.Candidate{Name: "mine", Make: func() (plain.Passwords, error) {
			return passwords{"alice": secret}, nil
		}}}
	})
	require.NoError(t, fx.New(fx.NopLogger, plain.Module, mine, fx.Supply(plain.Config{Passwords: "mine"}), fx.Populate(&out)).Err())
	require.Len(t, out.Mechanisms, 1)
	_, done, err := out.Mechanisms[0].Begin(security.Requester{}).Next(t.Context(), []byte("\x00alice\x00"+secret))
	require.NoError(t, err)
	require.NotNil(t, done)

	require.NoError(t, fx.New(fx.NopLogger, plain.Module, fx.Populate(&out)).Err(), "without anybody who knows passwords")
}
