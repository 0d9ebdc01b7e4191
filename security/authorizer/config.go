package authorizer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

// None is the authorizer of a gateway where everybody may do everything.
const None = "none"

// Config is the section "authorization".
type Config struct {
	// Authorizer says who decides what clients may do (default none: everybody may
	// do everything; acls: the access control lists that kafka-acls manages; iggy: the
	// permissions of the Iggy server's users).
	Authorizer string `koanf:"authorizer"`
	// SuperUsers are the principals that may do everything, whatever the authorizer
	// says, such as User:admin (default "": none). Who comes without a login is
	// User:ANONYMOUS.
	SuperUsers []string `koanf:"super_users"`
	// AllowIfNoACL allows everything on resources that no access control list is
	// about, as allow.everyone.if.no.acl.found does in Kafka (default false).
	AllowIfNoACL bool `koanf:"allow_if_no_acl"`
	// MaxACLs is the most entries that the access control lists have together
	// (default 10000).
	MaxACLs int `koanf:"max_acls"`
	// CacheTime is how long what the Iggy server told of a user is held true (default
	// 10s; at least 1s): so long a permission that was taken away still holds. The other
	// authorizers do not look at it.
	CacheTime time.Duration `koanf:"cache_time"`
	// StaleTime is how long it is held true while the Iggy server does not answer
	// (default 5m; no shorter than authorization.cache_time).
	StaleTime time.Duration `koanf:"stale_time"`
}

// DefaultConfig returns the section of a gateway that was told nothing.
func DefaultConfig() Config {
	return Config{Authorizer: None, MaxACLs: 10_000, CacheTime: 10 * time.Second, StaleTime: 5 * time.Minute}
}

// Validate names every fault of the section, one a line, each with its key.
func (c Config) Validate() error {
	_, err := c.superUsers()
	faults := []error{err}
	if c.CacheTime < shortestCache || c.CacheTime > longestCache {
		faults = append(faults, fmt.Errorf("authorization.cache_time: %s is out of range; set %s to %s", c.CacheTime, shortestCache, longestCache))
	}
	if c.StaleTime < c.CacheTime || c.StaleTime > longestStale {
		faults = append(faults, fmt.Errorf("authorization.stale_time: %s is out of range; set it to between authorization.cache_time, %s, and %s", c.StaleTime, c.CacheTime, longestStale))
	}
	return errors.Join(faults...)
}

// Bounds that are not the user's choice.
const (
	shortestCache = time.Second
	longestCache  = time.Hour
	longestStale  = 24 * time.Hour
)

// superUsers returns the principals of SuperUsers.
func (c Config) superUsers() (map[security.Principal]bool, error) {
	users := make(map[security.Principal]bool, len(c.SuperUsers))
	var faults []error
	for _, text := range c.SuperUsers {
		p, err := security.ParsePrincipal(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("authorization.super_users: %w", err))
		}
		if strings.Contains(p.Name, ";"+p.Type+":") { // as Kafka's super.users is written
			faults = append(faults, fmt.Errorf("authorization.super_users: %q are several: write a list, as [\"User:a\", \"User:b\"], or put commas between them", text))
		}
		users[p] = true
	}
	return users, errors.Join(faults...)
}
