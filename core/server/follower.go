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

// earlyMemory is how many bytes of requests may be read while the ones before them are
// in work, by all connections together. The rest of the memory budget is always for
// those before: enough for the largest one, so that nobody waits for what waits for him.
func earlyMemory(cfg *Config) int64 {
	return min(cfg.MemoryBudget/8, cfg.MemoryBudget-int64(cfg.MaxFrameSize)-cfg.RequestMemory)
}

// look starts a follower, when it is time.
func (c *conn) look() {
	if c.watch.looks(c.age) {
		c.in.Detach() // the request in work may lie in the reader's buffer
		c.follow()
	}
}

// readsOn starts a follower at once, for a large request over a transport: the next one
// is deciphered, by another processor, while this one is stored. In the clear there is
// nothing to gain.
func (c *conn) readsOn(t *turn) {
	// A frame of this size does not lie in the reader's buffer.
	if len(t.frame.Payload) > freeMemory && c.listener.transport != nil && c.known.Load() && c.watch.tells() {
		go c.follow()
	}
}

// follow leads on while another goroutine still works on a request.
func (c *conn) follow() {
	t := &turn{early: true}
	err := c.read(t)
	if err != nil {
		// Nobody waits for the request in work any more. But it may be all but answered, and
		// the client have ended its own side only.
		giveUp := time.AfterFunc(lookAhead, c.cancel)
		defer giveUp.Stop()
	}
	before := <-c.ended
	t.early = false
	c.s.early.Release(t.share)
	if before != nil && !(err != nil && c.gone(before)) {
		err = before
	}
	if err != nil {
		t.release()
		c.end(err)
		return
	}
	c.run(t)
}

// comesEarly reports whether a request of size bytes may be read although the one before
// is in work.
func (c *conn) comesEarly(t *turn, size int) bool {
	if size <= freeMemory {
		return true
	}
	if c.throttledLately() || !c.s.early.TryAcquire(int64(size)) {
		return false
	}
	t.share = int64(size)
	return true
}

// throttledLately reports whether the client has been throttled in the last minute.
func (c *conn) throttledLately() bool {
	until := time.Duration(c.mutedUntil.Load())
	return until != 0 && c.age()-until < throttledFor
}

// former waits until the request in work has ended, and returns how.
func (c *conn) former() error {
	err := <-c.ended
	c.ended <- err // follow asks, too
	return err
}
