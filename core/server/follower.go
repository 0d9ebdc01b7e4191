package server

import "time"

// While a request is in work its connection can be read: that the client has gone ends
// a call that waits, and the next request is there when it is needed.

const (
	// lookAhead is how long a request may be in work before its connection is
	// read on. Most never need to.
	lookAhead = 20 * time.Millisecond
	// throttledFor is how long a client counts as throttled after it was. What it sends
	// is not wanted early.
	throttledFor = time.Minute
)

// earlyMemory is how much of the memory budget, in bytes, is set aside for requests that
// are read while the ones before them are in work. The rest has room for the largest one,
// and for the largest answer, which is charged twice: more than there is is refused for good.
func earlyMemory(cfg Config) int64 {
	frame := int64(cfg.MaxFrameSize)
	return max(0, min(cfg.MemoryBudget/8, cfg.MemoryBudget-frame-max(frame, cfg.RequestMemory)))
}

// look starts a follower, when it is time.
func (c *conn) look() {
	if c.watch.looks(c.age) {
		c.in.Detach() // the request in work may lie in the reader's buffer
		c.follow(0)
	}
}

// readsOn starts a follower at once, for a large request over a transport: the next one
// is deciphered, by another processor, while this one is stored. In the clear there is
// nothing to gain.
func (c *conn) readsOn(t *turn) {
	// A frame of this size does not lie in the reader's buffer.
	if len(t.frame.Payload) > freeMemory && c.listener.transport != nil && c.known.Load() && c.watch.tells() {
		go c.follow(lookAhead)
	}
}

// follow leads on while another goroutine still works on a request. When there is no
// next one, because the client has gone, nobody waits for the one in work any more. It
// has a while left all the same: it may be all but answered, and the client have ended
// its own side only.
func (c *conn) follow(left time.Duration) {
	t := &turn{conn: c, early: true}
	err := c.read(t)
	if err != nil {
		giveUp := time.AfterFunc(left, c.cancel)
		defer giveUp.Stop()
	}
	before := <-c.ended
	t.early = false
	if before != nil && !(err != nil && c.gone(before)) {
		err = before
	}
	if err == nil {
		err = t.lease.OnTime(c.ctx)
	}
	if err != nil {
		t.release()
		c.end(err)
		return
	}
	c.run(t)
}

// early prepares for a request that is read before its turn, if that is wanted.
func (c *conn) early(t *turn) error {
	if t.size > freeMemory && c.throttledLately() && !t.Ended() {
		return t.Wait()
	}
	t.lease.ReadEarly(t)
	return nil
}

// throttledLately reports whether the client has been throttled in the last minute.
func (c *conn) throttledLately() bool {
	until := time.Duration(c.mutedUntil.Load())
	return until != 0 && c.age()-until < throttledFor
}

// Ended implements guard.Before: it reports whether the request before has ended.
func (t *turn) Ended() bool {
	select {
	case err := <-t.conn.ended:
		t.conn.ended <- err // follow asks, too
		return true
	default:
		return false
	}
}

// Wait implements guard.Before: it waits until the request before has ended, and returns
// how. That time is not the client's, who has its own from then on.
func (t *turn) Wait() error {
	waits := !t.Ended()
	err := <-t.conn.ended
	t.conn.ended <- err // follow asks, too
	if waits {
		t.conn.readWithin(time.Now(), t.size)
	}
	return err
}
