package oauthbearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/iggykafka/gateway/core/sasl"
)

// What is wrong with a token, beside what the jwt library finds.
var (
	errUser   = errors.New("the token has no claim that names its user")
	errScope  = errors.New("the token lacks a required scope")
	errToken  = errors.New("the token is not good")
	errUnsure = errors.New("the key set could not be read, and the token's key is not known")
	// What has to be understood and is not makes a token invalid (RFC 7515, 4.1.11).
	errCritical = errors.New("the token has a critical header, of which none is known")
	errIssued   = errors.New("the token does not say when it was issued") // Kafka asks for that
)

// maxUser is the longest name of a user, in bytes.
const maxUser = 1 << 10

// Tokens judges tokens. It is safe for concurrent use.
type Tokens struct {
	cfg    Config
	keys   *Keys
	find   keyfunc.Keyfunc
	parser *jwt.Parser
	// lacksScope is the answer to a token without the required scopes.
	lacksScope string
}

// claims is what a good token says.
type claims struct {
	user  string
	until time.Time
}

// NewTokens returns a judge of tokens that are signed with keys.
func NewTokens(c Config, keys *Keys) (*Tokens, error) {
	find, err := keyfunc.New(keyfunc.Options{
		Storage:      keys,
		UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}, // no key that is there to encrypt
	})
	if err != nil {
		return nil, err
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(c.Algorithms), jwt.WithExpirationRequired(), jwt.WithLeeway(c.ClockSkew), jwt.WithStrictDecoding(),
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	if len(c.Audience) > 0 {
		options = append(options, jwt.WithAudience(c.Audience...))
	}
	lacks, err := json.Marshal(struct {
		Status string `json:"status"`
		Scope  string `json:"scope"`
	}{"insufficient_scope", strings.Join(c.Scope, " ")})
	if err != nil {
		return nil, err
	}
	return &Tokens{cfg: c, keys: keys, find: find, parser: jwt.NewParser(options...), lacksScope: string(lacks)}, nil
}

// verify returns what a token says. With errScope the user is known, too; with
// sasl.ErrUnavailable nobody knows whether the token is good. Errors hold
// nothing of the token but names of claims and of algorithms.
func (t *Tokens) verify(ctx context.Context, token string) (claims, error) {
	read := jwt.MapClaims{}
	parsed, err := t.parser.ParseWithClaims(token, read, t.find.KeyfuncCtx(ctx))
	switch {
	case errors.Is(err, jwt.ErrTokenUnverifiable) && t.keys.unsure():
		return claims{}, fmt.Errorf("%w: %w", sasl.ErrUnavailable, errUnsure)
	case err != nil:
		return claims{}, fmt.Errorf("%w: %w", errToken, reason(err))
	}
	if _, critical := parsed.Header["crit"]; critical {
		return claims{}, errCritical
	}
	if issued, err := read.GetIssuedAt(); err != nil || issued == nil {
		return claims{}, errIssued
	}
	user, ok := read[t.cfg.PrincipalClaim].(string)
	if !ok || user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return claims{}, errUser
	}
	expires, err := read.GetExpirationTime()
	if err != nil || expires == nil {
		return claims{}, errToken
	}
	c := claims{user: user, until: expires.Time}
	if !time.Now().Before(c.until) { // the clock skew let it through
		c.until = c.until.Add(t.cfg.ClockSkew)
	}
	has := scopes(read[t.cfg.ScopeClaim])
	for _, wanted := range t.cfg.Scope {
		if !slices.Contains(has, wanted) {
			return c, errScope
		}
	}
	return c, nil
}

// reasons are the library's errors that may be told: they name a fault, and nothing
// of the token.
var reasons = []error{
	jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet, jwt.ErrTokenInvalidIssuer, jwt.ErrTokenInvalidAudience,
	jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenSignatureInvalid, errKey, jwt.ErrTokenUnverifiable,
	jwt.ErrTokenMalformed, jwt.ErrTokenInvalidClaims,
}

func reason(err error) error {
	for _, known := range reasons {
		if errors.Is(err, known) {
			return known
		}
	}
	return errors.New("it cannot be verified")
}

// scopes reads a claim of scopes: a text with spaces, or a list of texts.
func scopes(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		var out []string
		for _, one := range claim {
			if s, ok := one.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
