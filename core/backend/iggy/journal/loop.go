package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// run does all the work, one step after another.
func (j *Journal) run() {
	defer close(j.done)
	ticker := time.NewTicker(j.opts.Renew / 5)
	defer ticker.Stop()
	for {
		select {
		case <-j.closing:
			j.finish()
			return
		case <-j.lost:
			return
		case <-j.wake:
		case <-ticker.C:
		}
		for j.step(j.live) {
		}
	}
}

// step does what is due and reports whether there is more to do at once.
func (j *Journal) step(ctx context.Context) bool {
	defer j.watch()()
	group := j.take()
	if len(group) > 0 {
		j.store(ctx, group)
	}
	switch {
	case j.Err() != nil:
		return false
	case j.short:
		_ = j.write(ctx)
	case j.cutDue():
		if err := j.cut(ctx); err != nil {
			j.retryCut = time.Now().Add(retryAfter)
		}
	case j.renewDue():
		// Without a server nobody else can renew either: the lease stays.
		_ = j.renew(ctx)
	case len(j.garbage) > 0 && time.Now().After(j.retryDelete):
		j.collect(ctx)
	default:
		return len(group) > 0
	}
	return len(group) > 0
}

// store writes a group and answers its callers.
func (j *Journal) store(ctx context.Context, group []*commit) {
	if group[0].decide != nil && !group[0].decided() {
		return
	}
	es := make([]*entry, len(group))
	for i, c := range group {
		es[i] = c.entry
	}
	err := j.write(ctx, es...)
	for _, c := range group {
		switch {
		case c.stored:
			c.answer(nil)
		case errors.Is(err, backend.ErrOutcomeUnknown):
			c.answer(err)
		case errors.Is(err, backend.ErrStorage):
			c.answer(unknown(err)) // it may be in the log, which cannot be read
		case j.isLost():
			c.answer(j.Err())
		default:
			c.answer(unavailable(err))
		}
	}
}

// watch has waiting commits refused when the step takes long. What it returns
// ends that.
func (j *Journal) watch() func() {
	over := false
	timer := time.AfterFunc(j.opts.Patience, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if !over {
			j.stalled = true
			j.opts.Log.Warn("the gateway's journal waits for the Iggy server: what would change it is refused meanwhile", zap.String("stream", j.opts.Stream))
			j.refuseWaiting(fmt.Errorf("%w: the journal waits for the server", backend.ErrUnavailable))
		}
	})
	return func() {
		timer.Stop()
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.stalled {
			j.opts.Log.Info("the gateway's journal goes on", zap.String("stream", j.opts.Stream))
		}
		over, j.stalled = true, false
	}
}

// finish writes what waits and gives the lease back.
func (j *Journal) finish() {
	for {
		group := j.take()
		if len(group) == 0 {
			break
		}
		j.store(j.live, group)
	}
	if !j.isLost() && !j.short {
		_ = j.append(j.live, j.log, newEntry(record{kind: kindRelease}))
	}
}
