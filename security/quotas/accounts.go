package quotas

import (
	"crypto/sha256"
	"hash/maphash"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

const (
	// shards is how many locks the accounts are spread over.
	shards = 32
	// longestName is up to where a name is kept as it is, in bytes. A longer one is
	// kept as its hash, so that a client id of 32 KiB costs no more than a short one.
	longestName = 128
	// overflow is how many accounts there may be for each one of a user.
	overflow = 8
)

// accounts keeps the use of clients. It is safe for concurrent use.
type accounts struct {
	windows windows
	most    int // accounts of clients in one shard
	users   int // accounts of users in one shard
	seed    maphash.Seed
	shards  [shards]shard
}

type shard struct {
	mu    sync.Mutex
	byKey map[key]*account
	// byUser are the accounts of clients for whom there is no room, one for each of
	// their users: whoever makes up client ids takes nothing from other users.
	byUser map[key]*account
	// swept is when idle accounts were looked for.
	swept time.Duration
	// shared are the accounts of those for whom there is no room there either, by kind.
	shared [security.PartitionChanges + 1]account
}

// key is whose account it is.
type key struct {
	kind         security.QuotaKind
	user, client string
}

// account is the use of one client, or of several that share a quota.
type account struct {
	mu     sync.Mutex
	quota  float64 // at the last use
	rate   rate    // of all kinds but PartitionChanges
	bucket bucket  // of that
}

func newAccounts(w windows, most int) *accounts {
	each := most / shards
	users := max(1, each/overflow)
	a := &accounts{windows: w, most: max(1, each-users), users: users, seed: maphash.MakeSeed()}
	for i := range a.shards {
		a.shards[i].byKey, a.shards[i].byUser = map[key]*account{}, map[key]*account{}
	}
	return a
}

// of returns the account of a key, which a client of a user asks for.
func (a *accounts) of(k key, user string, now time.Duration) *account {
	k.user, k.client = short(k.user), short(k.client)
	s := &a.shards[(maphash.String(a.seed, k.client)^maphash.String(a.seed, k.user)*3)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byKey[k]; found != nil {
		return found
	}
	// A sweep takes as long as it finds accounts, so it is done once a window.
	if now-s.swept >= a.windows.size {
		s.swept = now
		sweep(s.byKey, now, a.windows)
		sweep(s.byUser, now, a.windows)
	}
	if found := room(s.byKey, k, a.most); found != nil {
		return found
	}
	if found := room(s.byUser, key{kind: k.kind, user: short(user)}, a.users); found != nil {
		return found
	}
	return &s.shared[k.kind]
}

// sweep removes the accounts that are like new ones.
func sweep(all map[key]*account, now time.Duration, w windows) {
	for k, account := range all {
		if account.idle(now, k.kind, w) {
			delete(all, k)
		}
	}
}

// room returns the account of a key, a new one if there is room for it; nil if not.
func room(all map[key]*account, k key, most int) *account {
	if found := all[k]; found != nil || len(all) >= most {
		return found
	}
	made := &account{}
	all[k] = made
	return made
}

// len returns how many accounts there are.
func (a *accounts) len() int {
	n := 0
	for i := range a.shards {
		a.shards[i].mu.Lock()
		n += len(a.shards[i].byKey) + len(a.shards[i].byUser)
		a.shards[i].mu.Unlock()
	}
	return n
}

// short returns a name, or the hash of a long one.
func short(name string) string {
	if len(name) <= longestName {
		return name
	}
	hash := sha256.Sum256([]byte(name))
	return string(hash[:])
}

// use adds use and returns for how long the client is to be throttled.
func (c *account) use(now time.Duration, w windows, kind security.QuotaKind, quota, amount float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quota = quota
	if kind == security.PartitionChanges {
		c.bucket.fill(now, w, quota)
		c.bucket.add(w, quota, amount)
		return c.bucket.over(quota)
	}
	c.rate.add(now, w, amount)
	over := c.rate.over(now, w, quota)
	if kind == security.RequestTime {
		// Within a window a client should get on, however slow its requests are.
		over = min(over, w.size)
	}
	return over
}

// tryUse adds use if the client is not over its quota, or says for how long it is.
func (c *account) tryUse(now time.Duration, w windows, kind security.QuotaKind, quota, amount float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quota = quota
	if kind == security.PartitionChanges {
		c.bucket.fill(now, w, quota)
		if over := c.bucket.over(quota); over > 0 {
			return over
		}
		c.bucket.add(w, quota, amount)
		return 0
	}
	if over := c.rate.over(now, w, quota); over > 0 {
		return over
	}
	c.rate.add(now, w, amount)
	return 0
}

// idle reports whether the account is like a new one.
func (c *account) idle(now time.Duration, kind security.QuotaKind, w windows) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind == security.PartitionChanges {
		return c.bucket.idle(now, w, c.quota)
	}
	return c.rate.idle(now, w)
}
