package oauthbearer

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/zap"
)

// Config is the section "sasl.oauthbearer". Its keys are named after Kafka's
// sasl.oauthbearer.*.
type Config struct {
	// JWKS is where the keys are that tokens are signed with: a URL, which is https
	// unless it names this machine, or a file (default "": nobody can log in by
	// OAUTHBEARER). It holds a JSON Web Key Set (RFC 7517).
	JWKS string `koanf:"jwks"`
	// JWKSRefresh is how often the keys are fetched again (default 1h). A file is
	// looked at each 10s besides, and both when a token names a key that is not
	// known, but not more often than each 10s.
	JWKSRefresh time.Duration `koanf:"jwks_refresh"`
	// Issuer is what the claim "iss" of a token must be (default "": any, if
	// sasl.oauthbearer.allow_unverified_issuer says so).
	Issuer string `koanf:"expected_issuer"`
	// Audience lists what the claim "aud" of a token must have one of (default "": any,
	// if sasl.oauthbearer.allow_unverified_audience says so).
	Audience []string `koanf:"expected_audience"`
	// AllowUnverifiedIssuer lets in tokens of any issuer where none is expected
	// (default false).
	AllowUnverifiedIssuer bool `koanf:"allow_unverified_issuer"`
	// AllowUnverifiedAudience lets in tokens for any audience where none is expected
	// (default false). One key set often serves many applications, whose tokens are
	// good here then.
	AllowUnverifiedAudience bool `koanf:"allow_unverified_audience"`
	// Scope lists the scopes that a token must have, all of them (default "": none).
	Scope []string `koanf:"required_scope"`
	// Algorithms lists how tokens may be signed, of RS256, RS384, RS512, PS256, PS384,
	// PS512, ES256, ES384, ES512 and EdDSA (default RS256, ES256).
	Algorithms []string `koanf:"algorithms"`
	// ClockSkew is how far the clocks of the issuer and of this machine may be apart
	// (default 30s); zero for not at all.
	ClockSkew time.Duration `koanf:"clock_skew"`
	// PrincipalClaim is the claim that names the user (default sub).
	PrincipalClaim string `koanf:"principal_claim"`
	// ScopeClaim is the claim that has the scopes, as a list or as a text with spaces
	// between them (default scope).
	ScopeClaim string `koanf:"scope_claim"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		JWKSRefresh:    time.Hour,
		Algorithms:     []string{"RS256", "ES256"},
		ClockSkew:      30 * time.Second,
		PrincipalClaim: "sub",
		ScopeClaim:     "scope",
	}
}

// algorithms are those whose keys may be public. None of them is "none", and none is
// an HMAC, whose key could be a public one by mistake.
var algorithms = []string{
	jwt.SigningMethodRS256.Name, jwt.SigningMethodRS384.Name, jwt.SigningMethodRS512.Name,
	jwt.SigningMethodPS256.Name, jwt.SigningMethodPS384.Name, jwt.SigningMethodPS512.Name,
	jwt.SigningMethodES256.Name, jwt.SigningMethodES384.Name, jwt.SigningMethodES512.Name,
	jwt.SigningMethodEdDSA.Alg(),
}

// Bounds that are not the user's choice.
const (
	leastRefresh  = 10 * time.Second
	longestSkew   = 10 * time.Minute
	longestPeriod = 365 * 24 * time.Hour
)

// Validate reports every value that cannot work, one line each.
func (c Config) Validate() error {
	var faults []error
	fault := func(key, format string, args ...any) {
		faults = append(faults, fmt.Errorf("sasl.oauthbearer.%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if u, isURL := c.url(); isURL {
		if err := checkURL(u); err != nil {
			fault("jwks", "%v", err)
		}
	} else if strings.Contains(c.JWKS, "://") { // not shown: it may have a password in it
		fault("jwks", "is no URL that can be read; set it to one such as https://HOST/PATH, or to the path of a file")
	}
	if c.JWKS != "" {
		c.checkExpected(fault)
	}
	if c.JWKSRefresh < leastRefresh || c.JWKSRefresh > longestPeriod {
		fault("jwks_refresh", "%s is out of range; set %s to %s", c.JWKSRefresh, leastRefresh, longestPeriod)
	}
	if c.ClockSkew < 0 || c.ClockSkew > longestSkew {
		fault("clock_skew", "%s is out of range; set 0s to %s", c.ClockSkew, longestSkew)
	}
	if len(c.Algorithms) == 0 {
		fault("algorithms", "no token could be signed; list some of %s", strings.Join(algorithms, ", "))
	}
	for _, name := range c.Algorithms {
		if !slices.Contains(algorithms, name) {
			fault("algorithms", "%q is none of %s", name, strings.Join(algorithms, ", "))
		}
	}
	if c.PrincipalClaim == "" {
		fault("principal_claim", "a token must name its user; sub is usual")
	}
	if c.ScopeClaim == "" {
		fault("scope_claim", "has no name; scope is usual")
	}
	return errors.Join(faults...)
}

// checkExpected refuses, as Kafka 4.4 does, to take the tokens that an issuer
// made for somebody else because nobody said whose are expected.
func (c Config) checkExpected(fault func(key, format string, args ...any)) {
	if c.Issuer == "" && !c.AllowUnverifiedIssuer {
		fault("expected_issuer", "is not set, so that tokens of any issuer would be good; set it, or sasl.oauthbearer.allow_unverified_issuer")
	}
	if len(c.Audience) == 0 && !c.AllowUnverifiedAudience {
		fault("expected_audience", "is not set, so that tokens for other applications would be good; set it, or sasl.oauthbearer.allow_unverified_audience")
	}
}

// warn tells of tokens that are let in whoever they were made for, and of a section that
// is of no use.
func (c Config) warn(log *zap.Logger) {
	if c.JWKS == "" {
		if c.Issuer != "" || len(c.Audience)+len(c.Scope) > 0 {
			log.Warn("nobody can log in by OAUTHBEARER, though the section says whose tokens are good; set sasl.oauthbearer.jwks")
		}
		return
	}
	if c.Issuer == "" {
		log.Warn("tokens of any issuer are good that has its keys in the set; set sasl.oauthbearer.expected_issuer")
	}
	if len(c.Audience) == 0 {
		log.Warn("tokens for other applications are good here; set sasl.oauthbearer.expected_audience")
	}
}

// url returns where the keys are, and whether that is a URL rather than a file.
func (c Config) url() (*url.URL, bool) {
	u, err := url.Parse(c.JWKS)
	if err != nil || !strings.Contains(c.JWKS, "://") {
		return nil, false
	}
	return u, true
}

// checkURL says why keys must not come from u: whoever can change them on the way can
// log in as anybody.
func checkURL(u *url.URL) error {
	switch {
	case u.Host == "":
		return errors.New("the URL has no host; set it to one such as https://HOST/PATH")
	case u.User != nil:
		return errors.New("the URL has a password in it, which would be shown in logs; take it out")
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("keys that come by http could be anybody's; use https")
	}
	return fmt.Errorf("%q is no scheme that keys come by; use https, or the path of a file", u.Scheme)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
