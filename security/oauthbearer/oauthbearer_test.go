package oauthbearer_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/oauthbearer"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// issuer signs tokens.
type issuer struct {
	key crypto.Signer
	set jwkset.JWKMarshal
	alg jwt.SigningMethod
	id  string
}

func newIssuer(t testing.TB, id string, alg jwt.SigningMethod) issuer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch alg {
	case jwt.SigningMethodES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jwt.SigningMethodEdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	require.NoError(t, err)
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: id, USE: jwkset.UseSig}})
	require.NoError(t, err)
	return issuer{key, jwk.Marshal(), alg, id}
}

// token signs claims; without an expiry or a time of issue they get one.
func (i issuer) token(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	if _, set := claims["exp"]; !set {
		claims["exp"] = time.Now().Add(time.Hour).Unix()
	}
	if _, set := claims["iat"]; !set {
		claims["iat"] = time.Now().Add(-2 * time.Hour).Unix()
	}
	token := jwt.NewWithClaims(i.alg, claims)
	if i.id != "" {
		token.Header["kid"] = i.id
	}
	signed, err := token.SignedString(i.key)
	require.NoError(t, err)
	return signed
}

func set(issuers ...issuer) []byte {
	keys := jwkset.JWKSMarshal{}
	for _, i := range issuers {
		keys.Keys = append(keys.Keys, i.set)
	}
	raw, err := json.Marshal(keys)
	if err != nil {
		panic(err)
	}
	return raw
}

func file(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// open starts the mechanism over a file of keys.
func open(t testing.TB, path string, change func(*oauthbearer.Config)) *oauthbearer.Mechanism {
	t.Helper()
	cfg := oauthbearer.DefaultConfig()
	cfg.JWKS, cfg.AllowUnverifiedIssuer, cfg.AllowUnverifiedAudience = path, true, true
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.Validate())
	keys := oauthbearer.NewKeys(cfg, zaptest.NewLogger(t))
	require.NoError(t, keys.Start(t.Context()))
	t.Cleanup(keys.Stop)
	tokens, err := oauthbearer.NewTokens(cfg, keys)
	require.NoError(t, err)
	return oauthbearer.New(tokens)
}

func message(token string) []byte { return []byte("n,,\x01auth=Bearer " + token + "\x01\x01") }

func login(t testing.TB, m *oauthbearer.Mechanism, message []byte) (*sasl.Login, error) {
	t.Helper()
	_, done, err := m.Begin(security.Requester{}).Next(t.Context(), message)
	return done, err
}

func TestConform(t *testing.T) {
	mine, other := newIssuer(t, "mine", jwt.SigningMethodES256), newIssuer(t, "mine", jwt.SigningMethodES256)
	right := mine.token(t, jwt.MapClaims{"sub": "alice"})
	begin := func(message []byte) func() (securitytest.Login, error) {
		return func() (securitytest.Login, error) { return securitytest.Token(message), nil }
	}
	hour := time.Now().Add(-time.Hour).Unix()
	securitytest.Mechanisms(t, func(t *testing.T) securitytest.Mechanism {
		return securitytest.Mechanism{
			Mechanism: open(t, file(t, set(mine)), nil), User: "alice", Right: begin(message(right)), Replays: true,
			Secrets: []string{right, right[strings.LastIndexByte(right, '.')+1:]},
			Wrong: map[string]func() (securitytest.Login, error){
				"another key":   begin(message(other.token(t, jwt.MapClaims{"sub": "alice"}))),
				"expired":       begin(message(mine.token(t, jwt.MapClaims{"sub": "alice", "exp": hour}))),
				"no user":       begin(message(mine.token(t, jwt.MapClaims{}))),
				"no token":      begin([]byte("n,,\x01auth=Bearer \x01\x01")),
				"somebody else": begin([]byte("n,a=bob,\x01auth=Bearer " + right + "\x01\x01")),
				"basic":         begin([]byte("n,,\x01auth=Basic " + right + "\x01\x01")),
				"binding":       begin([]byte("y,,\x01auth=Bearer " + right + "\x01\x01")),
				"two tokens":    begin([]byte("n,,\x01auth=Bearer " + right + "\x01auth=Bearer " + right + "\x01\x01")),
				"no end":        begin([]byte("n,,\x01auth=Bearer " + right + "\x01")),
			},
		}
	})
}

// unsigned is a token that nobody has signed, or by a public key as if it were secret.
func unsigned(t *testing.T, alg jwt.SigningMethod, key any) string {
	t.Helper()
	token := jwt.NewWithClaims(alg, jwt.MapClaims{"sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
	token.Header["kid"] = "mine"
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func TestTokens(t *testing.T) {
	t.Parallel()
	mine := newIssuer(t, "mine", jwt.SigningMethodRS256)
	public, err := json.Marshal(mine.set)
	require.NoError(t, err)
	strict := func(c *oauthbearer.Config) {
		c.Issuer, c.Audience, c.Scope = "https://issuer", []string{"kafka", "gateway"}, []string{"read", "write"}
		c.ClockSkew, c.PrincipalClaim, c.ScopeClaim = 5*time.Minute, "email", "scp"
	}
	good := func(change func(jwt.MapClaims)) string {
		c := jwt.MapClaims{
			"iss": "https://issuer", "aud": []string{"x", "kafka"}, "email": "alice", "sub": "1234", "scp": "read write all",
		}
		change(c)
		return mine.token(t, c)
	}
	now := time.Now()
	for name, c := range map[string]struct {
		token string
		want  string // the answer; empty for a login
	}{
		"good":                    {good(func(jwt.MapClaims) {}), ""},
		"scopes as a list":        {good(func(c jwt.MapClaims) { c["scp"] = []string{"write", "read"} }), ""},
		"one audience":            {good(func(c jwt.MapClaims) { c["aud"] = "gateway" }), ""},
		"within the clock skew":   {good(func(c jwt.MapClaims) { c["exp"] = now.Add(-time.Second).Unix() }), ""},
		"expired":                 {good(func(c jwt.MapClaims) { c["exp"] = now.Add(-time.Hour).Unix() }), `{"status":"invalid_token"}`},
		"never expires":           {good(func(c jwt.MapClaims) { c["exp"] = nil }), `{"status":"invalid_token"}`},
		"expiry is no number":     {good(func(c jwt.MapClaims) { c["exp"] = "tomorrow" }), `{"status":"invalid_token"}`},
		"not yet":                 {good(func(c jwt.MapClaims) { c["nbf"] = now.Add(time.Hour).Unix() }), `{"status":"invalid_token"}`},
		"another issuer":          {good(func(c jwt.MapClaims) { c["iss"] = "https://issuer/" }), `{"status":"invalid_token"}`},
		"no issuer":               {good(func(c jwt.MapClaims) { delete(c, "iss") }), `{"status":"invalid_token"}`},
		"another audience":        {good(func(c jwt.MapClaims) { c["aud"] = "billing" }), `{"status":"invalid_token"}`},
		"no audience":             {good(func(c jwt.MapClaims) { delete(c, "aud") }), `{"status":"invalid_token"}`},
		"nobody knows since when": {good(func(c jwt.MapClaims) { c["iat"] = nil }), `{"status":"invalid_token"}`},
		"issued at no number":     {good(func(c jwt.MapClaims) { c["iat"] = "today" }), `{"status":"invalid_token"}`},
		"no principal":            {good(func(c jwt.MapClaims) { delete(c, "email") }), `{"status":"invalid_token"}`},
		"principal is no text":    {good(func(c jwt.MapClaims) { c["email"] = 7 }), `{"status":"invalid_token"}`},
		"empty principal":         {good(func(c jwt.MapClaims) { c["email"] = "" }), `{"status":"invalid_token"}`},
		"a scope is missing":      {good(func(c jwt.MapClaims) { c["scp"] = "read" }), `{"status":"insufficient_scope","scope":"read write"}`},
		"no scope":                {good(func(c jwt.MapClaims) { delete(c, "scp") }), `{"status":"insufficient_scope","scope":"read write"}`},
		"scope is a number":       {good(func(c jwt.MapClaims) { c["scp"] = 1 }), `{"status":"insufficient_scope","scope":"read write"}`},
		"signed by nobody":        {unsigned(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), `{"status":"invalid_token"}`},
		"the public key is none":  {unsigned(t, jwt.SigningMethodHS256, public), `{"status":"invalid_token"}`},
		"not allowed":             {unsigned(t, jwt.SigningMethodRS512, mine.key), `{"status":"invalid_token"}`},
		"no token":                {"a.b.c", `{"status":"invalid_token"}`},
		"two parts":               {"a.b", `{"status":"invalid_token"}`},
		"dots":                    {strings.Repeat(".", 1000), `{"status":"invalid_token"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, err := login(t, open(t, file(t, set(mine)), strict), message(c.token))
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, security.User("alice"), done.Principal)
				require.True(t, done.Until.After(time.Now()))
				return
			}
			// Two steps: the client gets JSON, answers to it, and is refused then.
			var why *sasl.Refused
			require.ErrorAs(t, err, &why)
			require.Equal(t, c.want, string(why.Answer))
			require.Equal(t, c.want, why.Message)
		})
	}
}

// A session lasts as long as the token.
func TestUntil(t *testing.T) {
	t.Parallel()
	mine := newIssuer(t, "mine", jwt.SigningMethodES256)
	end := time.Now().Add(90 * time.Minute).Truncate(time.Second)
	done, err := login(t, open(t, file(t, set(mine)), nil), message(mine.token(t, jwt.MapClaims{"sub": "alice", "exp": end.Unix()})))
	require.NoError(t, err)
	require.True(t, end.Equal(done.Until))
}

// What a Kafka 4.4 broker takes, and what it answers.
func TestMessages(t *testing.T) {
	t.Parallel()
	mine := newIssuer(t, "mine", jwt.SigningMethodES256)
	token := mine.token(t, jwt.MapClaims{"sub": "a,b=c"})
	m := open(t, file(t, set(mine)), nil)
	for message, want := range map[string]string{
		"n,,\x01auth=Bearer " + token + "\x01\x01":                       "",
		"n,,\x01auth=bearer   " + token + "\x01\x01":                     "",
		"n,a=a=2Cb=3Dc,\x01auth=Bearer " + token + "\x01\x01":            "",
		"n,,\x01auth=Bearer " + token + "\x01host=abc\x01port=9\x01\x01": "",
		"n,,\x01auth=Bearer " + token + "\x01traceId=1 2\x01\x01":        "",
		"n,a=bob,\x01auth=Bearer " + token + "\x01\x01":                  "Authentication failed: Client requested an authorization id (bob) that is different from the token's principal name (a,b=c)",
		"garbage":                              "general",
		"\x01":                                 "general",
		"":                                     "general",
		"n,,\x01auth=\x01\x01":                 "general",
		"n,,auth=Bearer " + token + "\x01\x01": "general",
		"p=tls,,\x01auth=Bearer " + token + "\x01\x01":     "general",
		"n,a=b=c,\x01auth=Bearer " + token + "\x01\x01":    "general",
		"n,,\x01auth=Basic " + token + "\x01\x01":          "general",
		"n,,\x01auth=Bearer " + token + "\x01x1=1\x01\x01": "general",
		"n,,\x01auth=Bearer " + token + "\x01x\x01\x01":    "general",
		"n,,\x01auth=Bearer " + token + " x\x01\x01":       "general",
		"n,,\x01auth=Bearer " + token + "\x01\x01\x01":     "general",
	} {
		_, err := login(t, m, []byte(message))
		var why *sasl.Refused
		switch errors.As(err, &why); want {
		case "":
			require.NoError(t, err, "%q", message)
		case "general": // the texts of Kafka's SaslException are not told
			require.NotNil(t, why, "%q", message)
			require.Empty(t, why.Message)
			require.Nil(t, why.Answer)
		default:
			require.Equal(t, want, why.Message)
			require.Nil(t, why.Answer)
		}
	}
}

// A token with a header that has to be understood is none to whoever does not know it
// (RFC 7515, 4.1.11): what it says may mean something else by that.
func TestCriticalHeader(t *testing.T) {
	t.Parallel()
	mine := newIssuer(t, "mine", jwt.SigningMethodES256)
	m := open(t, file(t, set(mine)), nil)
	for _, critical := range []any{[]string{"b64"}, []string{}, "exp", nil} {
		token := jwt.NewWithClaims(mine.alg, jwt.MapClaims{
			"sub": "alice", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		})
		token.Header["kid"], token.Header["crit"], token.Header["b64"] = mine.id, critical, true
		signed, err := token.SignedString(mine.key)
		require.NoError(t, err)
		_, err = login(t, m, message(signed))
		require.ErrorContains(t, err, "critical header", "%v", critical)
	}
}

// Each algorithm that is allowed works with its kind of key.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for _, alg := range []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodPS512, jwt.SigningMethodES256, jwt.SigningMethodEdDSA} {
		t.Run(alg.Alg(), func(t *testing.T) {
			t.Parallel()
			mine := newIssuer(t, "mine", alg)
			token := message(mine.token(t, jwt.MapClaims{"sub": "alice"}))
			done, err := login(t, open(t, file(t, set(mine)), func(c *oauthbearer.Config) { c.Algorithms = []string{alg.Alg()} }), token)
			require.NoError(t, err)
			require.Equal(t, security.User("alice"), done.Principal)
			_, err = login(t, open(t, file(t, set(mine)), func(c *oauthbearer.Config) { c.Algorithms = []string{"ES384"} }), token)
			require.Error(t, err)
		})
	}
}

// A token need not name its key. One that is there to encrypt signs nothing.
func TestWhichKey(t *testing.T) {
	t.Parallel()
	one, two := newIssuer(t, "one", jwt.SigningMethodES256), newIssuer(t, "two", jwt.SigningMethodES256)
	m := open(t, file(t, set(one, two)), nil)
	nameless := two
	nameless.id = ""
	_, err := login(t, m, message(nameless.token(t, jwt.MapClaims{"sub": "alice"})))
	require.NoError(t, err)
	lying := two
	lying.id = "one"
	_, err = login(t, m, message(lying.token(t, jwt.MapClaims{"sub": "alice"})))
	require.Error(t, err)
	two.set.USE = jwkset.UseEnc
	m = open(t, file(t, set(one, two)), nil)
	_, err = login(t, m, message(two.token(t, jwt.MapClaims{"sub": "alice"})))
	require.Error(t, err)
}

func TestOff(t *testing.T) {
	t.Parallel()
	require.EqualError(t, oauthbearer.New(nil).Ready(), "it has no keys; set sasl.oauthbearer.jwks")
}
