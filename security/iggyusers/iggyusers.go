// Package iggyusers lets the users of an Iggy server log in by PLAIN, with the names
// and passwords that they have there: it is the candidate "iggy" of
// sasl.plain.passwords.
//
// Only the server knows the passwords, so that a login of a client is a login there,
// on a connection of its own. It costs the server some 30 ms of the thread that also
// serves messages, which is why
//
//   - a password that was right is remembered for [Config.CacheTime], and clients that
//     come again with it are let in without a question;
//   - clients that come with the same user and password at once share one login;
//   - there is a bound on how many logins the server works on at once, on how many a
//     second begin, and on how many wait. Those that failed are slowed down before that,
//     by address (sasl.failure_delay).
//
// internal/proven says what is remembered of a password. Nothing is remembered of
// passwords that were wrong, so a new password is good at once. The old one is good until it is forgotten, at the latest after CacheTime, or as
// soon as the new one was used. So it is with a user that was deleted or made inactive.
// Connections that are open stay open; sasl.max_reauth bounds that.
package iggyusers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/proven"
	"github.com/iggykafka/gateway/security/plain"
)

const (
	// maxRemembered is of how many users a password is remembered, some 200 bytes each
	// and the name. Of more the one that was used least lately is forgotten, and costs
	// a login when it comes again.
	maxRemembered = 10_000
	// maxWaiting is how many logins wait for the server. More are refused at once: each
	// holds one of sasl.max_logins, which clients with remembered passwords need, too.
	maxWaiting = 8
	// leastRefusal is how long a refusal takes at least. The server answers sooner where
	// there is no such user, which would tell who there is.
	leastRefusal = 250 * time.Millisecond
)

// Server knows the passwords; *iggy.Store is one. CheckPassword returns
// client.ErrWrongPassword, client.ErrInactive, or an error that means that nobody
// knows, at the latest when ctx ends.
type Server interface {
	CheckPassword(ctx context.Context, user, password string) error
}

// errBusy: the server would have to check more passwords than it may.
var errBusy = errors.New("too many logins wait for the Iggy server; see sasl.iggy")

// Passwords are those of an Iggy server: plain.Passwords. It is safe for concurrent use.
type Passwords struct {
	server Server
	cfg    Config
	known  *proven.Passwords[time.Time] // until when

	flights singleflight.Group
	waiting chan struct{} // those that wait and those that are asked
	asking  chan struct{}
	rate    *rate.Limiter
	least   time.Duration // leastRefusal

	life context.Context
	end  context.CancelFunc

	mu   sync.Mutex // has no work begin after life
	work sync.WaitGroup
}

// New returns the passwords of a server; Close ends it.
func New(server Server, cfg Config) *Passwords {
	p := &Passwords{
		server: server, cfg: cfg, known: proven.New[time.Time](maxRemembered),
		waiting: make(chan struct{}, maxWaiting+cfg.MaxLogins), asking: make(chan struct{}, cfg.MaxLogins),
		rate:  rate.NewLimiter(rate.Limit(cfg.LoginRate), max(1, cfg.LoginRate)),
		least: leastRefusal,
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Close ends what is asked of the server, and waits for it.
func (p *Passwords) Close() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.work.Wait()
}

// Verify implements plain.Passwords.
func (p *Passwords) Verify(ctx context.Context, _ security.Requester, user, password string) error {
	began := time.Now()
	mark := p.known.Mark(user, password)
	if p.remembers(user, mark) {
		return nil
	}
	select {
	case done := <-p.flights.DoChan(string(mark[:]), func() (any, error) { return nil, p.ask(user, password, mark) }):
		return p.refusal(ctx, began, done.Err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refusal is what Verify returns for what the server said, no sooner than leastRefusal
// after the beginning where that is a refusal.
func (p *Passwords) refusal(ctx context.Context, began time.Time, err error) error {
	switch {
	case errors.Is(err, client.ErrWrongPassword):
		// The audit says whose passwords were asked: one that was set for SCRAM is not
		// among them.
		err = fmt.Errorf("%w in the Iggy server", plain.ErrWrong)
	case errors.Is(err, client.ErrInactive):
		err = fmt.Errorf("%w: %w", plain.ErrWrong, err)
	default:
		return err
	}
	timer := time.NewTimer(time.Until(began.Add(p.least)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remembers reports whether the password was right a short time ago.
func (p *Passwords) remembers(user string, mark proven.Mark) bool {
	until, ok := p.known.Right(user, mark)
	if ok && !time.Now().Before(until) {
		p.known.Forget(user, mark)
		return false
	}
	return ok
}

// ask asks the server, in its turn, and remembers what is right.
func (p *Passwords) ask(user, password string, mark proven.Mark) error {
	if !p.begin() {
		return context.Canceled
	}
	defer p.work.Done()
	ctx, cancel := context.WithTimeout(p.life, p.cfg.Timeout)
	defer cancel()
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return errBusy
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errBusy, ctx.Err())
	}
	if err := p.rate.Wait(ctx); err != nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	began := time.Now()
	err := p.server.CheckPassword(ctx, user, password)
	p.learn(user, mark, began, err)
	return err
}

// begin has Close wait for an ask; false after Close.
func (p *Passwords) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return false
	}
	p.work.Add(1)
	return true
}

// learn remembers a password that was right when it was asked for, and forgets what is
// known of a user that may not log in.
func (p *Passwords) learn(user string, mark proven.Mark, began time.Time, err error) {
	switch {
	case err == nil && p.cfg.CacheTime > 0:
		p.known.Remember(user, mark, began.Add(p.cfg.CacheTime))
	case errors.Is(err, client.ErrInactive):
		p.known.ForgetUser(user)
	case errors.Is(err, client.ErrWrongPassword):
		p.known.Forget(user, mark)
	}
}
