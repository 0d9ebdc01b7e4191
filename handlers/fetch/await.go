package fetch

import (
	"context"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

// pause is the least time between two looks at the logs of a request that
// waits for more than one append, so that many small appends do not make it
// look at all of its partitions each time.
const pause = 5 * time.Millisecond

// await returns when the request is to be answered: min bytes can be read,
// nothing can be read at all, a partition has failed, the wait is over, or the
// gateway shuts down. Nothing is read. The error is that of a client that has
// gone.
func (w *work) await(ctx context.Context, wait time.Duration) error {
	if w.look(ctx) || wait <= 0 {
		return ctx.Err()
	}
	parked, stop := w.call.Park(ctx)
	defer stop()
	grown, unwatch := w.store.Watch(w.live())
	defer unwatch()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	// What grew before the watch began would wake nobody.
	for !w.look(ctx) {
		select {
		case <-grown:
		case <-timer.C:
			w.look(ctx)
			return ctx.Err()
		case <-parked.Done():
			return ctx.Err()
		}
		if w.look(ctx) {
			break
		}
		select {
		case <-time.After(pause):
		case <-timer.C:
			return ctx.Err()
		case <-parked.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// look counts what can be read, and reports whether that is enough to answer.
func (w *work) look(ctx context.Context) bool {
	live, total := 0, int64(0)
	for i := range w.entries {
		e := &w.entries[i]
		if e.code != 0 {
			continue
		}
		// A batch is returned even where the limits say 0, so one byte is
		// always worth knowing about.
		var err error
		e.available, e.bounds, err = w.store.Available(ctx, e.partition, e.ask.FetchOffset, int64(max(1, e.limit())))
		if err != nil {
			w.fail(e, err)
			continue
		}
		live++
		total += e.available
	}
	return live == 0 || w.failed || total >= w.minBytes
}

// live returns the partitions that may still grow.
func (w *work) live() []backend.Partition {
	ps := make([]backend.Partition, 0, len(w.entries))
	for i := range w.entries {
		if w.entries[i].code == 0 {
			ps = append(ps, w.entries[i].partition)
		}
	}
	return ps
}
