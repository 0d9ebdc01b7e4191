package sasl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// slow is a mechanism whose tokens take a second, and that counts them.
type slow struct{ running, most atomic.Int32 }

func (*slow) Name() string { return "SLOW" }

func (m *slow) Begin(who security.Requester) sasl.Exchange { return slowExchange{m, who} }

type slowExchange struct {
	m   *slow
	who security.Requester
}

func (e slowExchange) Next(ctx context.Context, _ []byte) ([]byte, *sasl.Login, error) {
	now := e.m.running.Add(1)
	defer e.m.running.Add(-1)
	e.m.most.Store(max(now, e.m.most.Load()))
	select {
	case <-time.After(time.Second):
		return nil, &sasl.Login{Principal: security.User("alice")}, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func slowly(t *testing.T, all, perAddress int) (*slow, *sasl.Sasl) {
	cfg := sasl.DefaultConfig()
	cfg.MaxLogins, cfg.MaxLoginsPerAddress = all, perAddress
	m := &slow{}
	s, err := sasl.New(cfg, []sasl.Mechanism{m}, nil, nil)
	require.NoError(t, err)
	return m, s
}

// So many logins are checked at once, and no more.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, sasls := slowly(t, 4, 2)
		var done sync.WaitGroup
		for i := range 20 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: fmt.Sprintf("10.0.0.%d", i)}, nil)
				s.Handshake(1, "SLOW")
				require.NoError(t, s.Authenticate(t.Context(), nil).Err)
			})
		}
		began := time.Now()
		done.Wait()
		require.Equal(t, 5*time.Second, time.Since(began))
		require.EqualValues(t, 4, m.most.Load())
	})
}

// A thousand logins of one address leave room for those of others.
func TestOneAddressHoldsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, sasls := slowly(t, 4, 2)
		flood, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for range 1000 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: "10.0.0.7"}, nil)
				s.Handshake(1, "SLOW")
				s.Authenticate(flood, nil)
			})
		}
		synctest.Wait()
		began := time.Now()
		s := sasls.Session(security.Requester{Host: "10.0.0.8"}, nil)
		s.Handshake(1, "SLOW")
		require.NoError(t, s.Authenticate(t.Context(), nil).Err)
		require.Equal(t, time.Second, time.Since(began), "it did not wait")
		stop()
		done.Wait()
	})
}

// Who waits too long for its turn is sent away without an answer, and so is one whose
// check takes too long.
func TestTurnsThatDoNotCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, sasls := slowly(t, 1, 1)
		var done sync.WaitGroup
		var closed atomic.Int32
		for range 15 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: "10.0.0.7"}, nil)
				s.Handshake(1, "SLOW")
				if a := s.Authenticate(t.Context(), nil); a.Err != nil {
					require.ErrorIs(t, a.Err, context.DeadlineExceeded)
					closed.Add(1)
				}
			})
		}
		began := time.Now()
		done.Wait()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.GreaterOrEqual(t, closed.Load(), int32(5))
	})
}

// guessed is a mechanism that looks at a token for a time, and lets in
// whoever says so.
type guessed struct{}

const looking = 10 * time.Millisecond

func (guessed) Name() string { return "GUESSED" }

func (guessed) Begin(security.Requester) sasl.Exchange { return guessedExchange{} }

type guessedExchange struct{}

func (guessedExchange) Next(ctx context.Context, token []byte) ([]byte, *sasl.Login, error) {
	time.Sleep(looking)
	switch string(token) {
	case "away":
		return nil, nil, sasl.ErrUnavailable
	case "more":
		return nil, nil, nil
	}
	if string(token) != "right" {
		return nil, nil, &sasl.Refused{Cause: errors.New("wrong")}
	}
	return nil, &sasl.Login{Principal: security.User("alice")}, nil
}

// Those who guess share a sixteenth of the time, however many addresses they have;
// others notice nothing of it, and neither does who stopped for a minute.
func TestSuspectsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := sasl.DefaultConfig()
		cfg.FailureDelay, cfg.MaxFailureDelay = time.Nanosecond, time.Nanosecond
		s, err := sasl.New(cfg, []sasl.Mechanism{guessed{}}, nil, nil)
		require.NoError(t, err)
		try := func(host, token string) time.Duration {
			began := time.Now()
			session := s.Session(security.Requester{Host: host}, nil)
			session.Handshake(1, "GUESSED")
			a := session.Authenticate(t.Context(), []byte(token))
			require.NoError(t, a.Err)
			require.Equal(t, token != "right", a.Code != 0)
			return time.Since(began).Truncate(time.Millisecond)
		}
		const suspects = 5
		all := func(f func(host string)) time.Duration {
			began := time.Now()
			var done sync.WaitGroup
			for i := range suspects {
				done.Go(func() { f(fmt.Sprintf("10.0.0.%d", i)) })
			}
			done.Wait()
			return time.Since(began).Truncate(time.Millisecond)
		}
		for range 3 {
			require.Equal(t, looking, all(func(host string) { try(host, "wrong") }))
		}
		took := make(chan time.Duration, 1)
		go func() { took <- all(func(host string) { try(host, "wrong") }) }()
		synctest.Wait()
		require.Equal(t, looking, try("10.1.0.1", "right"), "an address that did not fail")
		require.Equal(t, looking, try("10.1.0.1", "wrong"))
		require.Equal(t, ((suspects-1)*16+1)*looking, <-took)

		time.Sleep(time.Second) // the rest is over
		require.Equal(t, suspects*looking, all(func(host string) { try(host, "right") }), "no rest after them")
		require.Equal(t, suspects*looking, all(func(host string) {
			session := s.Session(security.Requester{Host: host}, nil)
			session.Handshake(1, "GUESSED")
			require.ErrorIs(t, session.Authenticate(t.Context(), []byte("away")).Err, sasl.ErrUnavailable)
		}), "nor after what was no guess")
		time.Sleep(time.Minute)
		require.Equal(t, looking, all(func(host string) { try(host, "wrong") }))
	})
}

// Whoever opens connections and does not use them is a suspect from the first guess on,
// unless nobody is to be slowed down. Who hangs up has guessed, too.
func TestSuspectsByTheirConnections(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]time.Duration{time.Millisecond: time.Second + 100*time.Millisecond, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			suspects := security.TurnsOf(1).Suspects
			cfg := sasl.DefaultConfig()
			cfg.FailureDelay = delay
			s, err := sasl.New(cfg, []sasl.Mechanism{hung{}}, nil, nil, sasl.WithSuspects(suspects))
			require.NoError(t, err)
			for range 8 {
				suspects.Opens(security.Source("10.0.0.1")).Lost()
			}
			begin := func() dispatch.Session {
				session := s.Session(security.Requester{Host: "10.0.0.1"}, nil)
				session.Handshake(1, "HUNG")
				return session
			}
			ctx, hangUp := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, hangUp)
			require.Error(t, begin().Authenticate(ctx, nil).Err)
			ctx, hangUp = context.WithCancel(t.Context())
			began := time.Now()
			var waited time.Duration
			ctx = context.WithValue(ctx, arrival{}, func() { waited = time.Since(began); hangUp() })
			require.Error(t, begin().Authenticate(ctx, nil).Err)
			require.Equal(t, max(0, want-100*time.Millisecond), waited)
			time.Sleep(time.Minute)
		})
	}
}

// arrival is the key of what is called when a token is looked at.
type arrival struct{}

// hung is a mechanism that never answers.
type hung struct{}

func (hung) Name() string { return "HUNG" }

func (hung) Begin(security.Requester) sasl.Exchange { return hungExchange{} }

type hungExchange struct{}

func (hungExchange) Next(ctx context.Context, _ []byte) ([]byte, *sasl.Login, error) {
	if f, ok := ctx.Value(arrival{}).(func()); ok {
		f()
	}
	<-ctx.Done()
	return nil, nil, fmt.Errorf("%w: %w", sasl.ErrUnavailable, ctx.Err())
}

// A suspect that gives up leaves no place taken.
func TestSuspectsGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sasl.New(sasl.DefaultConfig(), []sasl.Mechanism{guessed{}}, nil, nil)
		require.NoError(t, err)
		login := func(ctx context.Context, token string) error {
			session := s.Session(security.Requester{Host: "10.0.0.1"}, nil)
			session.Handshake(1, "GUESSED")
			return session.Authenticate(ctx, []byte(token)).Err
		}
		for range 3 {
			require.NoError(t, login(t.Context(), "wrong"))
		}
		go func() { _ = login(t.Context(), "wrong") }()
		synctest.Wait()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			require.ErrorIs(t, login(ctx, "right"), context.DeadlineExceeded)
			cancel()
		}
		time.Sleep(time.Minute)
		began := time.Now()
		require.NoError(t, login(t.Context(), "right"))
		require.Equal(t, looking, time.Since(began))
	})
}

// Of a suspect whose guesses come faster than they are looked at, for longer than anybody
// waits, many logins that mean no harm are in soon, even those of several tokens; in order
// of arrival all of them would wait for as long as anybody does.
func TestNeighboursOfAGuesser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sasl.New(sasl.DefaultConfig(), []sasl.Mechanism{guessed{}}, nil, nil)
		require.NoError(t, err)
		login := func(tokens ...string) bool {
			session := s.Session(security.Requester{Host: "10.0.0.1"}, nil)
			session.Handshake(1, "GUESSED")
			for _, token := range tokens {
				if a := session.Authenticate(t.Context(), []byte(token)); a.Err != nil || a.Code != 0 {
					return false
				}
			}
			return true
		}
		var all sync.WaitGroup
		var soon, tried atomic.Int32
		for i := range 600 {
			all.Go(func() { login("wrong") })
			if i >= 300 && i%10 == 0 {
				all.Go(func() {
					time.Sleep(time.Duration(i%7) * 10 * time.Millisecond)
					began := time.Now()
					tried.Add(1)
					if login("more", "more", "right") && time.Since(began) < 5*time.Second {
						soon.Add(1)
					}
				})
			}
			time.Sleep(100 * time.Millisecond) // a guess takes 160
		}
		all.Wait()
		require.Greater(t, soon.Load(), tried.Load()/5)
		time.Sleep(time.Minute)
		began := time.Now()
		require.True(t, login("right"))
		require.Equal(t, looking, time.Since(began), "no place is lost")
	})
}

// A client that goes away while its login is looked at is not one that nobody could check:
// an alert goes by those.
func TestLeftIsNotUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, err := sasl.New(sasl.DefaultConfig(), []sasl.Mechanism{hung{}}, nil, reg)
		require.NoError(t, err)
		session := s.Session(security.Requester{Host: "10.0.0.1"}, nil)
		session.Handshake(1, "HUNG")
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, hangUp)
		require.Error(t, session.Authenticate(ctx, nil).Err)
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP kafka_gateway_logins_total First logins of connections, by SASL mechanism and result: success, refused, left by the client, or unavailable when nobody could tell.
# TYPE kafka_gateway_logins_total counter
kafka_gateway_logins_total{mechanism="HUNG",result="left"} 1
`), "kafka_gateway_logins_total"))
	})
}
