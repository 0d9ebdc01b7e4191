package quotas

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/internal/outcome"
)

// Quotas are the quotas of the gateway: a security.Quotas and a security.QuotaList.
// It is safe for concurrent use. Until it is loaded only those of the configuration
// count.
type Quotas struct {
	config  Config
	entries backend.Entries
	epoch   time.Time
	windows windows
	// index is what clients are looked up in.
	index    atomic.Pointer[index]
	accounts *accounts

	// outcomes has the list read anew after a change whose outcome is not known.
	outcomes *outcome.Reader
	changing sync.Mutex // held by whoever changes the list, storage included
	mu       sync.RWMutex
	list     map[string]security.QuotaEntry // by name of the stored entry; by mu
}

// New returns quotas that are not loaded yet. The configuration has been checked.
func New(entries backend.Entries, c Config) *Quotas {
	w := windows{c.Windows, c.WindowSize}
	q := &Quotas{config: c, entries: entries, epoch: time.Now(), windows: w, accounts: newAccounts(w, c.MaxAccounts)}
	q.index.Store(newIndex(nil, c))
	q.outcomes = outcome.New(entries, kind, q.Load)
	return q
}

// Close ends what a change has left to do whose outcome is not known yet.
func (q *Quotas) Close() { q.outcomes.Close() }

// Load reads the stored quotas. One that cannot be read is an error, since nobody
// knows whom it bounded.
func (q *Quotas) Load(ctx context.Context) error {
	q.changing.Lock()
	defer q.changing.Unlock()
	stored, err := q.entries.Entries(ctx, kind)
	if err != nil {
		return fmt.Errorf("read the quotas: %w", err)
	}
	list := make(map[string]security.QuotaEntry, len(stored))
	for name, value := range stored {
		if list[name], err = decode(name, value); err != nil {
			return err
		}
	}
	q.publish(list)
	return nil
}

// publish makes a list the one that counts.
func (q *Quotas) publish(list map[string]security.QuotaEntry) {
	q.mu.Lock()
	q.list = list
	q.mu.Unlock()
	q.index.Store(newIndex(list, q.config))
}

// Use implements security.Quotas.
func (q *Quotas) Use(who security.Requester, kind security.QuotaKind, amount float64) time.Duration {
	f := q.find(who, kind)
	if f.quota == 0 {
		return 0
	}
	account, now := q.account(f, who, kind)
	return account.use(now, q.windows, kind, f.quota, amount*unit(kind))
}

// TryUse implements security.Quotas.
func (q *Quotas) TryUse(who security.Requester, kind security.QuotaKind, amount float64) time.Duration {
	f := q.find(who, kind)
	if f.quota == 0 {
		return 0
	}
	account, now := q.account(f, who, kind)
	return account.tryUse(now, q.windows, kind, f.quota, amount*unit(kind))
}

// Most implements security.Quotas.
func (q *Quotas) Most(who security.Requester, kind security.QuotaKind) float64 {
	f := q.find(who, kind)
	if f.quota == 0 {
		return math.Inf(1)
	}
	n := q.windows.count
	if kind != security.PartitionChanges {
		n-- // the rate is measured over at least so many windows
	}
	return f.quota / unit(kind) * (time.Duration(n) * q.windows.size).Seconds()
}

// ConnectionRate implements security.Quotas.
func (q *Quotas) ConnectionRate(host string) float64 { return q.index.Load().of(host) }

func (q *Quotas) find(who security.Requester, kind security.QuotaKind) found {
	l := &q.index.Load().kinds[kind]
	if !l.some {
		return found{}
	}
	return l.find(who.Principal.Name, who.ClientID)
}

func (q *Quotas) account(f found, who security.Requester, kind security.QuotaKind) (*account, time.Duration) {
	k := key{kind: kind}
	if f.byUser {
		k.user = who.Principal.Name
	}
	if f.byClient {
		k.client = who.ClientID
	}
	now := time.Since(q.epoch)
	return q.accounts.of(k, who.Principal.Name, now), now
}

// unit is what one unit of use is in the quota of a kind: a second of time is 100
// percent of a processor's.
func unit(kind security.QuotaKind) float64 {
	if kind == security.RequestTime {
		return 100
	}
	return 1
}
