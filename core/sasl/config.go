package sasl

import (
	"errors"
	"fmt"
	"time"
)

// Config is what the section "sasl" says of all logins. Each mechanism has a
// section of its own below it.
type Config struct {
	// Mechanisms lists the ways to log in that listeners may offer (default "": all
	// that this gateway has and that have what they need; OAUTHBEARER needs
	// sasl.oauthbearer.jwks).
	Mechanisms []string `koanf:"mechanisms"`
	// MaxReauth is how long a login is good for before the client has to log in
	// again on its connection (default 0s: as long as what it logged in with).
	MaxReauth time.Duration `koanf:"max_reauth"`
	// MaxTokenSize is the largest token of a client, in bytes (default 65536). One
	// that is larger closes the connection.
	MaxTokenSize int `koanf:"max_token_size"`
	// MaxLogins is how many logins are checked at once (default 16); more wait
	// their turn. Checking one costs time of a processor, or a call to another
	// server.
	MaxLogins int `koanf:"max_logins"`
	// MaxLoginsPerAddress is how many of those come from one address (default 4).
	// Of an IPv6 address the first 64 bits count.
	MaxLoginsPerAddress int `koanf:"max_logins_per_address"`
	// FailureDelay is how long a client waits for the answer to a failed login
	// (default 100ms); zero answers at once. It doubles with each further failure
	// from its address until there was none for a minute.
	FailureDelay time.Duration `koanf:"failure_delay"`
	// MaxFailureDelay is what that delay grows to (default 5s).
	MaxFailureDelay time.Duration `koanf:"max_failure_delay"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxTokenSize:        64 << 10,
		MaxLogins:           16,
		MaxLoginsPerAddress: 4,
		FailureDelay:        100 * time.Millisecond,
		MaxFailureDelay:     5 * time.Second,
	}
}

// Bounds that are not the user's choice.
const (
	// minTokenSize leaves room for a password of the usual length.
	minTokenSize = 512
	maxTokenSize = 1 << 20
	// longestDelay is below every deadline of clients that wait for an answer.
	longestDelay = 30 * time.Second
	// longestReauth fits the int64 of nanoseconds with room to add it to a time.
	longestReauth = 365 * 24 * time.Hour
	// shortestReauth is Kafka's least time between two logins on a connection.
	shortestReauth = time.Second
)

// Validate reports every value that cannot work, one line each.
func (c Config) Validate() error {
	var faults []error
	fault := func(key, format string, args ...any) {
		faults = append(faults, fmt.Errorf("sasl.%s: %s", key, fmt.Sprintf(format, args...)))
	}
	seen := map[string]bool{}
	for _, name := range c.Mechanisms {
		if seen[name] {
			fault("mechanisms", "%s is listed twice", name)
		}
		seen[name] = true
	}
	if c.MaxReauth != 0 && (c.MaxReauth < shortestReauth || c.MaxReauth > longestReauth) {
		fault("max_reauth", "%s is neither 0s nor between %s and %s", c.MaxReauth, shortestReauth, longestReauth)
	}
	if c.MaxTokenSize < minTokenSize || c.MaxTokenSize > maxTokenSize {
		fault("max_token_size", "%d is out of range; set %d to %d", c.MaxTokenSize, minTokenSize, maxTokenSize)
	}
	if c.MaxLogins < 1 {
		fault("max_logins", "%d logins at once would let nobody in", c.MaxLogins)
	}
	if c.MaxLoginsPerAddress < 1 {
		fault("max_logins_per_address", "%d logins at once would let nobody in", c.MaxLoginsPerAddress)
	}
	if c.FailureDelay < 0 || c.FailureDelay > longestDelay {
		fault("failure_delay", "%s is out of range; set 0s to %s", c.FailureDelay, longestDelay)
	}
	if c.MaxFailureDelay < c.FailureDelay || c.MaxFailureDelay > longestDelay {
		fault("max_failure_delay", "%s is out of range; set it to between sasl.failure_delay, %s, and %s", c.MaxFailureDelay, c.FailureDelay, longestDelay)
	}
	return errors.Join(faults...)
}
