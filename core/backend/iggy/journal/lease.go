package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// Lease says who owns a journal.
type Lease struct {
	Host  string
	PID   int
	Since time.Time
	// addresses are the owner's ends of its connections, as the server lists
	// them; empty when the owner could not find that out.
	addresses []string
}

// OwnedError refuses to open a journal that another gateway owns.
type OwnedError struct {
	Stream string
	Owner  Lease
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("it is owned by another gateway: process %d on host %s, since %s; stop it, or give this gateway a stream of its own",
		e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.RFC3339))
}

// addresses are our ends of the connections: all, and those that the server
// lists under the same addresses. Behind a translation of addresses there are
// none of the latter, and the lease ends by time alone.
type addresses struct {
	local, listed []string
	// unasked: the server was away when it was asked what it lists.
	unasked bool
	at      time.Time
}

// listPatience is how long a lease waits for the server's list: connections for
// one kind of request may be there before those for another.
const listPatience = 500 * time.Millisecond

// lease says who we are. One that the server could not be asked about is good for
// a TTL, whatever becomes of us: the next one follows soon.
func (j *Journal) lease(ctx context.Context) Lease {
	j.own.local = j.client.Locals()
	clients, err := j.listed(ctx)
	j.own.unasked, j.own.at = away(err), time.Now()
	j.own.listed = nil
	for _, a := range j.own.local {
		if err == nil && slices.Contains(clients, a) && len(j.own.listed) < maxAddresses {
			j.own.listed = append(j.own.listed, a)
		}
	}
	return Lease{Host: j.opts.Host, PID: j.opts.PID, Since: j.since, addresses: j.own.listed}
}

// listed asks for the server's list of clients, until it is there.
func (j *Journal) listed(ctx context.Context) ([]string, error) {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		clients, err := j.client.Clients(ctx)
		if !away(err) || time.Since(began) >= listPatience || pause(ctx, attempt) != nil {
			return clients, err
		}
	}
}

// away tells errors that another attempt may mend.
func away(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, client.ErrBadReply)
}

// departed reports that the server does not list the owner among its clients.
func (j *Journal) departed(ctx context.Context, owner Lease) bool {
	if len(owner.addresses) == 0 {
		return false
	}
	clients, err := j.client.Clients(ctx)
	if err != nil {
		return false
	}
	mine := j.client.Locals()
	return !slices.ContainsFunc(clients, func(a string) bool {
		return slices.Contains(owner.addresses, a) && !slices.Contains(mine, a)
	})
}

// renewDue reports whether a sign of life is due: in time, when the last one could
// not name our connections, and when none of those is left that it named.
func (j *Journal) renewDue() bool {
	if time.Since(j.wrote) >= j.opts.Renew {
		return true
	}
	if j.own.unasked {
		return time.Since(j.own.at) >= j.opts.Renew/5
	}
	local := j.client.Locals()
	return len(local) > 0 && len(j.own.local) > 0 &&
		!slices.ContainsFunc(local, func(a string) bool { return slices.Contains(j.own.local, a) })
}

func (j *Journal) renew(ctx context.Context) error {
	return j.write(ctx, newEntry(record{kind: kindRenew, lease: j.lease(ctx)}))
}

// ours reports whether a log that was read anew is still ours, or of an owner
// before us: then the server has lost our claim.
func (j *Journal) ours(s *state) bool {
	return s.last == none || slices.Contains(j.log.state.owners, s.owner)
}
