// Package iggypermissions is the authorizer "iggy": what a client may do is what the
// Iggy user of its name may do.
//
// The gateway asks the Iggy server for users with its own account, which needs the
// permission read_users. What it is told is held true for [Config.CacheTime] and asked
// anew in the background before that is over, so that requests are answered from
// memory. Who is no user there, or an inactive one, may do nothing, and neither may
// somebody of whom nothing could be found out.
//
// While the server does not answer, what was known before is held true for
// [Config.StaleTime]. Nobody can use a right to a topic meanwhile, since the topics are
// there, too; but a denial is final to Kafka clients, where an outage is not, and
// consumers would leave their groups.
//
// Permissions are mapped to Kafka's operations by the table in rights.go. They can be
// listed with kafka-acls, and not changed: that is for Iggy's own tools.
package iggypermissions

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/security"
)

const (
	// maxUsers is of how many users is remembered what they may do. Of more the one that
	// asked least lately is forgotten, and costs a question when it comes again.
	maxUsers = 10_000
	// retry is the time between two questions about a user that were not answered.
	retry = time.Second
	// askLimit bounds one question, whoever waits for it.
	askLimit = 10 * time.Second
	// placesFresh is how old the numbers of streams and topics may be.
	placesFresh = time.Second
	// tellEvery is the time between two lines about what the gateway may not ask.
	tellEvery = time.Minute
)

// Server knows users, and where topics are; *iggy.Store is one.
type Server interface {
	User(ctx context.Context, name string) (iggcon.UserInfoDetails, error)
	UserNames(ctx context.Context) ([]string, error)
	Places(ctx context.Context) (iggy.Places, error)
	StreamOf(topic string) string
	Mapped() bool
}

// Config says how long what is known is held true.
type Config struct {
	// CacheTime is how long while the server answers.
	CacheTime time.Duration
	// StaleTime is how long while it does not; no shorter than CacheTime.
	StaleTime time.Duration
	// MaxACLs is how many entries a list of the permissions may have.
	MaxACLs int
}

// Authorizer is a security.Authorizer and, to look at, a security.ACLs. It is safe for
// concurrent use. Close ends it.
type Authorizer struct {
	server  Server
	cfg     Config
	log     *zap.Logger
	told    atomic.Int64 // when the log was told last, in ns since the epoch
	flights singleflight.Group

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	users *simplelru.LRU[string, entry]
	seen  places
	list  listing
}

// entry is what is known of a user.
type entry struct {
	grants *grants   // nil: nothing
	read   time.Time // when that was asked for
	failed time.Time // when the last question failed; zero: it did not
}

// places are where topics are, and when that was asked for.
type places struct {
	iggy.Places
	read time.Time
}

// New returns an authorizer over a server.
func New(server Server, cfg Config, log *zap.Logger) *Authorizer {
	users, err := simplelru.NewLRU[string, entry](maxUsers, nil)
	if err != nil {
		panic(err) // the size is a constant above zero
	}
	cfg.StaleTime = max(cfg.StaleTime, cfg.CacheTime)
	a := &Authorizer{server: server, cfg: cfg, log: log, users: users}
	a.life, a.end = context.WithCancel(context.Background())
	return a
}

// Check returns an error where the gateway may not ask for users, so that nobody could
// do anything. A server that does not answer is no error: it is asked again.
func (a *Authorizer) Check(ctx context.Context) error {
	if _, err := a.server.UserNames(ctx); client.Code(err) == ierror.UnauthorizedCode {
		return errors.New("authorization.authorizer: iggy: the gateway's user in the Iggy server, iggy.username, needs the permission read_users")
	}
	return nil
}

// Close ends the questions to the server, and waits for them.
func (a *Authorizer) Close() {
	a.mu.Lock()
	a.end()
	a.mu.Unlock()
	a.work.Wait()
}

// Authorize implements security.Authorizer.
func (a *Authorizer) Authorize(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	g := a.grantsOf(ctx, who.Principal)
	switch on.Type {
	case kmsg.ACLResourceTypeTopic:
		return g.topic(op, a.server.StreamOf(on.Name), on.Name)
	case kmsg.ACLResourceTypeCluster:
		return on.Name == security.ClusterName && g.other(op, on.Type)
	}
	return g.other(op, on.Type)
}

// AuthorizeAny implements security.Authorizer.
func (a *Authorizer) AuthorizeAny(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	g := a.grantsOf(ctx, who.Principal)
	if on == kmsg.ACLResourceTypeTopic {
		return g.anyTopic(op)
	}
	return g.other(op, on)
}

var nothing = &grants{}

// grantsOf returns what a principal may do. Who has not logged in is nobody, whatever
// users are called.
func (a *Authorizer) grantsOf(ctx context.Context, p security.Principal) *grants {
	if p.Type != security.UserType || p.Name == "" || p == security.Anonymous || ctx.Err() != nil {
		return nothing
	}
	e, now := a.known(p.Name), time.Now()
	switch {
	case e.failed.IsZero() && now.Sub(e.read) < a.cfg.CacheTime/2:
		return e.grants
	case !e.failed.IsZero() && now.Sub(e.failed) < retry:
		return a.held(e, now)
	}
	asked := a.flights.DoChan(p.Name, func() (any, error) { a.refresh(p.Name); return nil, nil })
	if a.holds(e, now) {
		return e.grants // and it will be known anew soon
	}
	select {
	case <-asked:
	case <-ctx.Done():
		return nothing
	}
	if e = a.known(p.Name); e.failed.IsZero() && e.grants != nil {
		return e.grants
	}
	return a.held(e, time.Now())
}

// holds reports whether what is known of a user is still held true.
func (a *Authorizer) holds(e entry, now time.Time) bool {
	limit := a.cfg.CacheTime
	if !e.failed.IsZero() {
		limit = a.cfg.StaleTime
	}
	return e.grants != nil && now.Sub(e.read) < limit
}

// held is what is held true of a user.
func (a *Authorizer) held(e entry, now time.Time) *grants {
	if !a.holds(e, now) {
		return nothing
	}
	return e.grants
}

func (a *Authorizer) known(user string) entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _ := a.users.Get(user)
	return e
}

// begin has Close wait for a question; false after Close.
func (a *Authorizer) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life.Err() != nil {
		return false
	}
	a.work.Add(1)
	return true
}

// refresh asks for a user and remembers the answer.
func (a *Authorizer) refresh(user string) {
	if !a.begin() {
		return
	}
	defer a.work.Done()
	ctx, cancel := context.WithTimeout(a.life, askLimit)
	defer cancel()
	began := time.Now()
	g, err := a.ask(ctx, user)
	if err != nil {
		a.tell(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e, _ := a.users.Peek(user); {
	case err == nil:
		a.users.Add(user, entry{grants: g, read: began})
	case answered(err): // and nothing is known any more
		a.users.Add(user, entry{failed: time.Now()})
	default:
		e.failed = time.Now()
		a.users.Add(user, e)
	}
}

// ask asks the server what a user may do.
func (a *Authorizer) ask(ctx context.Context, name string) (*grants, error) {
	user, err := a.server.User(ctx, name)
	switch {
	case errors.Is(err, client.ErrNoUser):
		return nothing, nil
	case err != nil:
		return nil, err
	case user.Username != name:
		return nothing, nil
	}
	var at iggy.Places
	if user.Permissions != nil && len(user.Permissions.Streams) > 0 {
		if at, err = a.places(ctx); err != nil {
			return nil, err
		}
	}
	return newGrants(user, at), nil
}

// places returns where topics are, for all users that are asked for within a moment.
func (a *Authorizer) places(ctx context.Context) (iggy.Places, error) {
	began := time.Now()
	a.mu.Lock()
	seen := a.seen
	a.mu.Unlock()
	if !seen.read.IsZero() && began.Sub(seen.read) < placesFresh {
		return seen.Places, nil
	}
	at, err := a.server.Places(ctx)
	if err != nil {
		return iggy.Places{}, err
	}
	a.mu.Lock()
	a.seen = places{at, began}
	a.mu.Unlock()
	return at, nil
}

// answered reports whether the server refused a question, other than by being away.
func answered(err error) bool {
	return client.Code(err) != 0 && !errors.Is(err, backend.ErrUnavailable)
}

// tell tells the log, now and then, of what the server refuses to answer.
func (a *Authorizer) tell(err error) {
	if !answered(err) {
		return // others tell that
	}
	now, last := time.Now().UnixNano(), a.told.Load()
	if last != 0 && now-last < int64(tellEvery) || !a.told.CompareAndSwap(last, now) {
		return
	}
	a.log.Error("Iggy does not tell what users may do, so that they may do nothing; give the gateway's user the permission read_users", zap.Error(err))
}
