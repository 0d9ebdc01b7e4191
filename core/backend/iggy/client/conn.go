package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
)

const (
	// firstBackoff is about the wait before the first new attempt.
	firstBackoff = 20 * time.Millisecond
	// refusedBackoff is the least wait after the server refused the login: each
	// attempt costs it some 30 ms of a shard.
	refusedBackoff = 5 * time.Second
	// steadyAfter is how long a connection lives before the waits begin anew.
	steadyAfter = time.Second
)

// conn is one place in the pool: its owner keeps a session in it.
type conn struct {
	client   *Client
	lane     *lane
	requests chan *request
	failures int
}

// own dials, logs in, has the session serve, and begins anew when it has ended.
func (c *conn) own(ctx context.Context) {
	for again := false; ctx.Err() == nil; again = true {
		if again {
			c.client.metrics.redials.WithLabelValues(c.lane.name).Inc()
		}
		s, err := c.open(ctx)
		if err != nil {
			c.failures++
			c.client.failed(err)
			c.wait(ctx, err, c.client.opened())
			continue
		}
		began := time.Now()
		go s.serve(c.requests, ctx.Done())
		c.watch(ctx, s)
		c.client.sessionDown(c.lane, s)
		if c.failures++; time.Since(began) >= steadyAfter {
			c.failures = 1
		}
		c.wait(ctx, s.relay.cause, nil)
	}
}

// watch returns when the session has ended, or when its SDK call does not return
// although its sockets are closed.
func (c *conn) watch(ctx context.Context, s *session) {
	select {
	case <-s.done:
		return
	case <-s.relay.dead:
	case <-ctx.Done():
		// The request in flight may end in peace; Close cuts it short.
		<-s.relay.dead
	}
	stuck := time.NewTimer(abandonAfter)
	defer stuck.Stop()
	select {
	case <-s.done:
	case <-stuck.C:
		c.client.log.Error("a call of the Iggy SDK does not return; its connection is replaced", zap.String("connection", s.me))
	}
}

// wait is the pause before the next attempt: it doubles up to MaxBackoff, and
// its second half is random. sooner cuts it short.
func (c *conn) wait(ctx context.Context, cause error, sooner <-chan struct{}) {
	pause := c.client.cfg.MaxBackoff
	if shift := min(c.failures-1, 16); firstBackoff<<shift < pause {
		pause = firstBackoff << shift
	}
	var no *refused
	if errors.As(cause, &no) {
		pause = max(pause, refusedBackoff)
	}
	t := time.NewTimer(pause/2 + rand.N(pause/2+1)) // #nosec G404 -- a pause
	defer t.Stop()
	select {
	case <-t.C:
	case <-sooner:
	case <-ctx.Done():
	}
}

// open makes a session, when it is this connection's turn.
func (c *conn) open(ctx context.Context) (*session, error) {
	if err := c.client.take(ctx, c.lane); err != nil {
		return nil, err
	}
	defer c.client.give()

	ctx, cancel := context.WithTimeout(ctx, c.client.cfg.ConnectTimeout)
	defer cancel()
	server, raw, err := dial(ctx, c.client.cfg.Address, c.client.tls)
	if err != nil {
		return nil, err
	}
	sdk, relay, err := connect(server, raw, c.client.cfg.MaxReplyBytes, c.client.heard)
	if err != nil {
		return nil, err
	}
	s := &session{client: c.client, lane: c.lane, sdk: sdk, relay: relay, done: make(chan struct{})}
	c.client.track(relay)
	stop := context.AfterFunc(ctx, func() { relay.end(errDeadline) })
	defer stop()
	if err := s.login(raw.LocalAddr().String()); err != nil {
		s.close()
		c.client.untrack(relay)
		return nil, c.client.explain(ctx, err)
	}
	c.client.sessionUp(c.lane, s)
	return s, nil
}

// login logs in and asks the server by which address it knows this connection,
// which is not ours where addresses are translated on the way.
func (s *session) login(local string) error {
	err := s.client.cfg.login(s.sdk)
	if cause := s.relay.ended(); cause != nil && Code(err) == 0 {
		return cause
	}
	if err != nil {
		return err
	}
	s.me = local
	me, err := s.relay.exchange(frame(codeMe, 0), maxMe)
	if err != nil {
		return err
	}
	if address, err := addressOf(me.body); err == nil && me.status == 0 {
		s.me = address
	}
	return nil
}

// explain looks whether a server that ended a plain connection before the login
// was answered did so because it speaks TLS: Iggy's closes it without a word. It
// looks once, during a start.
func (c *Client) explain(ctx context.Context, err error) error {
	if c.tls == nil && errors.Is(err, errServerClosed) && c.mayProbe() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if speaksTLS(ctx, c.cfg.Address) {
			err = errServerTLS
		}
	}
	if errors.Is(err, errServerTLS) {
		return &refused{"iggy.tls.enabled", err}
	}
	return err
}

func (c *Client) mayProbe() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.wasUp && !c.probed
	c.probed = true
	return first
}
