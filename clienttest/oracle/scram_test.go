package oracle

import (
	"crypto/pbkdf2"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	xdg "github.com/xdg-go/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/security"
	gateway "github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// scramLogin is a login whose messages are changed on their way.
type scramLogin struct {
	mechanism             int8
	user, password, authz string
	first, last           func(string) string
	// Where the gateway knowingly does otherwise: what it does, and why.
	gateway, why string
}

// rewrite returns a function that changes a part of a message.
func rewrite(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}

func constant(s string) func(string) string { return func(string) string { return s } }

// proof puts another end in the place of a proof.
func proof(with string) func(string) string {
	return func(s string) string { return s[:strings.Index(s, ",p=")] + with }
}

const (
	refusedFirst = `first 58 "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256", closed`
	refusedLast  = `last 58 "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256", closed`
)

// scramLogins are asked of both servers; what is left out is that of alice.
var scramLogins = map[string]scramLogin{
	"right":                   {},
	"right, SHA-512":          {mechanism: security.ScramSHA512},
	"an escaped name":         {user: "a=b,c"},
	"wrong password":          {password: "wrong"},
	"wrong password, SHA-512": {mechanism: security.ScramSHA512, password: "wrong"},
	"for herself":             {authz: "alice"},
	"for somebody else":       {authz: "bob"},
	"bound":                   {first: rewrite("n,,", "p=tls-unique,,")},
	"could be bound":          {first: rewrite("n,,", "y,,")},
	"by a token":              {first: func(s string) string { return s + ",tokenauth=true" }},
	"not by a token":          {first: func(s string) string { return s + ",tokenauth=false" }},
	"an added extension":      {first: func(s string) string { return s + ",x=y" }},
	"empty":                   {first: constant("")},
	"garbage":                 {first: constant("garbage")},
	"no nonce":                {first: constant("n,,n=alice,r=")},
	"an odd nonce":            {first: constant("n,,n=alice,r=a b")},
	"an odd name":             {first: constant("n,,n=a=b,r=abc")},
	"no name":                 {first: constant("n,,n=,r=abc")},
	"a NUL":                   {first: constant("n,,n=a\x00,r=abc")},
	"another binding":         {last: rewrite("c=biws", "c=eSws")},
	"another nonce":           {last: rewrite("r=", "r=x")},
	"no proof":                {last: proof("")},
	"no base64":               {last: proof(",p=A!")},
	"garbage at last":         {last: constant("garbage")},
	"nothing at last":         {last: constant("")},

	"nobody": {user: "nobody",
		gateway: refusedLast, why: "a stranger shall not find out who exists"},
	"an escaped name for itself": {user: "a=b,c", authz: "a=b,c",
		gateway: `logged in`, why: "Kafka does not unescape whom the client acts for"},
	"not in ASCII": {user: "ü",
		gateway: `logged in`, why: "Kafka takes names in ASCII alone"},
	"a mandatory extension": {first: rewrite("n,,n=", "n,,m=1,n="),
		gateway: refusedFirst, why: "RFC 5802 wants it refused by whoever does not know it"},
	"an extension at last": {last: rewrite(",p=", ",x=y,p="),
		gateway: refusedLast, why: "RFC 5802 has the proof cover it, and Kafka does not"},
	"a short proof": {last: proof(",p=AAAA"),
		gateway: refusedLast, why: "Kafka fails"},
}

// TestScramLogins logs in to both servers, rightly and wrongly.
func TestScramLogins(t *testing.T) {
	kafka := kafkaBroker(t)
	if kafka.scram == "" {
		t.Skipf("%s names no address to log in at by SCRAM", kafkaVar)
	}
	var secure string
	plain := gatewaytest.Start(t,
		gatewaytest.Listener("secure", gateway.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &secure),
		gatewaytest.Config(func(c *app.Config) { c.SASL.Logins.FailureDelay = 0 }))
	prepareScram(t, newSide("Kafka", kafka.plain))
	prepareScram(t, newSide("gateway", plain))
	require.Eventually(t, func() bool { return scramLogins["right"].try(t, kafka.scram) == "logged in" }, wait, pause,
		"the broker does not know its users")
	for _, name := range slices.Sorted(maps.Keys(scramLogins)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := scramLogins[name]
			theirs, ours := l.try(t, kafka.scram), l.try(t, secure)
			want := theirs
			if l.gateway != "" {
				require.NotEqual(t, l.gateway, theirs, "the difference no longer occurs (%s)", l.why)
				want = l.gateway
			}
			require.Equal(t, want, ours, "Kafka: %s", theirs)
		})
	}
}

// prepareScram makes the users on a server.
func prepareScram(t *testing.T, s *side) {
	defer s.hangUp()
	for _, m := range security.ScramMechanisms {
		var all []setUser
		for _, name := range []string{"alice", "a=b,c", "ü"} {
			u := set(name, m, 4096)
			h := security.ScramHash(m)
			var err error
			u.SaltedPassword, err = pbkdf2.Key(h, name+"'s secret", u.Salt, int(u.Iterations), h().Size())
			require.NoError(t, err)
			all = append(all, u)
		}
		s.must(t, alterUsers(nil, all...))
	}
}

// try logs in and tells how far it came.
func (l scramLogin) try(t *testing.T, addr string) string {
	t.Helper()
	if l.mechanism == 0 {
		l.mechanism = security.ScramSHA256
	}
	if l.user == "" {
		l.user = "alice"
	}
	if l.password == "" {
		l.password = l.user + "'s secret"
	}
	client, err := xdg.HashGeneratorFcn(security.ScramHash(l.mechanism)).NewClientUnprepped(l.user, l.password, l.authz)
	require.NoError(t, err)
	conn, err := rawclient.Dial(addr, "oracle")
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(wait)))
	shake := kmsg.NewPtrSASLHandshakeRequest()
	shake.Version, shake.Mechanism = 1, security.ScramName(l.mechanism)
	resp, err := conn.Call(shake)
	require.NoError(t, err)
	require.Zero(t, resp.(*kmsg.SASLHandshakeResponse).ErrorCode)

	conversation, said := client.NewConversation(), ""
	for _, step := range []struct {
		name   string
		change func(string) string
	}{{"first", l.first}, {"last", l.last}} {
		message, err := conversation.Step(said)
		require.NoError(t, err)
		if step.change != nil {
			message = step.change(message)
		}
		var refusal string
		if said, refusal = token(t, conn, message); refusal != "" {
			return step.name + " " + refusal
		}
	}
	if _, err := conversation.Step(said); err != nil {
		return "the server has not proved itself"
	}
	return "logged in"
}

// token sends a message of a login, and tells how it was refused.
func token(t *testing.T, conn *rawclient.Conn, message string) (answer, refusal string) {
	t.Helper()
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 2, []byte(message)
	resp, err := conn.Call(req)
	if closed(err) {
		return "", "closed"
	}
	require.NoError(t, err)
	r := resp.(*kmsg.SASLAuthenticateResponse)
	if r.ErrorCode == 0 {
		return string(r.SASLAuthBytes), ""
	}
	require.NotNil(t, r.ErrorMessage)
	refusal = fmt.Sprintf("%d %q", r.ErrorCode, *r.ErrorMessage)
	if _, err := conn.ReadFrame(); closed(err) {
		refusal += ", closed"
	}
	return "", refusal
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
