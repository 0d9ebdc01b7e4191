package secured

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

const (
	issuerName = "https://login.example.com"
	audience   = "kafka"
	keyID      = "key"
	// tokenLife is how long tokens are good: longer than any test takes.
	tokenLife = time.Hour
)

// issuer signs tokens and hands them out.
type issuer struct {
	key *ecdsa.PrivateKey
	// jwks is the file with its public key.
	jwks string
	url  string
}

// newIssuer returns an issuer that hands out tokens at /token, and at /expired such that have ended a minute ago.
func newIssuer(t testing.TB, folder string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: keyID, ALG: jwkset.AlgES256, USE: jwkset.UseSig}})
	require.NoError(t, err)
	set, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{public.Marshal()}})
	require.NoError(t, err)
	i := &issuer{key: key, jwks: filepath.Join(folder, "jwks.json")}
	require.NoError(t, os.WriteFile(i.jwks, set, 0o600))

	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) { i.serve(w, r, tokenLife) })
	mux.HandleFunc("/expired", func(w http.ResponseWriter, r *http.Request) { i.serve(w, r, -2*time.Minute) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// serve answers a client that shows the user's name and password (RFC 6749, 4.4).
func (i *issuer) serve(w http.ResponseWriter, r *http.Request, life time.Duration) {
	name, password, _ := r.BasicAuth()
	if password != passwordOf(name) {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	token, err := i.token(name, life)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds())})
}

// token returns a token for a user that is good for so long from now on.
func (i *issuer) token(user string, life time.Duration) (string, error) {
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"sub": user, "iss": issuerName, "aud": audience, "scope": "kafka",
		"iat": now.Add(-3 * time.Minute).Unix(), "exp": now.Add(life).Unix(),
	})
	token.Header["kid"] = keyID
	return token.SignedString(i.key)
}
