package sasl

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

const (
	// versionsRequests is how many ApiVersions a client may send before its login:
	// one that is answered with an error, and one without.
	versionsRequests = 2
	// tokens is how many tokens a login may have.
	tokens = 8
	// stepTimeout bounds how long one token is worked on, its turn included.
	stepTimeout = 10 * time.Second
	// leastInterval lies between the beginnings of two logins on a connection that
	// is logged in, as in Kafka.
	leastInterval = time.Second
	// maxMessage and maxMechanism cut texts that hold what clients sent, in bytes.
	maxMessage   = 1 << 10
	maxMechanism = 64
)

// Kafka's texts.
const (
	alreadyLoggedIn = "SaslAuthenticate request received after successful authentication"
	badCredentials  = "Authentication failed during %s due to invalid credentials with SASL mechanism %s"
	otherPrincipal  = "Cannot change principals during re-authentication from %s.%s: %s.%s"
)

// What closes a connection.
var (
	errBeforeLogin    = errors.New("before a login only ApiVersions and SaslHandshake are served")
	errDuringLogin    = errors.New("during a login only SaslAuthenticate is served")
	errManyVersions   = errors.New("too many ApiVersions before a login")
	errNoHandshake    = errors.New("a token before SaslHandshake")
	errExpired        = errors.New("the login has expired")
	errOver           = errors.New("the login has failed")
	errTokenSize      = errors.New("a token above sasl.max_token_size")
	errManyTokens     = errors.New("too many tokens for one login")
	errNoMechanism    = errors.New("the listener does not offer the mechanism")
	errOtherMechanism = errors.New("a renewed login must keep its mechanism")
	errIllegalState   = errors.New("SaslHandshake during a login")
)

// stage is where a session stands.
type stage uint8

const (
	beforeHandshake stage = iota
	beforeToken           // a handshake has chosen a mechanism
	wrongMechanism        // a renewal has begun that the next token ends (as Kafka)
	loggedIn
	over // refused: whatever comes closes
)

// session is the login of one connection: the state machine of Kafka's
// SaslServerAuthenticator. It implements dispatch.Session.
type session struct {
	sasl    *Sasl
	who     security.Requester
	offered []Mechanism
	// principal is nil before the first login is complete. The goroutine that reads
	// one frame ahead looks at it, too; everything else belongs to the request in
	// work.
	principal atomic.Pointer[security.Principal]

	stage     stage
	versions  int       // ApiVersions so far
	versioned bool      // one of them was answered without an error
	renewal   bool      // the client was logged in before
	begun     time.Time // the last renewal
	expires   time.Time // of the login; zero is never
	used      Mechanism // by the last login

	// The login in work.
	bare      bool
	mechanism Mechanism
	exchange  Exchange
	tokens    int
	took      time.Duration
	refused   *Refused // the client has to answer to Refused.Answer first
}

var _ dispatch.Session = (*session)(nil)

// Bare implements dispatch.Session.
func (s *session) Bare() bool {
	return s.bare && (s.stage == beforeToken || s.stage == wrongMechanism)
}

// Failed implements dispatch.Session.
func (s *session) Failed() bool { return s.stage == over }

// LoggedIn implements dispatch.Session.
func (s *session) LoggedIn() bool { return s.principal.Load() != nil }

// Principal implements dispatch.Session.
func (s *session) Principal() security.Principal {
	if p := s.principal.Load(); p != nil {
		return *p
	}
	return security.Anonymous
}

// Admit implements dispatch.Session.
func (s *session) Admit(spec handler.Spec, _ int16, clientID string) error {
	s.who.ClientID = clientID
	switch s.stage {
	case beforeHandshake:
		return s.notLoggedIn(s.admitFirst(spec))
	case beforeToken:
		if spec.Key != keyHandshake && spec.Key != keyAuthenticate {
			return s.notLoggedIn(errDuringLogin)
		}
		return nil
	case wrongMechanism:
		s.end(s.mechanism.Name(), "", errOtherMechanism, refused)
		return errOtherMechanism
	case loggedIn:
		if now := time.Now(); s.expired(now) && (spec.Key != keyHandshake || !s.renewable(now)) {
			s.sasl.metrics.expired.Inc()
			return errExpired
		}
		return nil
	}
	return errOver
}

const (
	keyHandshake    = int16(kmsg.SASLHandshake)
	keyAuthenticate = int16(kmsg.SASLAuthenticate)
	keyVersions     = int16(kmsg.ApiVersions)
)

// notLoggedIn tells the audit of a connection that ends with its first request, as
// one of a client that does not log in does, and returns the reason.
func (s *session) notLoggedIn(why error) error {
	if why != nil && s.sasl.audit != nil && !s.LoggedIn() {
		s.sasl.audit.ConnectionRefused(s.who, why)
	}
	return why
}

// admitFirst admits the requests before a handshake.
func (s *session) admitFirst(spec handler.Spec) error {
	switch {
	case !spec.BeforeLogin, spec.Key == keyAuthenticate:
		return errBeforeLogin
	case spec.Key != keyVersions:
		return nil
	}
	if s.versions++; s.versioned || s.versions > versionsRequests {
		return errManyVersions
	}
	return nil
}

// Versions implements handler.Login.
func (s *session) Versions() { s.versioned = true }

func (s *session) expired(now time.Time) bool { return !s.expires.IsZero() && !now.Before(s.expires) }

// renewable reports whether a handshake may begin a new login (KIP-368): only of
// logins that end, and not twice within a second.
func (s *session) renewable(now time.Time) bool {
	return !s.expires.IsZero() && (s.begun.IsZero() || now.Sub(s.begun) >= leastInterval)
}

// Handshake implements handler.Login.
func (s *session) Handshake(version int16, mechanism string) (mechanisms []string, code int16) {
	switch s.stage {
	case loggedIn:
		now := time.Now()
		if !s.renewable(now) {
			return nil, kerr.IllegalSaslState.Code // and the login holds
		}
		s.renewal, s.begun = true, now
	case beforeHandshake:
	default:
		s.end(nameOf(s.mechanism), "", errIllegalState, refused)
		return nil, kerr.IllegalSaslState.Code
	}
	s.bare, s.tokens, s.took, s.refused = version == 0, 0, 0, nil
	if s.mechanism = s.find(mechanism); s.mechanism == nil {
		s.end(unknownMechanism, "", fmt.Errorf("%w %q", errNoMechanism, cut(mechanism, maxMechanism)), refused)
		return namesOf(s.offered), kerr.UnsupportedSaslMechanism.Code
	}
	s.stage = beforeToken
	if s.renewal && s.mechanism.Name() != s.used.Name() {
		s.stage = wrongMechanism
	} else {
		s.exchange = s.mechanism.Begin(s.who)
	}
	return namesOf(s.offered), 0
}

func (s *session) find(name string) Mechanism {
	for _, m := range s.offered {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

func nameOf(m Mechanism) string {
	if m == nil {
		return unknownMechanism
	}
	return m.Name()
}

// Authenticate implements handler.Login.
func (s *session) Authenticate(ctx context.Context, token []byte) handler.Authenticated {
	switch s.stage {
	case loggedIn:
		return handler.Authenticated{Code: kerr.IllegalSaslState.Code, Message: alreadyLoggedIn}
	case beforeToken:
	case wrongMechanism:
		s.end(s.mechanism.Name(), "", errOtherMechanism, refused)
		return closed(errOtherMechanism)
	case over:
		return closed(errOver)
	default:
		return closed(errNoHandshake)
	}
	if s.tokens++; s.tokens > tokens {
		return s.broken("", errManyTokens, refused)
	}
	if len(token) > s.sasl.cfg.MaxTokenSize {
		return s.broken("", errTokenSize, refused)
	}
	if s.refused != nil {
		return s.refuse(ctx, s.refused)
	}
	answer, done, err := s.next(ctx, token)
	switch {
	case err != nil:
		return s.fails(ctx, err)
	case done != nil:
		return s.complete(ctx, answer, *done)
	}
	return handler.Authenticated{Token: notNil(answer)}
}

// next has the mechanism look at a token, when it is its turn.
func (s *session) next(ctx context.Context, token []byte) (answer []byte, done *Login, err error) {
	began := time.Now()
	defer func() { s.took += time.Since(began) }()
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	turn, err := s.sasl.limits.enter(ctx, s.who.Host, s.renewal || s.tokens > 1)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: waiting for its turn: %w", ErrUnavailable, err)
	}
	defer func() {
		// Who hangs up has had its guess. What could not be checked was none.
		turn.leave(err != nil && (client.Err() != nil || !errors.Is(err, ErrUnavailable)))
	}()
	return s.exchange.Next(ctx, token)
}

// fails goes on after an error of the mechanism.
func (s *session) fails(ctx context.Context, err error) handler.Authenticated {
	var why *Refused
	var unknown *Unavailable
	switch {
	case errors.As(err, &why):
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		user := ""
		if errors.As(err, &unknown) {
			user = unknown.User
		}
		return s.broken(user, unchecked(err), unavailable)
	default:
		why = &Refused{Cause: err}
	}
	if why.Answer != nil {
		s.refused = why
		return handler.Authenticated{Token: why.Answer}
	}
	return s.refuse(ctx, why)
}

// refuse tells the client, after a while.
func (s *session) refuse(ctx context.Context, why *Refused) handler.Authenticated {
	s.end(s.mechanism.Name(), why.User, why, refused)
	if err := wait(ctx, s.sasl.limits.failed(s.who.Host)); err != nil {
		return closed(err)
	}
	message := why.Message
	if message == "" {
		during := "authentication"
		if s.renewal {
			during = "re-authentication"
		}
		message = fmt.Sprintf(badCredentials, during, s.mechanism.Name())
	}
	return handler.Authenticated{Code: kerr.SaslAuthenticationFailed.Code, Message: cut(message, maxMessage)}
}

// broken ends the login without an answer.
func (s *session) broken(user string, why error, how result) handler.Authenticated {
	s.end(s.mechanism.Name(), user, why, how)
	return closed(why)
}

func closed(why error) handler.Authenticated {
	return handler.Authenticated{Err: fmt.Errorf("%w: %w", dispatch.ErrLogin, why)}
}

// end records a login that failed. Nothing but the end of the connection follows.
func (s *session) end(mechanism, user string, why error, how result) {
	s.stage, s.exchange, s.refused = over, nil, nil
	away := errors.Is(why, context.Canceled)
	if away {
		how = left
	}
	s.sasl.metrics.ended(mechanism, s.renewal, how, s.took)
	if s.sasl.audit != nil && !away {
		s.sasl.audit.LoginRefused(s.who, mechanism, user, why)
	}
}

// complete lets the client in.
func (s *session) complete(ctx context.Context, answer []byte, done Login) handler.Authenticated {
	if before := s.principal.Load(); before != nil && *before != done.Principal {
		return s.refuse(ctx, &Refused{User: done.Principal.Name, Message: fmt.Sprintf(otherPrincipal,
			before.Type, before.Name, done.Principal.Type, done.Principal.Name)})
	}
	now := time.Now()
	lifetime := s.sasl.cfg.MaxReauth
	if !done.Until.IsZero() {
		left := done.Until.Sub(now)
		if lifetime == 0 || left < lifetime {
			lifetime = left
		}
		if lifetime = lifetime.Truncate(time.Millisecond); lifetime <= 0 { // 0 would mean without end
			return s.refuse(ctx, &Refused{User: done.Principal.Name, Cause: errExpired})
		}
	}
	s.expires = time.Time{}
	if lifetime > 0 {
		s.expires = now.Add(lifetime)
	}
	s.principal.Store(&done.Principal)
	s.stage, s.used, s.exchange = loggedIn, s.mechanism, nil
	s.sasl.metrics.ended(s.mechanism.Name(), s.renewal, succeeded, s.took)
	return handler.Authenticated{Token: notNil(answer), Lifetime: lifetime.Milliseconds()}
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
