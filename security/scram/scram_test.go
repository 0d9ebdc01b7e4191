package scram_test

import (
	"context"
	"crypto/pbkdf2"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	xdg "github.com/xdg-go/scram"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/scram"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) {
	// The ticker of Sarama's metrics library never stops, by design.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// credential is what a client of AlterUserScramCredentials would have stored.
func credential(t *testing.T, mechanism int8, password string) *security.ScramCredential {
	t.Helper()
	h, salt := security.ScramHash(mechanism), []byte("1kq9wx1kq9wx1kq9wx1kq9wx1k")
	salted, err := pbkdf2.Key(h, password, salt, 4096, h().Size())
	require.NoError(t, err)
	c := security.NewScramCredential(mechanism, salted, salt, 4096)
	return &c
}

// withUsers returns credentials of both mechanisms for each user: passwords by name.
func withUsers(t *testing.T, passwords map[string]string) *securitytest.Users {
	t.Helper()
	users := &securitytest.Users{}
	for name, password := range passwords {
		for _, m := range security.ScramMechanisms {
			require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{
				{User: name, Mechanism: m, Credential: credential(t, m, password)},
			}))
		}
	}
	return users
}

func same(s string) string { return s }

// attempt is one login: what the client says may be changed on its way.
type attempt struct {
	mechanism              int8
	user, password, authz  string
	first, last            func(string) string
	serverFirst, serverEnd string // what came back
	proved                 bool   // the server, to the client
}

func (a *attempt) run(t *testing.T, users security.ScramCredentials) (*sasl.Login, error) {
	t.Helper()
	return a.with(t, scram.New(a.mechanism, users).Begin(security.Requester{}))
}

func (a *attempt) with(t *testing.T, exchange sasl.Exchange) (*sasl.Login, error) {
	t.Helper()
	client, err := xdg.HashGeneratorFcn(security.ScramHash(a.mechanism)).NewClientUnprepped(a.user, a.password, a.authz)
	require.NoError(t, err)
	conversation := client.NewConversation()
	message, err := conversation.Step("")
	require.NoError(t, err)
	answer, login, err := exchange.Next(t.Context(), []byte(a.first(message)))
	if err != nil {
		require.Nil(t, answer)
		return nil, err
	}
	require.Nil(t, login)
	a.serverFirst = string(answer)
	message, err = conversation.Step(a.serverFirst)
	require.NoError(t, err)
	answer, login, err = exchange.Next(t.Context(), []byte(a.last(message)))
	if err != nil {
		require.Nil(t, answer)
		return nil, err
	}
	a.serverEnd = string(answer)
	_, err = conversation.Step(a.serverEnd)
	a.proved = err == nil && conversation.Valid()
	return login, nil
}

func TestLogin(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret", "a,b=c": "pass,word=", "ü": "für", "key\U0001f511": "x"})
	for _, m := range security.ScramMechanisms {
		require.Equal(t, security.ScramName(m), scram.New(m, users).Name())
		for _, a := range []attempt{
			{user: "alice", password: "secret"},
			{user: "alice", password: "secret", authz: "alice"},
			{user: "a,b=c", password: "pass,word=", authz: "a,b=c"},
			{user: "ü", password: "für"},
		} {
			a.mechanism, a.first, a.last = m, same, same
			login, err := a.run(t, users)
			require.NoError(t, err)
			require.Equal(t, &sasl.Login{Principal: security.User(a.user)}, login)
			require.True(t, a.proved, "the server has proved that it knows the credential")
		}
		decomposed := attempt{mechanism: m, user: "u\u0308", password: "für", first: same, last: same}
		login, err := decomposed.run(t, users)
		require.NoError(t, err)
		require.Equal(t, security.User("ü"), login.Principal, "names are compared as SASLprep makes them")
	}
}

// Extensions of the last message, and those of the first that ask for nothing,
// are let pass.
func TestExtensions(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	a := attempt{mechanism: 1, user: "alice", password: "secret", first: same, last: func(s string) string { return s }}
	exchange := scram.New(1, users).Begin(security.Requester{})
	answer, _, err := exchange.Next(t.Context(), []byte("n,,n=alice,r=abc,tokenauth=false,x=y"))
	require.NoError(t, err)
	require.Contains(t, string(answer), "r=abc")
	_, err = a.run(t, users)
	require.NoError(t, err)
}

func replace(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}

func cutProof(with string) func(string) string {
	return func(s string) string { return s[:strings.Index(s, ",p=")] + with }
}

// Who is refused gets Kafka's general message, but for an authorization id.
func TestRefused(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	constant := func(s string) func(string) string { return func(string) string { return s } }
	for name, c := range map[string]struct {
		attempt
		user, cause, message string
	}{
		"wrong password":       {attempt: attempt{password: "wrong"}, user: "alice", cause: "the password is wrong"},
		"no such user":         {attempt: attempt{user: "bob"}, user: "bob", cause: "the user has no credential of this mechanism"},
		"another user's":       {attempt: attempt{authz: "bob"}, user: "alice", message: "Authentication failed: Client requested an authorization id that is different from username"},
		"channel binding":      {attempt: attempt{first: replace("n,,", "p=tls-unique,,")}, cause: "the client asks for channel binding, which there is none of"},
		"could bind":           {attempt: attempt{first: replace("n,,", "y,,")}, cause: "the client asks for channel binding, which there is none of"},
		"delegation token":     {attempt: attempt{first: func(s string) string { return s + ",tokenauth=true" }}, cause: "the client wants to log in by a delegation token, of which there are none"},
		"an odd extension":     {attempt: attempt{first: func(s string) string { return s + ",x" }}, cause: first},
		"a mandatory one":      {attempt: attempt{first: replace("n,,n=", "n,,m=1,n=")}, cause: first},
		"an added extension":   {attempt: attempt{first: func(s string) string { return s + ",x=y" }}, user: "alice", cause: "the password is wrong"},
		"empty":                {attempt: attempt{first: constant("")}, cause: first},
		"garbage":              {attempt: attempt{first: constant("garbage")}, cause: first},
		"no gs2 flag":          {attempt: attempt{first: replace("n,,", "x,,")}, cause: first},
		"no nonce":             {attempt: attempt{first: constant("n,,n=alice,r=")}, cause: first},
		"a nonce with a space": {attempt: attempt{first: constant("n,,n=alice,r=a b")}, cause: first},
		"a nonce in Unicode":   {attempt: attempt{first: constant("n,,n=alice,r=ü")}, cause: first},
		"an unescaped name":    {attempt: attempt{first: constant("n,,n=a=b,r=abc")}, cause: first},
		"no name":              {attempt: attempt{first: constant("n,,n=,r=abc")}, cause: oddName},
		"a control character":  {attempt: attempt{first: constant("n,,n=a\x00b,r=abc")}, cause: oddName},
		"no UTF-8":             {attempt: attempt{first: constant("n,,n=a\xff,r=abc")}, cause: oddName},
		"too long":             {attempt: attempt{first: constant("n,,n=alice,r=" + strings.Repeat("a", 8<<10))}, cause: first},
		"another binding":      {attempt: attempt{last: replace("c=biws", "c=eSws")}, user: "alice", cause: last},
		"another nonce":        {attempt: attempt{last: replace("r=", "r=x")}, user: "alice", cause: last},
		"a doubled nonce":      {attempt: attempt{last: doubleNonce}, user: "alice", cause: "the client's last message has its nonce twice, as those of librdkafka before 2.6.1 do: no server that keeps to RFC 5802 takes them"},
		"a short proof":        {attempt: attempt{last: cutProof(",p=AAAA")}, user: "alice", cause: last},
		"no proof":             {attempt: attempt{last: cutProof("")}, user: "alice", cause: last},
		"no base64":            {attempt: attempt{last: cutProof(",p=A!")}, user: "alice", cause: last},
		"an empty last":        {attempt: attempt{last: constant("")}, user: "alice", cause: last},
		"a long last":          {attempt: attempt{last: func(s string) string { return strings.Replace(s, ",p=", ",x="+strings.Repeat("a", 8<<10)+",p=", 1) }}, user: "alice", cause: last},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range security.ScramMechanisms {
				a := c.attempt
				a.mechanism = m
				for _, d := range []struct {
					to    *string
					value string
				}{{&a.user, "alice"}, {&a.password, "secret"}} {
					if *d.to == "" {
						*d.to = d.value
					}
				}
				if a.first == nil {
					a.first = same
				}
				if a.last == nil {
					a.last = same
				}
				login, err := a.run(t, users)
				require.Nil(t, login)
				var refused *sasl.Refused
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.message, refused.Message)
				require.Equal(t, c.user, refused.User)
				require.Nil(t, refused.Answer)
				if c.cause != "" {
					require.EqualError(t, refused.Cause, c.cause)
				}
			}
		})
	}
}

// doubleNonce writes the client's part of the nonce once more. The server's part has
// 32 characters.
func doubleNonce(last string) string {
	begin, rest, _ := strings.Cut(last, ",r=")
	nonce, proof, _ := strings.Cut(rest, ",")
	return begin + ",r=" + nonce[:len(nonce)-32] + nonce + "," + proof
}

const (
	oddName = "the user name is not one that SASLprep allows"

	first = "the client's first message is not one of SCRAM"
	last  = "the client's last message is not the one that was due"
)

// An exchange is good for one login.
func TestOver(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	for _, password := range []string{"secret", "wrong"} {
		exchange := scram.New(1, users).Begin(security.Requester{})
		a := attempt{mechanism: 1, user: "alice", password: password, first: same, last: same}
		_, _ = a.with(t, exchange)
		_, login, err := exchange.Next(t.Context(), []byte("n,,n=alice,r=abc"))
		require.Nil(t, login)
		require.EqualError(t, err, "a message after the last one")
	}
}

// A stranger cannot tell who exists: the first answer has the same form, and is
// the same whenever it is asked for.
func TestUnknownLooksLikeKnown(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	for _, m := range security.ScramMechanisms {
		mechanism := scram.New(m, users)
		ask := func(user string) (salt, rest string) {
			answer, login, err := mechanism.Begin(security.Requester{}).Next(t.Context(), []byte("n,,n="+user+",r=abc"))
			require.NoError(t, err)
			require.Nil(t, login)
			nonce, after, _ := strings.Cut(string(answer), ",s=")
			salt, iterations, _ := strings.Cut(after, ",i=")
			require.Len(t, nonce, len("r=abc")+32)
			require.Equal(t, "4096", iterations)
			return salt, iterations
		}
		alice, _ := ask("alice")
		bob, _ := ask("bob")
		again, _ := ask("bob")
		carol, _ := ask("carol")
		require.Equal(t, bob, again)
		require.NotEqual(t, bob, carol)
		require.Len(t, bob, len(alice))
	}
}

// shaped are credentials that tell how most of them look.
type shaped struct{ securitytest.Users }

func (*shaped) TypicalScramShape(int8) security.ScramShape {
	return security.ScramShape{Iterations: 5000, SaltLength: 3}
}

func TestUnknownLooksLikeMost(t *testing.T) {
	t.Parallel()
	a := attempt{mechanism: 2, user: "bob", password: "x", first: same, last: same}
	_, err := a.run(t, &shaped{})
	require.EqualError(t, err, "the user has no credential of this mechanism")
	require.Regexp(t, `,s=[A-Za-z0-9+/]{4},i=5000$`, a.serverFirst)
}

// Logins under way go by the credential that they began with, later ones by the
// new one.
func TestAlteredMeanwhile(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	a := attempt{mechanism: 1, user: "alice", password: "secret", first: same}
	a.last = func(s string) string {
		require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{
			{User: "alice", Mechanism: 1, Credential: credential(t, 1, "new")},
		}))
		return s
	}
	_, err := a.run(t, users)
	require.NoError(t, err)
	a.last = same
	_, err = a.run(t, users)
	require.EqualError(t, err, "the password is wrong")
	a.password = "new"
	_, err = a.run(t, users)
	require.NoError(t, err)
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret", "bob": ""})
	require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{
		{User: "carol", Mechanism: security.ScramSHA256, Credential: credential(t, security.ScramSHA256, "old")},
		{User: "carol", Mechanism: security.ScramSHA512, Credential: credential(t, security.ScramSHA512, "new")},
	}))
	passwords := scram.NewPasswords(users, nil)
	for _, c := range []struct {
		user, password string
		right          bool
	}{
		{"alice", "secret", true}, {"alice", "Secret", false}, {"alice", "", false}, {"", "", false},
		{"nobody", "secret", false}, {"bob", "", true}, {"carol", "old", true}, {"carol", "new", true}, {"carol", "other", false},
	} {
		right, err := passwords.Check(t.Context(), c.user, c.password)
		require.NoError(t, err)
		require.Equal(t, c.right, right, "%q %q", c.user, c.password)
	}
}

// A password that was right needs no processor again, until the credential is another
// one; one that was wrong needs it each time.
func TestPasswordsAreRemembered(t *testing.T) {
	t.Parallel()
	users := withUsers(t, map[string]string{"alice": "secret"})
	turns := security.TurnsOf(1)
	passwords := scram.NewPasswords(users, turns)
	check := func(password string) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		return passwords.Check(ctx, "alice", password)
	}
	busy := func(test func()) {
		require.NoError(t, turns.Take(t.Context()))
		defer turns.Give()
		test()
	}
	computes := func(password string) {
		t.Helper()
		busy(func() {
			_, err := check(password)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	computes("secret")
	right, err := passwords.Check(t.Context(), "alice", "secret")
	require.NoError(t, err)
	require.True(t, right)
	busy(func() {
		right, err := check("secret")
		require.NoError(t, err)
		require.True(t, right)
	})
	right, err = passwords.Check(t.Context(), "alice", "wrong")
	require.NoError(t, err)
	require.False(t, right)
	computes("wrong")

	same := credential(t, security.ScramSHA256, "secret") // its other one goes
	for _, change := range []*security.ScramCredential{same, nil} {
		require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{
			{User: "alice", Mechanism: security.ScramSHA256, Credential: change},
			{User: "alice", Mechanism: security.ScramSHA512},
		}))
		computes("secret")
		right, err = passwords.Check(t.Context(), "alice", "secret")
		require.NoError(t, err)
		require.Equal(t, change != nil, right)
	}
}

// blocking are credentials that hold up who looks at them.
type blocking struct {
	securitytest.Users
	looked, held chan struct{}
}

func (b *blocking) ScramCredential(user string, mechanism int8) (security.ScramCredential, bool) {
	b.looked <- struct{}{}
	<-b.held
	return b.Users.ScramCredential(user, mechanism)
}

// However many passwords are to be checked, some processors are left for others, and
// so they are when others compute for strangers; who waits gives up with its client.
func TestPasswordsAreBounded(t *testing.T) {
	t.Parallel()
	users := &blocking{looked: make(chan struct{}, 1000), held: make(chan struct{})}
	turns := security.TurnsOf(2)
	passwords, most := scram.NewPasswords(users, turns), turns.Most()
	done := make(chan error, most)
	for range most {
		go func() {
			_, err := passwords.Check(context.Background(), "alice", "x")
			done <- err
		}()
	}
	for range most {
		<-users.looked
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := passwords.Check(ctx, "alice", "x")
	require.True(t, errors.Is(err, context.DeadlineExceeded))
	close(users.held)
	for range most {
		require.NoError(t, <-done)
	}
	for range most { // handshakes have all turns
		require.NoError(t, turns.Take(t.Context()))
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = passwords.Check(ctx, "alice", "x")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, most, turns.Taken())
}

func FuzzNext(f *testing.F) {
	f.Add("n,,n=alice,r=abc", "c=biws,r=abc,p=AAAA", int8(1))
	f.Add("n,a=alice,n=a=2Cb=3D,r=abc,tokenauth=true", "", int8(2))
	users := &securitytest.Users{}
	users.Fix("alice", 1, securitytest.Credential(1, "secret", 4096))
	mechanisms := map[bool]*scram.Mechanism{true: scram.New(1, users), false: scram.New(2, users)}
	f.Fuzz(func(t *testing.T, one, two string, mechanism int8) {
		exchange := mechanisms[mechanism == 1].Begin(security.Requester{})
		for _, message := range []string{one, two, two} {
			answer, login, err := exchange.Next(t.Context(), []byte(message))
			require.Nil(t, login)
			if err != nil {
				var refused *sasl.Refused
				require.ErrorAs(t, err, &refused)
				require.Nil(t, answer)
				return
			}
		}
	})
}

// secretive are users with a secret for those that do not exist.
type secretive struct {
	securitytest.Users
	secret []byte
}

func (s *secretive) ScramFakeSecret() []byte { return s.secret }

// With a secret of the users a name has the same salt after a restart, as those have
// that exist; another secret makes other salts.
func TestUnknownAfterARestart(t *testing.T) {
	t.Parallel()
	salt := func(users *secretive) string {
		answer, _, err := scram.New(1, users).Begin(security.Requester{}).Next(t.Context(), []byte("n,,n=bob,r=abc"))
		require.NoError(t, err)
		_, after, _ := strings.Cut(string(answer), ",s=")
		return after
	}
	kept := &secretive{secret: []byte("a secret")}
	require.Equal(t, salt(kept), salt(kept))
	require.NotEqual(t, salt(kept), salt(&secretive{secret: []byte("another")}))
	require.NotEqual(t, salt(&secretive{}), salt(&secretive{}))
}
