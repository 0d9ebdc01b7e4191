package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

const (
	// closeGrace is how long Close lets requests in flight end.
	closeGrace = time.Second
	// closeLimit bounds Close after that.
	closeLimit = time.Second
)

// Options are what a client needs besides its configuration. The zero value is
// good.
type Options struct {
	// Log gets one line whenever the server comes or goes; nil drops them.
	Log *zap.Logger
	// Metrics has the client's counters registered; nil counts for nobody.
	Metrics prometheus.Registerer
	// Own is a stream whose messages are sent and polled by a connection of their
	// own: they do not wait behind those of other streams. "" is none.
	Own string
}

// Client is a pool of connections to one Iggy server. Its methods are safe for
// concurrent use, and bounded in time also while the server is silent.
type Client struct {
	cfg     Config
	tls     *tls.Config
	log     *zap.Logger
	metrics *metrics

	send, poll, admin *lane
	own               *lane // of the stream ownStream; nil when there is none
	ownStream         string
	fatal             chan error // gets what ends a start

	// lastHeard is when the last reply came, in ns since the epoch.
	lastHeard  atomic.Int64
	suspect    atomic.Bool
	generation atomic.Uint64
	// unlisted: the server does not let this user list its clients; said once.
	unlisted sync.Once
	// toldFailure is when failedToStore told last, in ns since the epoch.
	toldFailure atomic.Int64
	long        long // long.go

	mu      sync.Mutex
	turns   turns
	relays  map[*relay]struct{}   // all that are not closed
	live    map[*session]struct{} // those that are logged in
	up      bool
	changed chan struct{}
	next    chan struct{}
	wasUp   bool // it has been up before
	ending  bool // Close was called
	away    absence
	// lastFailure is why a connection could not be made.
	lastFailure error
	probed      bool   // it was looked whether the server speaks TLS
	refusal     string // the last refusal that was logged

	cancel context.CancelFunc
	owners sync.WaitGroup
	closed sync.Once
}

var (
	_ Writer = (*Client)(nil)
	_ Topics = (*Client)(nil)
	_ Peers  = (*Client)(nil)
)

// New makes a client; Start connects it. It reads the file of certificates.
func New(cfg Config, opts Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	secure, err := cfg.tlsConfig()
	if err != nil {
		return nil, err
	}
	c := &Client{
		away: absence{every: tellEvery},
		cfg:  cfg, tls: secure, log: opts.Log, fatal: make(chan error, 1),
		relays: map[*relay]struct{}{}, live: map[*session]struct{}{}, changed: make(chan struct{}), next: make(chan struct{}), cancel: func() {},
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.send = newLane(c, "send", cfg.Connections.Send, false)
	c.poll = newLane(c, "poll", cfg.Connections.Poll, true)
	c.admin = newLane(c, "admin", cfg.Connections.Admin, true)
	if c.ownStream = opts.Own; opts.Own != "" {
		c.own = newLane(c, "own", 1, true)
	}
	if c.metrics, err = newMetrics(opts.Metrics, c); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Client) lanes() []*lane {
	all := []*lane{c.admin, c.send, c.poll}
	if c.own != nil {
		all = append(all, c.own)
	}
	return all
}

// sending is the lane and its queue that messages to a partition go by.
func (c *Client) sending(t Topic, partition uint32) (*lane, chan<- *request) {
	if c.own != nil && t.Stream == c.ownStream {
		return c.own, c.own.any()
	}
	return c.send, c.send.of(t, partition)
}

// polling is the same for those that are asked for.
func (c *Client) polling(t Topic) (*lane, chan<- *request) {
	if c.own != nil && t.Stream == c.ownStream {
		return c.own, c.own.any()
	}
	return c.poll, c.poll.any()
}

// Start connects, and returns when there is a connection for every kind of
// request. While nobody listens it waits, until ctx ends. A server that refuses
// the login, or whose certificate is not accepted, ends it at once with an error
// that names the key of the configuration. After that the client reconnects by
// itself until Close. After an error it is closed. It is called once.
func (c *Client) Start(ctx context.Context) error {
	owned, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	// The first of each kind first.
	for i := range max(len(c.send.conns), len(c.poll.conns), len(c.admin.conns)) {
		for _, l := range c.lanes() {
			if i < len(l.conns) {
				c.owners.Go(func() { l.conns[i].own(owned) })
			}
		}
	}
	if err := c.awaitUp(ctx); err != nil {
		c.Close()
		return err
	}
	c.log.Info("connected to the Iggy server", zap.String("address", c.cfg.Address))
	return nil
}

func (c *Client) awaitUp(ctx context.Context) error {
	for {
		changed := c.Changed()
		if c.Up() {
			return nil
		}
		select {
		case <-changed:
		case err := <-c.fatal:
			return err
		case <-ctx.Done():
			err := ctx.Err()
			if why := c.failure(); why != nil {
				err = fmt.Errorf("%w (%w)", err, why)
			}
			return fmt.Errorf("iggy.address: no connection to the Iggy server at %s: %w", c.cfg.Address, err)
		}
	}
}

// failure is why the last connection could not be made.
func (c *Client) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastFailure
}

// Close ends the client: requests in flight get a second, then their connections
// are closed. It returns within two seconds whatever the server does.
func (c *Client) Close() {
	c.closed.Do(func() {
		c.mu.Lock()
		c.ending = true // first, so that no connection that ends now is taken for an absence
		c.refresh(nil)
		c.mu.Unlock()
		c.cancel()
		ended := make(chan struct{})
		go func() {
			c.owners.Wait()
			close(ended)
		}()
		if !within(ended, closeGrace) {
			c.Kill()
			if !within(ended, closeLimit) {
				c.log.Error("connections to the Iggy server have not ended")
			}
		}
		c.metrics.unregister()
	})
}

func within(ended <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}

// Kill closes all connections at once, as a cut cable does; the client makes new
// ones.
func (c *Client) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.relays {
		r.end(errors.New("killed"))
	}
}

func (c *Client) track(r *relay) {
	c.mu.Lock()
	c.relays[r] = struct{}{}
	c.mu.Unlock()
}

func (c *Client) untrack(r *relay) {
	c.mu.Lock()
	delete(c.relays, r)
	c.mu.Unlock()
}
