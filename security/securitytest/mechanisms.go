package securitytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Login is one login of a client: it is told what the server said, nothing at first,
// and returns its next token.
type Login func(challenge []byte) (token []byte, err error)

// Token is a client with one token.
func Token(token []byte) Login {
	return func([]byte) ([]byte, error) { return token, nil }
}

// Mechanism is what [Mechanisms] needs to know of a mechanism.
type Mechanism struct {
	Mechanism sasl.Mechanism
	// User is the name of who logs in by Right.
	User string
	// Right begins a login that succeeds; each call begins another one.
	Right func() (Login, error)
	// Wrong begin logins that must fail, by what is wrong with them.
	Wrong map[string]func() (Login, error)
	// Secrets are texts that no error may hold, nor anything that is said to a client.
	Secrets []string
	// Replays says that tokens are good more than once, because they are the secret.
	Replays bool
}

// mostTokens is how many tokens a login may have.
const mostTokens = 8

// wrongTokens is how many wrong tokens are tried in the place of each right one. Clients
// of some mechanisms take milliseconds for theirs.
const wrongTokens = 40

// mechanismName is what names of mechanisms look like (RFC 4422 §3.1).
var mechanismName = regexp.MustCompile(`^[A-Z0-9_-]{1,20}$`)

// mechanismPatience bounds what must not take long.
const mechanismPatience = time.Minute

// attempt is a login as it went.
type attempt struct {
	tokens [][]byte // of the client
	said   [][]byte // by the server
	done   *sasl.Login
	err    error
}

// Mechanisms is what every sasl.Mechanism must pass. It counts goroutines: the test
// that calls it must not be parallel.
func Mechanisms(t *testing.T, open func(t *testing.T) Mechanism) {
	t.Helper()
	alone(t)
	for name, test := range map[string]func(*testing.T, Mechanism){
		"right":            testRight,
		"wrong":            testWrong,
		"garbage":          testGarbage,
		"truncated":        testTruncated,
		"huge":             testHuge,
		"replay":           testReplay,
		"twice":            testTwice,
		"context ended":    testContextEnded,
		"many at once":     testManyAtOnce,
		"tokens are lent":  testTokensAreLent,
		"nothing is owned": testNothingIsOwned,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// run goes through a login; change may alter each token, by its number from 0.
func (m Mechanism) run(ctx context.Context, begin func() (Login, error), change func(int, []byte) []byte) (a attempt) {
	client, err := begin()
	if err != nil {
		return attempt{err: fmt.Errorf("the test's client cannot begin: %w", err)}
	}
	exchange := m.Mechanism.Begin(security.Requester{Principal: security.Anonymous, Host: "10.0.0.7"})
	var challenge []byte
	for i := range mostTokens {
		token, err := client(challenge)
		if err != nil {
			a.err = err
			return a
		}
		if change != nil {
			token = change(i, token)
		}
		a.tokens = append(a.tokens, token)
		challenge, a.done, a.err = exchange.Next(ctx, bytes.Clone(token))
		a.said = append(a.said, challenge)
		if a.done != nil || a.err != nil {
			return a
		}
	}
	a.err = errors.New("too many tokens")
	return a
}

func (m Mechanism) right(t *testing.T) attempt {
	t.Helper()
	a := m.run(t.Context(), m.Right, nil)
	require.NoError(t, a.err)
	require.NotNil(t, a.done)
	return a
}

// refused checks that a login failed, and that nobody learns a secret by it.
func (m Mechanism) refused(t *testing.T, a attempt) {
	t.Helper()
	require.Error(t, a.err)
	require.Nil(t, a.done)
	said := a.err.Error() + "\n" + string(bytes.Join(a.said, []byte("\n")))
	var why *sasl.Refused
	if errors.As(a.err, &why) {
		said += fmt.Sprintf("\n%+v", *why)
	}
	for _, secret := range m.Secrets {
		require.NotContains(t, said, secret)
	}
	// What mechanisms are told must not come back either: a part of it may be secret.
	for _, token := range a.tokens {
		if len(token) > 32 {
			require.NotContains(t, said, string(token))
		}
	}
}

func testRight(t *testing.T, m Mechanism) {
	require.Regexp(t, mechanismName, m.Mechanism.Name())
	for range 3 {
		a := m.right(t)
		require.Equal(t, security.User(m.User), a.done.Principal)
		if !a.done.Until.IsZero() {
			require.True(t, a.done.Until.After(time.Now()), "it has expired already")
		}
	}
}

func testWrong(t *testing.T, m Mechanism) {
	require.NotEmpty(t, m.Wrong)
	for name, begin := range m.Wrong {
		t.Run(name, func(t *testing.T) {
			a := m.run(t.Context(), begin, nil)
			m.refused(t, a)
			require.NotErrorIs(t, a.err, sasl.ErrUnavailable, "it is known to be wrong")
		})
	}
	m.right(t)
}

func testGarbage(t *testing.T, m Mechanism) {
	random := rand.New(rand.NewPCG(1, 2))
	for at := range len(m.right(t).tokens) {
		for round := range wrongTokens {
			a := m.run(t.Context(), m.Right, func(i int, token []byte) []byte {
				if i != at {
					return token
				}
				if round%2 == 0 {
					return noise(random, random.IntN(64))
				}
				// Almost right: a bit of it is another one.
				changed := bytes.Clone(token)
				changed[random.IntN(len(changed))] ^= 1 << random.IntN(8)
				return changed
			})
			if a.done != nil { // a bit that does not matter, such as one of a client's nonce
				require.NotZero(t, round%2)
				require.NotEmpty(t, a.done.Principal.Name)
				continue
			}
			m.refused(t, a)
		}
	}
}

func noise(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func testTruncated(t *testing.T, m Mechanism) {
	whole := m.right(t).tokens
	for at := range whole {
		for n := 0; n < len(whole[at]); n += 1 + len(whole[at])/wrongTokens {
			a := m.run(t.Context(), m.Right, func(i int, token []byte) []byte {
				if i == at {
					return token[:min(n, len(token))]
				}
				return token
			})
			if at == len(whole)-1 {
				m.refused(t, a)
			}
		}
	}
}

func testHuge(t *testing.T, m Mechanism) {
	for at := range len(m.right(t).tokens) {
		for _, fill := range []string{"\x00", "a", ",", "=", "\x01", "."} {
			began := time.Now()
			a := m.run(t.Context(), m.Right, func(i int, token []byte) []byte {
				if i == at {
					return append(bytes.Clone(token), strings.Repeat(fill, 1<<20)...)
				}
				return token
			})
			m.refused(t, a)
			require.Less(t, len(a.err.Error()), 2<<10)
			require.Less(t, time.Since(began), mechanismPatience)
		}
	}
}

func testReplay(t *testing.T, m Mechanism) {
	seen := m.right(t).tokens
	a := m.run(t.Context(), m.Right, func(i int, token []byte) []byte {
		if i < len(seen) {
			return seen[i]
		}
		return token
	})
	if m.Replays {
		require.NoError(t, a.err)
		return
	}
	m.refused(t, a)
}

func testTwice(t *testing.T, m Mechanism) {
	a := m.right(t)
	for _, first := range []func(sasl.Exchange){
		func(e sasl.Exchange) { // refused once
			_, _, err := e.Next(t.Context(), []byte("garbage"))
			require.Error(t, err)
		},
		func(e sasl.Exchange) { // refused by nothing
			_, _, err := e.Next(t.Context(), nil)
			require.Error(t, err)
		},
	} {
		e := m.Mechanism.Begin(security.Requester{})
		first(e)
		for _, token := range a.tokens {
			_, done, err := e.Next(t.Context(), bytes.Clone(token))
			require.Error(t, err, "an exchange goes on after its end")
			require.Nil(t, done)
		}
	}
	if m.Replays {
		e := m.Mechanism.Begin(security.Requester{})
		for _, token := range append(a.tokens, a.tokens[0]) {
			_, done, err := e.Next(t.Context(), bytes.Clone(token))
			require.True(t, done == nil || err == nil)
		}
		_, done, err := e.Next(t.Context(), bytes.Clone(a.tokens[0]))
		require.Error(t, err, "a login goes on after its end")
		require.Nil(t, done)
	}
}

func testContextEnded(t *testing.T, m Mechanism) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if a := m.run(ctx, m.Right, nil); a.err != nil {
		require.ErrorIs(t, a.err, context.Canceled)
		var why *sasl.Refused
		require.False(t, errors.As(a.err, &why), "nobody was refused")
	}
	require.Less(t, time.Since(began), mechanismPatience)
}

func testManyAtOnce(t *testing.T, m Mechanism) {
	results := make(chan attempt, 32)
	for i := range cap(results) {
		go func() {
			if i%2 == 0 {
				results <- m.run(t.Context(), m.Right, nil)
				return
			}
			results <- m.run(t.Context(), m.Right, func(int, []byte) []byte { return []byte("garbage") })
		}()
	}
	in := 0
	for range cap(results) {
		if a := <-results; a.done != nil {
			in++
			require.Equal(t, security.User(m.User), a.done.Principal)
		}
	}
	require.Equal(t, cap(results)/2, in)
}

// testTokensAreLent scribbles over each token once it was looked at.
func testTokensAreLent(t *testing.T, m Mechanism) {
	client, err := m.Right()
	require.NoError(t, err)
	e := m.Mechanism.Begin(security.Requester{})
	var challenge []byte
	for range mostTokens {
		token, err := client(challenge)
		require.NoError(t, err)
		lent := bytes.Clone(token)
		answer, done, err := e.Next(t.Context(), lent)
		require.NoError(t, err)
		for i := range lent {
			lent[i] = '!'
		}
		if done != nil {
			require.Equal(t, security.User(m.User), done.Principal)
			return
		}
		challenge = answer
	}
	t.Fatal("the login does not end")
}

// testNothingIsOwned leaves logins where they are: nobody closes an Exchange.
func testNothingIsOwned(t *testing.T, m Mechanism) {
	running := goleak.IgnoreCurrent()
	for range 1000 {
		e := m.Mechanism.Begin(security.Requester{})
		if client, err := m.Right(); err == nil {
			if token, err := client(nil); err == nil && len(token) > 3 {
				_, _, _ = e.Next(t.Context(), token[:3])
			}
		}
	}
	goleak.VerifyNone(t, running)
}
