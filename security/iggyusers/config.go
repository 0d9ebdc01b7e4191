package iggyusers

import (
	"errors"
	"fmt"
	"time"
)

// Name is what sasl.plain.passwords calls the users of the Iggy server.
const Name = "iggy"

// Config is the section "sasl.iggy".
type Config struct {
	// CacheTime is how long a password that the Iggy server took is good without asking
	// again (default 30s); so long an old password, a deleted or an inactive user may
	// still log in. Zero asks for every login.
	CacheTime time.Duration `koanf:"cache_time"`
	// MaxLogins is how many passwords the Iggy server is asked for at once (default 2).
	// Each costs it some 30 ms in which it does nothing else.
	MaxLogins int `koanf:"max_logins"`
	// LoginRate is how many passwords the Iggy server is asked for a second (default
	// 10). More wait, a few of them, and others are told to come again.
	LoginRate int `koanf:"login_rate"`
	// Timeout is how long a client waits for the Iggy server to check its password
	// (default 5s). Its connection is closed then, so that it tries again.
	Timeout time.Duration `koanf:"timeout"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{CacheTime: 30 * time.Second, MaxLogins: 2, LoginRate: 10, Timeout: 5 * time.Second}
}

// Bounds that are not the user's choice.
const (
	longestCache = time.Hour
	// longestTimeout is below the time that a token of a login has in all.
	longestTimeout = 10 * time.Second
	mostLogins     = 1000
)

// Validate reports every value that cannot work, one line each.
func (c Config) Validate() error {
	var faults []error
	fault := func(wrong bool, key, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf("sasl.iggy.%s: %s", key, fmt.Sprintf(format, args...)))
		}
	}
	fault(c.CacheTime < 0 || c.CacheTime > longestCache, "cache_time", "%s is out of range; set 0s to %s", c.CacheTime, longestCache)
	fault(c.MaxLogins < 1 || c.MaxLogins > mostLogins, "max_logins", "%d is out of range; set 1 to %d", c.MaxLogins, mostLogins)
	fault(c.LoginRate < 1 || c.LoginRate > mostLogins, "login_rate", "%d is out of range; set 1 to %d", c.LoginRate, mostLogins)
	fault(c.Timeout <= 0 || c.Timeout > longestTimeout, "timeout", "%s is out of range; set above 0s, to %s", c.Timeout, longestTimeout)
	return errors.Join(faults...)
}
