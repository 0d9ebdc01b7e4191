// Package durable is the [coordinator.Coordinator] whose groups outlive their
// members and the process, as those of a Kafka 4.4 broker do. It is package host
// with [host.Kept], and a [coordinator.Ledger] where groups are kept.
//
//   - A group without members is Empty, with its protocol type, for as long as it
//     has committed offsets. Commits from outside make groups too.
//   - Sessions and rebalances end on time, whether or not a request looks.
//   - All members of a group that was Stable, static or not, are members after a
//     restart, in the same generation and with a new session: consumers that run
//     go on without a rebalance. Generations never go back.
//   - Offsets expire (KIP-211), and a group without any goes.
//   - Client ids and hosts are retained unless the configuration says otherwise.
//
// # Loading
//
// [Coordinator.Start] reads all groups. Should the ledger be away, it goes on
// trying; until groups are loaded, whoever asks gets COORDINATOR_LOAD_IN_PROGRESS,
// and what has no such answer, Describe and List, waits.
package durable

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/host"
)

// Coordinator keeps groups in a ledger. Make one with [New].
type Coordinator struct {
	cfg    coordinator.Config
	host   *host.Host
	ledger coordinator.Ledger
	log    *zap.Logger
	clock  host.Clock

	ready  atomic.Bool
	why    atomic.Pointer[string] // the last try to load failed
	failed atomic.Bool            // the last save; the next that fail are not logged
	loaded chan struct{}          // closed when ready

	ctx    context.Context // of what goes on in the background
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

var _ coordinator.Coordinator = (*Coordinator)(nil)

// New returns a coordinator that has no groups until it is started. The
// configuration must be valid.
func New(cfg coordinator.Config, ledger coordinator.Ledger, log *zap.Logger, opts ...host.Option) *Coordinator {
	cfg.RetainClientIdentity = cfg.RetainClientIdentity.Or(coordinator.On)
	c := &Coordinator{cfg: cfg, ledger: ledger, log: log, loaded: make(chan struct{})}
	c.host = host.New(cfg, append([]host.Option{host.Kept(c.save)}, opts...)...)
	c.clock = c.host.Clock()
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// save stores the state of a group. Of saves that fail in a row the first is logged.
func (c *Coordinator) save(ctx context.Context, group string, state []byte) error {
	err := c.ledger.SaveGroup(ctx, group, state)
	if failed := err != nil; c.failed.Swap(failed) != failed {
		if failed {
			c.log.Warn("the state of a group cannot be saved; its members are told to try again",
				zap.String("group", group), zap.Int("bytes", len(state)), zap.Error(err))
		} else {
			c.log.Info("states of groups are saved again")
		}
	}
	return err
}

// Healthy tells why there are no groups yet; nil when they are loaded.
func (c *Coordinator) Healthy(context.Context) error {
	if c.ready.Load() {
		return nil
	}
	if why := c.why.Load(); why != nil {
		return errors.New(*why)
	}
	return errors.New("groups are being loaded")
}

// startPatience is how long a start waits for the groups. They may come later.
const startPatience = 10 * time.Second

// Start loads the groups, and sees to it from then on that time passes for them.
// It returns when they are loaded, when the first try has failed, when that takes
// long or when ctx ends; loading goes on in the background. It never fails: a
// gateway whose ledger is away for now can serve what needs no groups.
func (c *Coordinator) Start(ctx context.Context) error {
	tried := make(chan struct{})
	c.tasks.Go(func() { c.run(tried) })
	patience, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case <-tried:
	case <-patience.Done():
	}
	return nil
}

// run loads and then looks for expired offsets, until the coordinator is stopped.
func (c *Coordinator) run(tried chan<- struct{}) {
	if c.load(tried) {
		c.check()
	}
}

// Stop ends what goes on in the background and waits for saves under way, but not
// longer than ctx lasts.
func (c *Coordinator) Stop(ctx context.Context) error {
	c.cancel()
	c.host.Close(ctx)
	c.tasks.Wait()
	return nil
}

// sleep waits, and reports false when the coordinator is stopped meanwhile.
func (c *Coordinator) sleep(d time.Duration) bool {
	over := make(chan struct{})
	stop := c.clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return true
	case <-c.ctx.Done():
		return false
	}
}
