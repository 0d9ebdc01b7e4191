package client

import (
	"errors"
	"time"

	"go.uber.org/zap"
)

// Up tells whether the server answers: there are connections for every kind of
// request, and none has waited in vain since the last answer.
func (c *Client) Up() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// Generation grows with every new connection, before that takes its first
// request: what was read of the server in an earlier generation may be of one that
// has been restarted since.
func (c *Client) Generation() uint64 { return c.generation.Load() }

// Changed returns a channel that is closed when Up or Generation change after
// the call.
func (c *Client) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// opened returns a channel that is closed when the next connection has been made:
// those that could not be made before need not wait longer.
func (c *Client) opened() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// sessionUp notes that a connection is logged in, before it takes requests.
func (c *Client) sessionUp(l *lane, s *session) {
	c.heard()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.number = c.generation.Add(1)
	close(c.next)
	c.next = make(chan struct{})
	l.up++
	c.live[s] = struct{}{}
	c.refresh(nil)
	c.tell()
}

func (c *Client) sessionDown(l *lane, s *session) {
	c.untrack(s.relay)
	c.mu.Lock()
	defer c.mu.Unlock()
	l.up--
	delete(c.live, s)
	c.refresh(s.relay.ended())
}

// heard notes that a reply came.
func (c *Client) heard() {
	c.lastHeard.Store(time.Now().UnixNano())
	if !c.suspect.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspect.Store(false)
	c.refresh(nil)
}

// timedOut notes that a request that began then got no reply in its time. Where
// nothing else was heard meanwhile, the server is taken to be silent.
func (c *Client) timedOut(began time.Time) {
	c.metrics.timeouts.Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastHeard.Load() < began.UnixNano() {
		c.suspect.Store(true)
		c.refresh(errDeadline)
	}
}

// refresh opens and shuts the gates after a change; mu is held.
func (c *Client) refresh(cause error) {
	up := true
	for _, l := range c.lanes() {
		open := l.up > 0 && !c.suspect.Load() && !c.ending
		l.set(open)
		up = up && open
	}
	if up == c.up {
		return
	}
	c.up = up
	c.tell()
	switch {
	case c.ending:
	case up && c.wasUp:
		c.log.Info("the Iggy server answers again", zap.String("address", c.cfg.Address), zap.Duration("after", c.away.length()))
	case !up:
		c.away.begin()
		c.log.Warn("the Iggy server does not answer; trying again until it does", zap.String("address", c.cfg.Address), zap.Error(cause))
	}
	c.wasUp = c.wasUp || up
}

// tell wakes who waits for a change; mu is held.
func (c *Client) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// failed notes that a connection could not be made. What another attempt does
// not mend ends a start; later on it is logged when it is new.
func (c *Client) failed(err error) {
	var no *refused
	final := errors.As(err, &no)
	if final {
		select {
		case c.fatal <- err:
		default:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastFailure = err
	switch {
	case c.ending:
	case final && c.wasUp && c.refusal != err.Error():
		c.refusal = err.Error()
		c.log.Error("the Iggy server refuses the connection", zap.Error(err))
	case !final && !c.wasUp && c.away.since.IsZero():
		c.away.begin()
		c.log.Info("waiting for the Iggy server", zap.String("address", c.cfg.Address), zap.Error(err))
	case !final && !c.up && c.away.due():
		c.log.Warn("still waiting for the Iggy server", zap.String("address", c.cfg.Address),
			zap.Duration("for", c.away.length()), zap.Error(err))
	}
}

// absence is a time without the server, which the log tells of again and again.
type absence struct {
	every       time.Duration
	since, told time.Time
}

func (a *absence) begin() {
	a.since = time.Now()
	a.told = a.since
}

func (a *absence) length() time.Duration { return time.Since(a.since).Round(time.Second) }

// due reports whether it is time to tell again, and takes it as done.
func (a *absence) due() bool {
	if a.since.IsZero() || time.Since(a.told) < a.every {
		return false
	}
	a.told = time.Now()
	return true
}
