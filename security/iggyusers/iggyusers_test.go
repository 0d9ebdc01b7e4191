package iggyusers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/plain"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

// fake is a server with users.
type fake struct {
	mu        sync.Mutex
	passwords map[string]string
	inactive  map[string]bool
	err       error
	takes     time.Duration
	silent    bool
	asked     int
	now, most int // at once
}

func (f *fake) CheckPassword(ctx context.Context, user, password string) error {
	f.mu.Lock()
	f.asked++
	f.now++
	f.most = max(f.most, f.now)
	takes, silent := f.takes, f.silent
	f.mu.Unlock()
	defer f.set(func() { f.now-- })
	if silent {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
	}
	time.Sleep(takes) // in a bubble, where it takes no time
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return f.err
	case f.inactive[user]:
		return client.ErrInactive
	case password == "" || f.passwords[user] != password:
		return client.ErrWrongPassword
	}
	return nil
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// open returns passwords over a fake server with the user alice.
func open(t *testing.T, change func(*Config)) (*fake, *Passwords) {
	f := &fake{passwords: map[string]string{"alice": "secret"}, inactive: map[string]bool{}}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.Validate())
	p := New(f, cfg)
	t.Cleanup(p.Close)
	return f, p
}

func (p *Passwords) try(t *testing.T, user, password string) error {
	return p.Verify(t.Context(), security.Requester{Host: "10.0.0.7"}, user, password)
}

// A right password is remembered for a time, and by its user alone.
func TestRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		f.passwords["bob"] = "bob's"
		for range 3 {
			require.NoError(t, p.try(t, "alice", "secret"))
		}
		require.Equal(t, 1, f.count())
		require.ErrorIs(t, p.try(t, "bob", "secret"), plain.ErrWrong)
		require.ErrorIs(t, p.try(t, "alice", "Secret"), plain.ErrWrong)
		require.EqualError(t, p.try(t, "nobody", "secret"), "wrong user name or password in the Iggy server")
		require.Equal(t, 4, f.count(), "wrong ones are asked for")
		require.NoError(t, p.try(t, "alice", "secret"))
		require.Equal(t, 4, f.count(), "and change nothing")
		time.Sleep(p.cfg.CacheTime)
		require.NoError(t, p.try(t, "alice", "secret"))
		require.Equal(t, 5, f.count())
	})
}

func TestNothingIsRememberedWithoutATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, func(c *Config) { c.CacheTime = 0 })
		for range 3 {
			require.NoError(t, p.try(t, "alice", "secret"))
		}
		require.Equal(t, 3, f.count())
	})
}

// A new password is good at once, and the old one stops when the new one was used, or
// when it is forgotten.
func TestChangedPassword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		require.NoError(t, p.try(t, "alice", "secret"))
		require.ErrorIs(t, p.try(t, "alice", "new"), plain.ErrWrong)
		f.set(func() { f.passwords["alice"] = "new" })
		require.NoError(t, p.try(t, "alice", "secret"), "not forgotten yet")
		require.NoError(t, p.try(t, "alice", "new"))
		require.ErrorIs(t, p.try(t, "alice", "secret"), plain.ErrWrong)
		f.set(func() { f.passwords["alice"] = "newer" })
		time.Sleep(p.cfg.CacheTime)
		require.ErrorIs(t, p.try(t, "alice", "new"), plain.ErrWrong)
	})
}

// Who was deleted or made inactive stops in time, the latter as soon as the server says
// so to anybody.
func TestDeletedAndInactive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		require.NoError(t, p.try(t, "alice", "secret"))
		f.set(func() { f.inactive["alice"] = true })
		require.NoError(t, p.try(t, "alice", "secret"), "not forgotten yet")
		err := p.try(t, "alice", "another")
		require.ErrorIs(t, err, plain.ErrWrong)
		require.ErrorIs(t, err, client.ErrInactive, "the audit tells")
		require.ErrorIs(t, p.try(t, "alice", "secret"), plain.ErrWrong)

		f.set(func() { clear(f.inactive) })
		require.NoError(t, p.try(t, "alice", "secret"))
		f.set(func() { clear(f.passwords) })
		time.Sleep(p.cfg.CacheTime)
		require.ErrorIs(t, p.try(t, "alice", "secret"), plain.ErrWrong)
	})
}

// Refusals take the same time, whatever the server took for them.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		for _, takes := range []time.Duration{0, 3 * time.Millisecond, 60 * time.Millisecond} {
			f.set(func() { f.takes = takes })
			began := time.Now()
			require.ErrorIs(t, p.try(t, "nobody", "secret"), plain.ErrWrong)
			require.Equal(t, leastRefusal, time.Since(began))
		}
	})
}

// Clients that come together with the same password share one question.
func TestOneQuestionForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		f.takes = 30 * time.Millisecond
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := p.try(t, "alice", "secret"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, f.count())
	})
}

// The server is not asked more than it may be, and who finds no place is told at once,
// while remembered users get in.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, func(c *Config) { c.LoginRate = 4 })
		require.NoError(t, p.try(t, "alice", "secret"))
		f.takes = 30 * time.Millisecond
		var busy, wrong int
		var mu sync.Mutex
		var all sync.WaitGroup
		began := time.Now()
		for i := range 40 {
			all.Go(func() {
				err := p.try(t, fmt.Sprint("nobody", i), "guess")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, errBusy):
					busy++
					if took := time.Since(began); took > 0 {
						t.Errorf("refused after %s", took)
					}
				case errors.Is(err, plain.ErrWrong):
					wrong++
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		require.NoError(t, p.try(t, "alice", "secret"))
		all.Wait()
		require.Equal(t, maxWaiting+2, wrong)
		require.Equal(t, 40-maxWaiting-2, busy)
		require.Equal(t, 2, f.most)
		require.GreaterOrEqual(t, time.Since(began), (maxWaiting+2-4)*time.Second/4)
	})
}

// A silent server holds nobody longer than the timeout, and a client that goes away
// no longer than it stays; nothing is taken for a wrong password.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		require.NoError(t, p.try(t, "alice", "secret"))
		f.set(func() { f.silent = true })
		require.NoError(t, p.try(t, "alice", "secret"), "remembered")
		began := time.Now()
		err := p.try(t, "bob", "secret")
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.NotErrorIs(t, err, plain.ErrWrong)
		require.Equal(t, p.cfg.Timeout, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		require.ErrorIs(t, p.Verify(ctx, security.Requester{}, "bob", "secret"), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		p.Close()
		require.Zero(t, time.Since(began), "the end waits for nobody")
		require.Error(t, p.try(t, "bob", "secret"))
	})
}

// A server that is away, or answers with something else, is told from one that refuses.
func TestServerAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, p := open(t, nil)
		f.err = fmt.Errorf("%w: no connection", backend.ErrUnavailable)
		err := p.try(t, "alice", "secret")
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.NotErrorIs(t, err, plain.ErrWrong)
		f.set(func() { f.err = nil })
		require.NoError(t, p.try(t, "alice", "secret"), "it may be tried again at once")
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	require.EqualError(t, Config{CacheTime: -1, Timeout: time.Minute}.Validate(),
		"sasl.iggy.cache_time: -1ns is out of range; set 0s to 1h0m0s\n"+
			"sasl.iggy.max_logins: 0 is out of range; set 1 to 1000\n"+
			"sasl.iggy.login_rate: 0 is out of range; set 1 to 1000\n"+
			"sasl.iggy.timeout: 1m0s is out of range; set above 0s, to 10s")
}

// PLAIN over an Iggy server is a mechanism like others.
func TestConform(t *testing.T) {
	securitytest.Mechanisms(t, func(t *testing.T) securitytest.Mechanism {
		f, p := open(t, func(c *Config) { c.LoginRate, c.MaxLogins = mostLogins, mostLogins })
		p.least = 0
		f.passwords["bob"] = "bob's"
		token := func(text string) func() (securitytest.Login, error) {
			return func() (securitytest.Login, error) { return securitytest.Token([]byte(text)), nil }
		}
		return securitytest.Mechanism{
			Mechanism: plain.New(p), User: "alice", Right: token("\x00alice\x00secret"), Replays: true,
			Secrets: []string{"secret", "another"},
			Wrong: map[string]func() (securitytest.Login, error){
				"another password": token("\x00alice\x00another"),
				"unknown user":     token("\x00nobody\x00secret"),
				"somebody else":    token("bob\x00alice\x00secret"),
			},
		}
	})
}
