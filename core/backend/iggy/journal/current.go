package journal

import (
	"context"
	"time"
)

// Current returns when the journal was certainly this gateway's a moment ago, and
// costs nothing while that is known from what was last written. Who has stood still
// for so long that another gateway may have taken over, as a process or a machine
// that was paused, asks the log. Errors are those of Commit.
func (j *Journal) Current(ctx context.Context) error {
	if confirmed := j.confirmed.Load(); confirmed != nil && !longAgo(*confirmed, j.opts.TTL) {
		return j.Err()
	}
	return j.submit(ctx, &commit{entry: newEntry(record{kind: kindChanges, changes: appendChanges(nil, nil)}), done: make(chan struct{})})
}

// longAgo goes by both clocks: the one that is never set stands still while a machine
// sleeps, and the other may be set back.
func longAgo(t time.Time, d time.Duration) bool {
	now := time.Now()
	return now.Sub(t) >= d || now.Round(0).Sub(t.Round(0)) >= d
}
