package coordinator

import (
	"context"
	"time"
)

// Ledger is where a coordinator keeps what must outlive the process. A backend is
// one. Its errors are its own; whoever calls tells failure from success only.
type Ledger interface {
	// EachGroup calls each once for every group that has a saved state, committed
	// offsets or both, in order of their names; state is nil where none was saved.
	// It stops at the first error of each and returns it.
	EachGroup(ctx context.Context, each func(group string, state []byte) error) error
	// SaveGroup stores the state of a group in place of what was stored; nil
	// forgets it. After a crash the old state is there or the new one. A state is
	// not longer than MaxSavedState.
	SaveGroup(ctx context.Context, group string, state []byte) error
	// ExpireOffsets removes the group's committed offsets that were committed
	// before a time, but for those of topics that keep holds on to (nil: none),
	// and returns how many offsets the group has left.
	ExpireOffsets(ctx context.Context, group string, before time.Time, keep func(topic string) bool) (left int, err error)
}

// MaxSavedState is the longest state of a group, in bytes. Groups that are kept do
// not grow beyond it.
const MaxSavedState = 16 << 20
