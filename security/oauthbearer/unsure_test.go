package oauthbearer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// A token whose key is not known because the set could not be read is not refused:
// stock clients would give up for good. One with a key that is known is judged.
func TestWhileTheSetCannotBeRead(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "one"}})
	require.NoError(t, err)
	one, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwk.Marshal()}})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		s := script(answer{err: errors.New("no line")})
		k := keysOf(t, s)
		require.NoError(t, k.Start(t.Context()))
		defer k.Stop()
		tokens, err := NewTokens(DefaultConfig(), k)
		require.NoError(t, err)
		login := func(id string) error {
			token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
				"sub": "alice", "iat": time.Now().Unix(), "exp": time.Now().Add(24 * time.Hour).Unix(),
			})
			if id != "" {
				token.Header["kid"] = id
			}
			signed, err := token.SignedString(key)
			require.NoError(t, err)
			_, done, err := New(tokens).Begin(security.Requester{}).Next(t.Context(), []byte("n,,\x01auth=Bearer "+signed+"\x01\x01"))
			require.Equal(t, err == nil, done != nil)
			return err
		}
		unsure := func(id string) { require.ErrorIs(t, login(id), sasl.ErrUnavailable) }
		refused := func(id string) {
			err := login(id)
			require.ErrorAs(t, err, new(*sasl.Refused))
			require.NotErrorIs(t, err, sasl.ErrUnavailable)
		}
		unsure("one")
		unsure("")
		s.now.Store(&answer{set: one})
		time.Sleep(leastInterval + time.Second)
		require.NoError(t, login("one"))
		require.NoError(t, login(""))
		refused("two")

		s.now.Store(&answer{err: errors.New("no line")})
		time.Sleep(leastInterval)
		unsure("two")
		require.NoError(t, login("one"), "the keys that are known stay in use")
		s.now.Store(&answer{set: one})
		time.Sleep(2 * leastInterval)
		refused("two")
	})
}
