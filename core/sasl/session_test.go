package sasl_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
	"github.com/iggykafka/gateway/core/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var client = security.Requester{Principal: security.Anonymous, Host: "10.0.0.7", Listener: "L"}

// The keys of the tests, as their handlers declare them.
var (
	versions     = before(kmsg.ApiVersions, 5)
	handshake    = before(kmsg.SASLHandshake, 1)
	authenticate = before(kmsg.SASLAuthenticate, 2)
	metadata     = handler.Spec{Range: handler.Range{Key: int16(kmsg.Metadata), Max: 13}}
)

func before(key kmsg.Key, most int16) handler.Spec {
	return handler.Spec{Range: handler.Range{Key: int16(key), Max: most}, BeforeLogin: true}
}

// login brings a session to where a client is logged in.
func login(t *testing.T, s dispatch.Session, token string) handler.Authenticated {
	t.Helper()
	require.NoError(t, s.Admit(handshake, 1, "app"))
	_, code := s.Handshake(1, "WORDS")
	require.Zero(t, code)
	require.NoError(t, s.Admit(authenticate, 1, "app"))
	a := s.Authenticate(t.Context(), []byte(token))
	require.NoError(t, a.Err)
	return a
}

// Before a handshake, as Kafka: one ApiVersions that is answered without an error, and
// one before it.
func TestBeforeHandshake(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, nil)
	begin := func() dispatch.Session { return s.Session(client, nil) }

	require.NoError(t, begin().Admit(handshake, 0, "app"))
	require.Error(t, begin().Admit(metadata, 13, "app"))
	require.Error(t, begin().Admit(authenticate, 1, "app"))

	one := begin()
	require.NoError(t, one.Admit(versions, 9, "app"), "not served: the client may try again")
	require.NoError(t, one.Admit(versions, 0, "app"))
	one.Versions()
	require.Error(t, one.Admit(versions, 0, "app"))

	two := begin()
	require.NoError(t, two.Admit(versions, 3, "app"))
	two.Versions()
	require.Error(t, two.Admit(versions, 0, "app"), "once is enough")

	three := begin()
	require.NoError(t, three.Admit(versions, -1, "app"))
	require.NoError(t, three.Admit(versions, 99, "app"))
	require.Error(t, three.Admit(versions, 0, "app"))
}

// During a login only tokens are admitted, and a handshake that answers 34.
func TestDuringLogin(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, nil).Session(client, nil)
	require.NoError(t, s.Admit(handshake, 1, "app"))
	s.Handshake(1, "WORDS")
	require.Error(t, s.Admit(versions, 0, "app"))
	require.Error(t, s.Admit(metadata, 13, "app"))
	require.NoError(t, s.Admit(authenticate, 1, "app"))
	require.NoError(t, s.Admit(handshake, 1, "app"))
	require.False(t, s.LoggedIn())
	require.Equal(t, security.Anonymous, s.Principal())
}

// Who is logged in may do everything; a login that has no end is not renewed.
func TestAfterLogin(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, nil).Session(client, nil)
	require.Equal(t, handler.Authenticated{Token: []byte("welcome")}, login(t, s, "alice right"))
	require.True(t, s.LoggedIn())
	require.Equal(t, security.User("alice"), s.Principal())
	for range 3 {
		require.NoError(t, s.Admit(versions, 0, "app"))
		require.NoError(t, s.Admit(metadata, 13, "app"))
		require.NoError(t, s.Admit(handshake, 1, "app"))
		names, code := s.Handshake(1, "WORDS")
		require.Empty(t, names)
		require.EqualValues(t, 34, code)
		require.EqualValues(t, 34, s.Authenticate(t.Context(), nil).Code)
	}
	require.False(t, s.Failed())
}

// A login is good until the earlier of sasl.max_reauth and its credential's end.
// Then nothing but a renewal goes on (KIP-368).
func TestLifetime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reauth time.Duration
		word   string
		want   time.Duration
	}{
		{0, "right", 0},
		{0, "brief", time.Second},
		{time.Hour, "right", time.Hour},
		{time.Hour, "brief", time.Second},
		{time.Second, "right", time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := sasltest.New(t, func(cfg *sasl.Config) { cfg.MaxReauth = c.reauth }).Session(client, nil)
			require.Equal(t, c.want.Milliseconds(), login(t, s, "alice "+c.word).Lifetime, c)
			if c.want == 0 {
				time.Sleep(1000 * time.Hour)
				require.NoError(t, s.Admit(metadata, 13, "app"))
				return
			}
			time.Sleep(c.want - 1)
			require.NoError(t, s.Admit(metadata, 13, "app"))
			time.Sleep(time.Nanosecond)
			require.Error(t, s.Admit(metadata, 13, "app"))
			require.Error(t, s.Admit(versions, 0, "app"))
			require.Error(t, s.Admit(authenticate, 1, "app"))
			login(t, s, "alice right")
			require.NoError(t, s.Admit(metadata, 13, "app"))
		})
	}
}

// A connection that is closed because its login has expired is counted.
func TestExpiredIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		cfg := sasl.DefaultConfig()
		cfg.MaxReauth = time.Second
		sasls, err := sasl.New(cfg, []sasl.Mechanism{sasltest.Words("WORDS")}, nil, reg)
		require.NoError(t, err)
		s := sasls.Session(client, nil)
		login(t, s, "alice right")
		time.Sleep(time.Second)
		require.Error(t, s.Admit(metadata, 13, "app"))
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP kafka_gateway_expired_sessions_total Connections that were closed because their login had expired (KIP-368).
# TYPE kafka_gateway_expired_sessions_total counter
kafka_gateway_expired_sessions_total 1
`), "kafka_gateway_expired_sessions_total"))
	})
}

// A second lies between the beginnings of two renewals, and the first may come at
// once.
func TestRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = 1500 * time.Millisecond }).Session(client, nil)
		login(t, s, "alice right")
		login(t, s, "alice right")
		time.Sleep(time.Second - 1)
		_, code := s.Handshake(1, "WORDS")
		require.EqualValues(t, 34, code)
		require.False(t, s.Failed())
		time.Sleep(time.Nanosecond)
		login(t, s, "alice right")
		require.Equal(t, security.User("alice"), s.Principal())

		// Too early to be renewed, and over.
		time.Sleep(2 * time.Second)
		login(t, s, "alice right")
		time.Sleep(1500 * time.Millisecond)
		login(t, s, "alice right")
	})
	synctest.Test(t, func(t *testing.T) {
		s := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = time.Second }).Session(client, nil)
		login(t, s, "alice right")
		require.NoError(t, s.Admit(handshake, 1, "app"))
		s.Handshake(1, "WORDS")
		time.Sleep(time.Hour)
		require.NoError(t, s.Admit(authenticate, 1, "app"), "the renewal has begun in time")
		require.NoError(t, s.Authenticate(t.Context(), []byte("alice right")).Err)
	})
}

// A renewal that is under way does not change who the client is, and admits nothing
// else.
func TestDuringRenewal(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = time.Hour }).Session(client, nil)
	login(t, s, "alice right")
	s.Handshake(0, "WORDS")
	require.True(t, s.Bare())
	require.True(t, s.LoggedIn())
	require.Equal(t, security.User("alice"), s.Principal())
	require.Error(t, s.Admit(metadata, 13, "app"))
}

// A client that names another mechanism learns of it with its next request, whatever
// that is.
func TestRenewalWithAnotherMechanism(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = time.Hour }).Session(client, nil)
	login(t, s, "alice right")
	_, code := s.Handshake(1, "OTHER")
	require.Zero(t, code)
	require.Error(t, s.Admit(metadata, 0, "app"))
	require.Error(t, s.Admit(handshake, 1, "app"))
	require.True(t, s.Failed())
}

// Failures are answered later and later, until there was none for a minute. What
// other addresses do does not matter, those of one IPv6 network do.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sasls := sasltest.New(t, func(c *sasl.Config) {
			c.FailureDelay, c.MaxFailureDelay = 100*time.Millisecond, 500*time.Millisecond
		})
		fail := func(host string) time.Duration {
			who := client
			who.Host = host
			began := time.Now()
			require.EqualValues(t, 58, login(t, sasls.Session(who, nil), "alice wrong").Code)
			return time.Since(began)
		}
		for _, want := range []time.Duration{100, 200, 400, 500, 500} {
			require.Equal(t, want*time.Millisecond, fail("10.0.0.7"))
			require.Equal(t, want*time.Millisecond, fail("2001:db8::"+want.String()[:1]))
		}
		require.Equal(t, 100*time.Millisecond, fail("10.0.0.8"))
		require.Equal(t, 500*time.Millisecond, fail("2001:db8::ffff"))
		require.Equal(t, 100*time.Millisecond, fail("2001:db8:0:1::1"))
		require.Equal(t, 500*time.Millisecond, fail("::ffff:10.0.0.7"))
		time.Sleep(time.Minute)
		require.Equal(t, 100*time.Millisecond, fail("10.0.0.7"))

		began := time.Now()
		who := client
		who.Host = "10.0.0.7"
		login(t, sasls.Session(who, nil), "alice right")
		require.Zero(t, time.Since(began), "who logs in does not wait")
	})
}

// The wait ends with the connection, and nobody is answered.
func TestDelayEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sasltest.New(t, func(c *sasl.Config) {
			c.FailureDelay, c.MaxFailureDelay = 30*time.Second, 30*time.Second
		}).Session(client, nil)
		s.Handshake(1, "WORDS")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, s.Authenticate(ctx, []byte("alice wrong")).Err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// Bounds of what a client may send.
func TestTokens(t *testing.T) {
	t.Parallel()
	sasls := sasltest.New(t, func(c *sasl.Config) { c.MaxTokenSize = 512 })
	require.Equal(t, 512, sasls.MaxToken())
	s := sasls.Session(client, nil)
	s.Handshake(1, "WORDS")
	require.NoError(t, s.Authenticate(t.Context(), []byte("alice more"+strings.Repeat(" ", 502))).Err)

	s = sasls.Session(client, nil)
	s.Handshake(1, "WORDS")
	require.ErrorIs(t, s.Authenticate(t.Context(), make([]byte, 513)).Err, dispatch.ErrLogin)
	require.True(t, s.Failed())

	s = sasls.Session(client, nil)
	s.Handshake(1, "WORDS")
	for range 8 {
		require.NoError(t, s.Authenticate(t.Context(), []byte("alice more")).Err)
	}
	require.Error(t, s.Authenticate(t.Context(), []byte("alice right")).Err)
	require.False(t, s.LoggedIn())
}

// Other goroutines look at a session while it works.
func TestLooks(t *testing.T) {
	t.Parallel()
	s := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = time.Hour }).Session(client, nil)
	stop := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if s.LoggedIn() && s.Principal() != security.User("alice") {
					t.Error("logged in as nobody")
				}
			}
		}
	})
	login(t, s, "alice right")
	login(t, s, "alice right")
	close(stop)
	looks.Wait()
}

// Whatever comes in whatever order: who is logged in stays who it was, and after a
// failure nothing is admitted.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	sasls := sasltest.New(t, func(c *sasl.Config) { c.MaxReauth = time.Hour })
	rapid.Check(t, func(r *rapid.T) {
		s := sasls.Session(client, nil)
		was := security.Anonymous
		for range rapid.IntRange(1, 20).Draw(r, "requests") {
			spec := rapid.SampledFrom([]handler.Spec{versions, handshake, handshake, authenticate, authenticate, metadata}).Draw(r, "key")
			version := int16(rapid.IntRange(-1, 6).Draw(r, "version"))
			failed := s.Failed()
			if err := s.Admit(spec, version, "app"); err != nil {
				return // the connection closes
			}
			require.False(r, failed, "admitted after a failure")
			switch spec.Key {
			case handshake.Key:
				s.Handshake(version, rapid.SampledFrom([]string{"WORDS", "WORDS", "OTHER", "NONE"}).Draw(r, "mechanism"))
			case authenticate.Key:
				user := rapid.SampledFrom([]string{"alice", "alice", "bob"}).Draw(r, "user")
				word := rapid.SampledFrom([]string{"right", "right", "more", "wrong", "told", "broken", "late", "?"}).Draw(r, "word")
				if s.Authenticate(context.Background(), []byte(user+" "+word)).Err != nil {
					return
				}
			case metadata.Key:
				require.True(r, s.LoggedIn(), "served before a login")
			}
			require.Equal(r, s.LoggedIn(), s.Principal() != security.Anonymous)
			if was != security.Anonymous {
				require.Equal(r, was, s.Principal())
			}
			was = s.Principal()
		}
	})
}

// Only what the listener offers can be chosen, in the order of the configuration.
func TestMechanismsOfAListener(t *testing.T) {
	t.Parallel()
	sasls := sasltest.New(t, nil)
	require.Equal(t, []string{"OTHER"}, sasls.Offered([]string{"OTHER"}))
	require.Equal(t, []string{"WORDS", "OTHER"}, sasls.Offered(nil))
	names, code := sasls.Session(client, []string{"OTHER"}).Handshake(1, "WORDS")
	require.Equal(t, []string{"OTHER"}, names)
	require.EqualValues(t, 33, code)
	names, code = sasls.Session(client, []string{"OTHER", "WORDS"}).Handshake(1, "OTHER")
	require.Equal(t, []string{"WORDS", "OTHER"}, names)
	require.Zero(t, code)
}

// refusals is an audit that keeps what it is told.
type refusals struct{ told []string }

func (r *refusals) LoginRefused(who security.Requester, mechanism, user string, why error) {
	r.told = append(r.told, who.Host+" "+who.ClientID+" "+mechanism+" "+user+": "+why.Error())
}

func (r *refusals) ConnectionRefused(who security.Requester, why error) {
	r.told = append(r.told, who.Host+" "+who.ClientID+": "+why.Error())
}

func (*refusals) Denied(security.Requester, kmsg.Key, kmsg.ACLOperation, security.Resource) {}

// Each failed login is told of once, and counted once.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	audit, reg := &refusals{}, prometheus.NewRegistry()
	cfg := sasl.DefaultConfig()
	cfg.FailureDelay, cfg.MaxReauth = 0, time.Hour
	sasls, err := sasl.New(cfg, []sasl.Mechanism{sasltest.Words("WORDS")}, audit, reg)
	require.NoError(t, err)
	s := sasls.Session(client, nil)
	require.NoError(t, s.Admit(handshake, 1, "first"))
	s.Handshake(1, strings.Repeat("é", 100))
	for _, word := range []string{"wrong", "told", "broken", "away", "slow", "?", "right"} {
		s := sasls.Session(client, nil)
		require.NoError(t, s.Admit(handshake, 1, "a"))
		s.Handshake(1, "WORDS")
		if s.Authenticate(t.Context(), []byte("alice "+word)); word == "told" {
			s.Authenticate(t.Context(), []byte{1})
		}
	}
	s = sasls.Session(client, nil)
	login(t, s, "alice right")
	login(t, s, "bob right")
	s = sasls.Session(client, nil)
	login(t, s, "alice right")
	require.NoError(t, s.Admit(handshake, 1, "renews"))
	s.Handshake(1, "OTHER")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s = sasls.Session(client, nil)
	s.Handshake(1, "WORDS")
	require.True(t, errors.Is(s.Authenticate(gone, []byte("alice right")).Err, context.Canceled))

	require.Equal(t, []string{
		"10.0.0.7 first unknown : the listener does not offer the mechanism \"" + strings.Repeat("é", 32) + "\"",
		"10.0.0.7 a WORDS alice: wrong word",
		"10.0.0.7 a WORDS alice: told you",
		"10.0.0.7 a WORDS : the login could not be checked: no line",
		"10.0.0.7 a WORDS alice: the login could not be checked: nobody is there",
		"10.0.0.7 a WORDS : the login could not be checked: context deadline exceeded",
		"10.0.0.7 a WORDS : no word that I know",
		"10.0.0.7 app WORDS bob: Cannot change principals during re-authentication from User.alice: User.bob",
		"10.0.0.7 renews unknown : the listener does not offer the mechanism \"OTHER\"",
	}, audit.told)
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP kafka_gateway_logins_total First logins of connections, by SASL mechanism and result: success, refused, left by the client, or unavailable when nobody could tell.
# TYPE kafka_gateway_logins_total counter
kafka_gateway_logins_total{mechanism="WORDS",result="left"} 1
kafka_gateway_logins_total{mechanism="WORDS",result="refused"} 3
kafka_gateway_logins_total{mechanism="WORDS",result="success"} 3
kafka_gateway_logins_total{mechanism="WORDS",result="unavailable"} 3
kafka_gateway_logins_total{mechanism="unknown",result="refused"} 1
# HELP kafka_gateway_reauthentications_total Further logins of connections that were logged in already (KIP-368), by SASL mechanism and result.
# TYPE kafka_gateway_reauthentications_total counter
kafka_gateway_reauthentications_total{mechanism="WORDS",result="refused"} 1
kafka_gateway_reauthentications_total{mechanism="unknown",result="refused"} 1
`), "kafka_gateway_logins_total", "kafka_gateway_reauthentications_total"))
}

// Who makes a request before logging in is told of as a connection that was refused,
// under the id of that request; who is logged in is not.
func TestRequestsBeforeLoginAreTold(t *testing.T) {
	t.Parallel()
	audit := &refusals{}
	sasls, err := sasl.New(sasl.DefaultConfig(), []sasl.Mechanism{sasltest.Words("WORDS")}, audit, nil)
	require.NoError(t, err)
	s := sasls.Session(client, nil)
	require.NoError(t, s.Admit(versions, 3, "first"))
	require.Error(t, s.Admit(metadata, 13, "plain"))
	s = sasls.Session(client, nil)
	require.NoError(t, s.Admit(handshake, 1, ""))
	s.Handshake(1, "WORDS")
	require.Error(t, s.Admit(versions, 3, ""))
	s = sasls.Session(client, nil)
	login(t, s, "alice right")
	require.NoError(t, s.Admit(metadata, 13, "app"))
	require.Equal(t, []string{
		"10.0.0.7 plain: before a login only ApiVersions and SaslHandshake are served",
		"10.0.0.7 : during a login only SaslAuthenticate is served",
	}, audit.told)
}
