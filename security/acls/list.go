package acls

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/internal/outcome"
)

// Config says how a List answers.
type Config struct {
	// AllowIfNone is the answer about a resource that no ACL concerns.
	AllowIfNone bool
	// Max is how many ACLs there may be.
	Max int
}

// List is the ACLs of the gateway: a security.Authorizer and a security.ACLs. It is
// safe for concurrent use. Until it is loaded it allows nothing.
type List struct {
	config  Config
	entries backend.Entries

	// index is what questions are answered by; nil before the list is loaded.
	index atomic.Pointer[index]

	// outcomes has the list read anew after a change whose outcome is not known.
	outcomes *outcome.Reader
	changing sync.Mutex // held by whoever changes the list, storage included
	mu       sync.RWMutex
	acls     map[security.ACL]struct{} // by mu
}

// New returns a list that is not loaded yet.
func New(entries backend.Entries, config Config) *List {
	l := &List{config: config, entries: entries, acls: map[security.ACL]struct{}{}}
	l.outcomes = outcome.New(entries, kind, l.Load)
	return l
}

// Close ends what a change has left to do whose outcome is not known yet.
func (l *List) Close() { l.outcomes.Close() }

// Load reads the stored ACLs. One that cannot be read is an error, since nobody knows
// what it denied.
func (l *List) Load(ctx context.Context) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	stored, err := l.entries.Entries(ctx, kind)
	if err != nil {
		return fmt.Errorf("read the ACLs: %w", err)
	}
	acls := make(map[security.ACL]struct{}, len(stored))
	for name, value := range stored {
		acl, err := decode(name, value)
		if err != nil {
			return err
		}
		acls[acl] = struct{}{}
	}
	l.publish(acls)
	return nil
}

// publish makes a list the one that counts.
func (l *List) publish(acls map[security.ACL]struct{}) {
	l.mu.Lock()
	l.acls = acls
	l.mu.Unlock()
	l.index.Store(newIndex(slices.Collect(maps.Keys(acls))))
}

// Len returns how many ACLs there are.
func (l *List) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.acls)
}

// Authorize implements security.Authorizer.
func (l *List) Authorize(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	ix := l.index.Load()
	if ix == nil || ctx.Err() != nil {
		return false
	}
	c := client{principal: who.Principal, host: who.Host}
	return ix.authorize(&c, op, on, l.config.AllowIfNone)
}

// AuthorizeAny implements security.Authorizer.
func (l *List) AuthorizeAny(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	ix := l.index.Load()
	if ix == nil || ctx.Err() != nil {
		return false
	}
	c := client{principal: who.Principal, host: who.Host}
	return ix.authorizeAny(&c, op, on, l.config.AllowIfNone)
}

// DescribeACLs implements security.ACLs.
func (l *List) DescribeACLs(ctx context.Context, filter security.ACLFilter) ([]security.ACL, error) {
	return l.chosen(filter), ctx.Err()
}

// chosen returns what a filter chooses, sorted.
func (l *List) chosen(filter security.ACLFilter) []security.ACL {
	var chosen []security.ACL
	l.mu.RLock()
	for acl := range l.acls {
		if Chooses(filter, acl) {
			chosen = append(chosen, acl)
		}
	}
	l.mu.RUnlock()
	slices.SortFunc(chosen, Compare)
	return chosen
}

// CreateACLs implements security.ACLs. When there would be too many, none of the new
// ones is created.
func (l *List) CreateACLs(ctx context.Context, acls []security.ACL) []error {
	l.changing.Lock()
	defer l.changing.Unlock()
	errs := make([]error, len(acls))
	added := map[security.ACL]struct{}{}
	for i, acl := range acls {
		if errs[i] = check(acl); errs[i] != nil {
			continue
		}
		if _, exists := l.acls[acl]; !exists {
			added[acl] = struct{}{}
		}
	}
	var err error
	if n := len(l.acls) + len(added); len(added) > 0 && n > l.config.Max {
		err = security.Refuse(kerr.PolicyViolation, "There would be %d ACLs; authorization.max_acls is %d.", n, l.config.Max)
	} else {
		err = l.change(ctx, added, false)
	}
	if err != nil {
		for i, acl := range acls {
			if _, failed := added[acl]; failed {
				errs[i] = err
			}
		}
	}
	return errs
}

// DeleteACLs implements security.ACLs. All filters choose from the list as it is
// before the call. Where storage fails, every filter that chose something fails, and
// may be asked for again: what is left is what was not deleted.
func (l *List) DeleteACLs(ctx context.Context, filters []security.ACLFilter) []security.DeletedACLs {
	l.changing.Lock()
	defer l.changing.Unlock()
	results := make([]security.DeletedACLs, len(filters))
	removed := map[security.ACL]struct{}{}
	for i, filter := range filters {
		if results[i].Err = cmp.Or(checkFilter(filter), ctx.Err()); results[i].Err != nil {
			continue
		}
		results[i].ACLs = l.chosen(filter)
		for _, acl := range results[i].ACLs {
			removed[acl] = struct{}{}
		}
	}
	if err := l.change(ctx, removed, true); err != nil {
		for i := range results {
			if len(results[i].ACLs) > 0 {
				results[i] = security.DeletedACLs{Err: err}
			}
		}
	}
	return results
}

// change stores that ACLs are added or removed, and then puts it in force. The
// changes are stored in pieces as large as storage takes; after an error, those that
// were stored before it are in force, and where it leaves open what was stored, that is
// as soon as it is known. It is called with l.changing held.
func (l *List) change(ctx context.Context, acls map[security.ACL]struct{}, remove bool) error {
	if len(acls) == 0 {
		return nil
	}
	next := maps.Clone(l.acls)
	err := l.store(ctx, acls, remove, func(acl security.ACL) {
		if remove {
			delete(next, acl)
		} else {
			next[acl] = struct{}{}
		}
	})
	l.publish(next)
	l.outcomes.Ended(err)
	return err
}

// store stores changes, and calls done for each that is stored.
func (l *List) store(ctx context.Context, acls map[security.ACL]struct{}, remove bool, done func(security.ACL)) error {
	piece, size := map[string][]byte{}, 0
	var inPiece []security.ACL
	flush := func() error {
		if err := l.entries.ChangeEntries(ctx, kind, piece); err != nil {
			return err
		}
		for _, acl := range inPiece {
			done(acl)
		}
		clear(piece)
		inPiece, size = inPiece[:0], 0
		return nil
	}
	for acl := range acls {
		name, value := encode(acl)
		if remove {
			value = nil
		}
		if size += len(name) + len(value); size > backend.MaxEntries {
			if err := flush(); err != nil {
				return err
			}
			size = len(name) + len(value)
		}
		piece[name], inPiece = value, append(inPiece, acl)
	}
	return flush()
}
