package oauthbearer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
)

// setOf returns a set of keys with the ids.
func setOf(t testing.TB, ids ...string) []byte {
	t.Helper()
	var set jwkset.JWKSMarshal
	for _, id := range ids {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: id}})
		require.NoError(t, err)
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	raw, err := json.Marshal(set)
	require.NoError(t, err)
	return raw
}

// scripted is a source that a test holds.
type scripted struct {
	now   atomic.Pointer[answer]
	reads atomic.Int32
}

// answer is what a source has. With a channel, who reads waits for it.
type answer struct {
	set  []byte
	err  error
	wait chan struct{}
}

func script(a answer) *scripted {
	s := &scripted{}
	s.now.Store(&a)
	return s
}

func (*scripted) every() time.Duration { return longestPeriod }

func (s *scripted) read(ctx context.Context) ([]byte, error) {
	s.reads.Add(1)
	a := s.now.Load()
	if a.wait != nil {
		select {
		case <-a.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return a.set, a.err
}

func keysOf(t testing.TB, s *scripted) *Keys {
	return &Keys{Storage: jwkset.NewMemoryStorage(), source: s, refresh: time.Hour, log: zaptest.NewLogger(t)}
}

// A key that is not known is looked for, but not again and again.
func TestUnknownKeyIsLookedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{set: setOf(t, "one")})
		k := keysOf(t, s)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		_, err := k.KeyRead(t.Context(), "one")
		require.NoError(t, err)
		s.now.Store(&answer{set: setOf(t, "two")})
		for range 100 {
			_, err = k.KeyRead(t.Context(), "two")
			require.ErrorIs(t, err, jwkset.ErrKeyNotFound)
		}
		require.EqualValues(t, 1, s.reads.Load(), "it was looked a moment ago")
		time.Sleep(leastInterval)
		_, err = k.KeyRead(t.Context(), "two")
		require.NoError(t, err)
		_, err = k.KeyRead(t.Context(), "one")
		require.ErrorIs(t, err, jwkset.ErrKeyNotFound, "a key that was taken out is good no more")
		require.EqualValues(t, 2, s.reads.Load())
	})
}

// A start without keys says how soon they are looked for again, whatever jwks_refresh is,
// and their coming is told.
func TestNoKeysYet(t *testing.T) {
	t.Parallel()
	set := setOf(t, "one")
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zap.InfoLevel)
		s := script(answer{err: errors.New("no line")})
		k := keysOf(t, s)
		k.log = zap.New(core)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		time.Sleep(3*leastInterval + time.Second)
		told := lines.TakeAll()
		require.Len(t, told, 1)
		require.Equal(t, "no keys yet: nobody can log in by OAUTHBEARER until they can be read, which is tried again and again", told[0].Message)
		require.Equal(t, map[string]any{"every": leastInterval, "error": "no line"}, told[0].ContextMap())
		s.now.Store(&answer{set: set})
		time.Sleep(leastInterval)
		synctest.Wait()
		told = lines.TakeAll()
		require.Len(t, told, 1)
		require.Equal(t, "the keys have been read", told[0].Message)
	})
}

// While somebody looks nobody else waits for it, and the look goes on when its client
// is gone.
func TestOneLookAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{set: setOf(t, "one")})
		k := keysOf(t, s)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		time.Sleep(leastInterval)
		slow := answer{set: setOf(t, "two"), wait: make(chan struct{})}
		s.now.Store(&slow)
		ctx, cancel := context.WithCancel(t.Context())
		looked := make(chan error)
		go func() {
			_, err := k.KeyRead(ctx, "two")
			looked <- err
		}()
		synctest.Wait()
		began := time.Now()
		_, err := k.KeyRead(t.Context(), "three")
		require.ErrorIs(t, err, errKey)
		require.Zero(t, time.Since(began))
		cancel()
		close(slow.wait)
		require.NoError(t, <-looked)
	})
}

// The keys are read again in time; those that are known stay when that fails.
func TestRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{set: setOf(t, "one")})
		k := keysOf(t, s)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		s.now.Store(&answer{err: errors.New("no line")})
		time.Sleep(time.Hour + time.Second)
		require.EqualValues(t, 2, s.reads.Load())
		_, err := k.Storage.KeyRead(t.Context(), "one")
		require.NoError(t, err)
		s.now.Store(&answer{set: setOf(t, "two")})
		time.Sleep(leastInterval)
		require.EqualValues(t, 3, s.reads.Load(), "after a failure it is looked again soon")
		_, err = k.Storage.KeyRead(t.Context(), "two")
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.EqualValues(t, 4, s.reads.Load())
	})
}

// A server that does not answer does not keep the gateway from starting, and is asked
// again soon.
func TestServerIsNotThereYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{err: errors.New("no line")})
		k := keysOf(t, s)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		s.now.Store(&answer{set: setOf(t, "one")})
		time.Sleep(leastInterval + time.Second)
		_, err := k.KeyRead(t.Context(), "one")
		require.NoError(t, err)
	})
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{wait: make(chan struct{})})
		k := keysOf(t, s)
		began := time.Now()
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		require.Equal(t, fetchTimeout, time.Since(began))
	})
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	c := DefaultConfig()
	c.JWKS = path
	k := NewKeys(c, zap.NewNop())
	const takes = "; it takes a URL that begins with https://, or a file with a JSON Web Key Set"
	require.EqualError(t, k.Start(t.Context()), "sasl.oauthbearer.jwks: "+path+" cannot be read: no such file or directory"+takes)
	k.Stop()
	const none = "holds no public key that tokens could be verified with; secrets (kty oct) are not taken"
	for bad, want := range map[string]string{
		"":                           "holds no JSON Web Key Set (RFC 7517)",
		"-----BEGIN PUBLIC KEY-----": "holds no JSON Web Key Set (RFC 7517)",
		"[]":                         "holds no JSON Web Key Set (RFC 7517)",
		"{}":                         none,
		`{"keys":[]}`:                none,
		`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"one"}]}`:          none,
		`{"issuer":"https://issuer","jwks_uri":"https://issuer/keys"}`: "holds the configuration of an issuer; set sasl.oauthbearer.jwks to the jwks_uri in it",
		strings.Repeat(" ", maxSet+1):                                  "is larger than 1048576 bytes" + takes,
	} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		require.EqualError(t, NewKeys(c, zap.NewNop()).Start(t.Context()), "sasl.oauthbearer.jwks: "+path+" "+want)
	}
	require.NoError(t, os.WriteFile(path, setOf(t, "one"), 0o600))
	k = NewKeys(c, zap.NewNop())
	require.NoError(t, k.Start(t.Context()))
	defer k.Stop()
	_, err := k.KeyRead(t.Context(), "one")
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, setOf(t, "two", "three"), 0o600))
	require.NoError(t, k.look(t.Context()))
	_, err = k.KeyRead(t.Context(), "three")
	require.NoError(t, err)
	raw, err := k.source.read(t.Context())
	require.NoError(t, err)
	require.Nil(t, raw, "it has not changed")

	c.JWKS = t.TempDir()
	require.EqualError(t, NewKeys(c, zap.NewNop()).Start(t.Context()), "sasl.oauthbearer.jwks: "+c.JWKS+" is a folder, not a file"+takes)
}

// A file that is no set any more is no better at the next look, though it has not changed:
// a token whose key is not known may be good.
func TestFileStaysBroken(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.JWKS = filepath.Join(t.TempDir(), "keys.json")
	set := setOf(t, "one")
	require.NoError(t, os.WriteFile(c.JWKS, set, 0o600))
	k := NewKeys(c, zap.NewNop())
	require.NoError(t, k.Start(t.Context()))
	defer k.Stop()
	require.NoError(t, os.WriteFile(c.JWKS, set[:len(set)/2], 0o600))
	for range 3 {
		require.EqualError(t, k.look(t.Context()), c.JWKS+" holds no JSON Web Key Set (RFC 7517)")
		require.True(t, k.unsure())
	}
	require.NoError(t, os.WriteFile(c.JWKS, set, 0o600))
	for range 2 {
		require.NoError(t, k.look(t.Context()))
		require.False(t, k.unsure())
	}
}

// What looks as if it let somebody in, and does not, is told of.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"": {},
		"nobody can log in by OAUTHBEARER, though the section says whose tokens are good; set sasl.oauthbearer.jwks": {Issuer: "https://issuer"},
		"tokens of any issuer are good that has its keys in the set; set sasl.oauthbearer.expected_issuer":           {JWKS: "keys.json", Audience: []string{"kafka"}},
		"tokens for other applications are good here; set sasl.oauthbearer.expected_audience":                        {JWKS: "keys.json", Issuer: "https://issuer"},
	} {
		core, lines := observer.New(zap.WarnLevel)
		c.warn(zap.New(core))
		var told string
		for _, line := range lines.All() {
			told += line.Message
		}
		require.Equal(t, want, told)
	}
}

// What must not be in a set is left out; what is private stays out of memory.
func TestParseSet(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	private, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Metadata: jwkset.JWKMetadataOptions{KID: "private"}, Marshal: jwkset.JWKMarshalOptions{Private: true},
	})
	require.NoError(t, err)
	one, err := json.Marshal(private.Marshal())
	require.NoError(t, err)
	require.Contains(t, string(one), `"d":`)
	keys, err := parseSet(fmt.Appendf(nil, `{"keys":[%s,{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"},{"kty":"EC","crv":"P-256","x":"!","y":"!"}]}`, one))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, key.Public(), keys[0].Key())

	ids := make([]string, maxKeys+1)
	_, err = parseSet(setOf(t, ids...))
	require.ErrorContains(t, err, "holds 101 keys")
	_, err = parseSet(setOf(t, ids[:maxKeys]...))
	require.NoError(t, err)
}

func TestRemote(t *testing.T) {
	t.Parallel()
	set := setOf(t, "one")
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(set) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxSet+1)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://example.com/keys", http.StatusFound)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	get := func(ctx context.Context, path string) ([]byte, error) {
		u, err := url.Parse(srv.URL + path)
		require.NoError(t, err)
		return newRemote(u).read(ctx)
	}
	for _, path := range []string{"/keys", "/moved"} {
		raw, err := get(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, set, raw)
	}
	for path, want := range map[string]string{
		"/nothing": "404", "/large": "more than", "/round": "too often", "/away": "use https",
	} {
		_, err := get(t.Context(), path)
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := get(ctx, "/slow")
	require.ErrorIs(t, err, context.Canceled)
}

// The authority of a server may be one that only its own organization knows.
func TestRemoteOfAStranger(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	_, err = newRemote(u).read(t.Context())
	require.ErrorContains(t, err, "signed by unknown authority; have this machine trust that authority")
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	request := func(to string) *http.Request {
		u, err := url.Parse(to)
		require.NoError(t, err)
		return &http.Request{URL: u}
	}
	first := []*http.Request{request("https://issuer/keys")}
	require.NoError(t, redirect(request("https://other/keys"), first))
	require.Error(t, redirect(request("http://127.0.0.1/keys"), first))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	for _, good := range []string{"/etc/keys.json", "keys.json", "https://issuer/keys", "http://127.0.0.1:8080/keys", "http://[::1]/keys", "http://localhost/"} {
		c := DefaultConfig()
		c.JWKS, c.Issuer, c.Audience = good, "https://issuer", []string{"kafka"}
		require.NoError(t, c.Validate(), good)
	}
	open := DefaultConfig()
	open.JWKS, open.AllowUnverifiedIssuer, open.AllowUnverifiedAudience = "keys.json", true, true
	require.NoError(t, open.Validate())
	for key, changes := range map[string][]func(*Config){
		"jwks": {
			func(c *Config) { c.JWKS = "http://issuer/keys" },
			func(c *Config) { c.JWKS = "http://127.0.0.1.example.com/keys" },
			func(c *Config) { c.JWKS = "ftp://issuer/keys" },
			func(c *Config) { c.JWKS = "https:///keys" },
			func(c *Config) { c.JWKS = "https://user:password@issuer/keys" },
			func(c *Config) { c.JWKS = "https://user:password@issuer:port/keys" },
			func(c *Config) { c.JWKS = "https://user:password@is suer/keys" },
		},
		"expected_issuer": {
			func(c *Config) { c.JWKS, c.Audience = "keys.json", []string{"kafka"} },
			func(c *Config) { c.JWKS, c.AllowUnverifiedAudience = "keys.json", true },
		},
		"expected_audience": {
			func(c *Config) { c.JWKS, c.Issuer = "keys.json", "https://issuer" },
			func(c *Config) { c.JWKS, c.AllowUnverifiedIssuer = "keys.json", true },
		},
		"jwks_refresh":    {func(c *Config) { c.JWKSRefresh = time.Second }},
		"clock_skew":      {func(c *Config) { c.ClockSkew = -1 }, func(c *Config) { c.ClockSkew = time.Hour }},
		"principal_claim": {func(c *Config) { c.PrincipalClaim = "" }},
		"scope_claim":     {func(c *Config) { c.ScopeClaim = "" }},
		"algorithms": {
			func(c *Config) { c.Algorithms = nil },
			func(c *Config) { c.Algorithms = []string{"none"} },
			func(c *Config) { c.Algorithms = []string{"HS256"} },
		},
	} {
		for _, change := range changes {
			c := DefaultConfig()
			change(&c)
			err := c.Validate()
			require.ErrorContains(t, err, "sasl.oauthbearer."+key+": ")
			require.NotContains(t, err.Error(), "user:password")
		}
	}
}
