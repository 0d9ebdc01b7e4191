// Package sasltest has logins for tests: a scripted one, and a real one over
// mechanisms that need nothing.
package sasltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Login is a scripted handler.Login that keeps what it was asked.
type Login struct {
	Mechanisms []string
	Code       int16
	Answer     handler.Authenticated

	Version int16
	Asked   []string // mechanisms and tokens
	Told    int      // how often Versions was called
}

// Versions implements handler.Login.
func (l *Login) Versions() { l.Told++ }

// Handshake implements handler.Login.
func (l *Login) Handshake(version int16, mechanism string) ([]string, int16) {
	l.Version, l.Asked = version, append(l.Asked, mechanism)
	return l.Mechanisms, l.Code
}

// Authenticate implements handler.Login.
func (l *Login) Authenticate(_ context.Context, token []byte) handler.Authenticated {
	l.Asked = append(l.Asked, string(token))
	return l.Answer
}

// Words is a mechanism with a name of its choice. A token is "user word": the word
// "right" logs in, "wrong" is refused, "more" asks for another token, "told" is
// refused by an answer, "broken", "away" and "slow" cannot be checked, "brief" logs in
// for a second, and "late" with what has expired. Anything else is an error.
type Words string

// Name implements sasl.Mechanism.
func (w Words) Name() string { return string(w) }

// Begin implements sasl.Mechanism.
func (w Words) Begin(security.Requester) sasl.Exchange { return words{} }

type words struct{}

// Next implements sasl.Exchange.
func (words) Next(ctx context.Context, token []byte) ([]byte, *sasl.Login, error) {
	user, word, _ := strings.Cut(string(token), " ")
	login := &sasl.Login{Principal: security.User(user)}
	switch word {
	case "right":
		return []byte("welcome"), login, nil
	case "brief":
		login.Until = time.Now().Add(time.Second)
		return nil, login, nil
	case "late":
		login.Until = time.Now().Add(-time.Second)
		return nil, login, nil
	case "more":
		return nil, nil, nil
	case "wrong":
		return nil, nil, &sasl.Refused{User: user, Message: "wrong word"}
	case "told":
		return nil, nil, &sasl.Refused{User: user, Message: "told you", Answer: []byte("no")}
	case "broken":
		return nil, nil, fmt.Errorf("%w: no line", sasl.ErrUnavailable)
	case "away":
		return nil, nil, &sasl.Unavailable{User: user, Cause: errors.New("nobody is there")}
	case "slow":
		return nil, nil, context.DeadlineExceeded
	}
	return nil, nil, fmt.Errorf("no word that I know")
}

// New returns a Sasl over the mechanisms WORDS and OTHER whose failures are
// answered at once. change may be nil.
func New(t testing.TB, change func(*sasl.Config)) *sasl.Sasl {
	t.Helper()
	cfg := sasl.DefaultConfig()
	cfg.Mechanisms = []string{"WORDS", "OTHER"}
	cfg.FailureDelay, cfg.MaxFailureDelay = 0, 0
	if change != nil {
		change(&cfg)
	}
	s, err := sasl.New(cfg, []sasl.Mechanism{Words("WORDS"), Words("OTHER")}, nil, nil)
	require.NoError(t, err)
	return s
}

// Scenario returns the login of one connection, and commands for scenarios about
// it: "handshake mechanism=WORDS version=1" and "token version=1" with the token
// as input say what came before, and "session" shows where the login stands.
func Scenario(t *testing.T) (handler.Login, map[string]func(*testing.T, *datadriven.TestData) string) {
	s := New(t, func(c *sasl.Config) { c.MaxReauth = time.Hour }).
		Session(security.Requester{Principal: security.Anonymous, Host: "10.0.0.7"}, nil)
	admit := func(key kmsg.Key, version int) error {
		return s.Admit(handler.Spec{Range: handler.Range{Key: int16(key), Max: 5}, BeforeLogin: true}, int16(version), "app")
	}
	return s, map[string]func(*testing.T, *datadriven.TestData) string{
		"handshake": func(t *testing.T, d *datadriven.TestData) string {
			var version int
			var mechanism string
			d.ScanArgs(t, "version", &version)
			d.ScanArgs(t, "mechanism", &mechanism)
			if err := admit(kmsg.SASLHandshake, version); err != nil {
				return "close: " + err.Error()
			}
			mechanisms, code := s.Handshake(int16(version), mechanism)
			return fmt.Sprintf("code %d, mechanisms %s", code, strings.Join(mechanisms, " "))
		},
		"token": func(t *testing.T, d *datadriven.TestData) string {
			if err := admit(kmsg.SASLAuthenticate, 1); err != nil {
				return "close: " + err.Error()
			}
			a := s.Authenticate(t.Context(), []byte(strings.TrimSpace(d.Input)))
			if a.Err != nil {
				return "close: " + a.Err.Error()
			}
			return fmt.Sprintf("code %d %q, token %q, lifetime %d", a.Code, a.Message, a.Token, a.Lifetime)
		},
		"session": func(*testing.T, *datadriven.TestData) string {
			return fmt.Sprintf("principal %s, logged in %t, failed %t, bare %t", s.Principal(), s.LoggedIn(), s.Failed(), s.Bare())
		},
	}
}
