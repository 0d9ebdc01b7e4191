package iggy

import (
	"context"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Resolver gives the effective values for a topic's config overrides;
// *topicconfig.Catalog is one.
type Resolver interface {
	Resolve(overrides map[string]string) topicconfig.Config
}

// Options are what the store needs besides its configuration. The zero value is
// good: every field says what zero means.
type Options struct {
	// Log gets one line per event that an operator can act on; nil drops them.
	Log *zap.Logger
	// Metrics takes the store's metrics; nil keeps them from everybody.
	Metrics prometheus.Registerer
	// Now is the clock of append times; nil means time.Now.
	Now func() time.Time
	// ProducerExpiration is how long the state of an idle producer is kept; 0 means
	// 24h.
	ProducerExpiration time.Duration
	// OnLost is called once when another gateway owns the internal stream, or it
	// cannot be used any more: the store serves nothing then, and the program should
	// end. Nil does nothing.
	OnLost func(error)

	// unchecked leaves out the look at the server after the start, for tests that
	// look at every request.
	unchecked bool
	// endsInterval is the time between two notes of the ends of logs.
	endsInterval time.Duration
	// commitPatience is how long a commit of offsets waits for a server that does
	// not answer. The heartbeats of a member come over the same connection, and wait
	// behind it.
	commitPatience time.Duration
	// maxLedger is how many bytes the ledger has before only what is in it may be
	// committed anew.
	maxLedger int64
	// ledgerPatience is journal.Options.Patience.
	ledgerPatience time.Duration
	dial           func(Config, Options) (server, error)
	open           func(context.Context, server, Config, Options) (ledger, error)
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ProducerExpiration == 0 {
		o.ProducerExpiration = 24 * time.Hour
	}
	if o.OnLost == nil {
		o.OnLost = func(error) {}
	}
	if o.endsInterval == 0 {
		o.endsInterval = 5 * time.Second
	}
	if o.commitPatience == 0 {
		o.commitPatience = 2 * time.Second
	}
	if o.maxLedger == 0 {
		o.maxLedger = maxLedger
	}
	if o.dial == nil {
		o.dial = dial
	}
	if o.open == nil {
		o.open = openLedger
	}
	return o
}

// server is what the store uses of an Iggy server; *client.Client is one.
type server interface {
	client.Writer
	client.Topics
	client.Peers
	client.Users
	// Stats needs the permission read_servers.
	Stats(context.Context) (*iggcon.Stats, error)
	// Generation grows with every new connection.
	Generation() uint64
	Start(context.Context) error
	Close()
}

// ledger keeps what the gateway itself owns; *journal.Journal is one. Reads come
// from memory.
type ledger interface {
	journal.View
	// Size returns the bytes of all keys and values.
	Size() int64
	// Commit makes all changes, or none, and returns when they are stored.
	Commit(context.Context, []journal.Change) error
	// Amend makes the changes that decide returns, when all commits before it are
	// in View or never will be; decide must only read from it.
	Amend(ctx context.Context, decide func() []journal.Change) error
	// Current returns when the stream was certainly still ours a moment ago.
	Current(context.Context) error
	Close() error
	// Lost is closed when another gateway owns the stream.
	Lost() <-chan struct{}
}
