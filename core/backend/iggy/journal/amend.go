package journal

import (
	"context"
	"fmt"

	"github.com/iggykafka/gateway/core/backend"
)

// Amend makes the changes that decide returns, in one step. decide is called once,
// when every commit that came before is in View or never will be, and nothing comes
// between it and its changes: so it can make a change depend on what is there. It
// must only read from View, and be quick, as all commits wait for it. None is no
// error. Errors are those of Commit; after one, decide may have been called.
func (j *Journal) Amend(ctx context.Context, decide func() []Change) error {
	return j.submit(ctx, &commit{entry: newEntry(record{kind: kindChanges}), decide: decide, done: make(chan struct{})})
}

// decided has an amendment say what it changes, and reports whether there is
// anything to write; otherwise it is answered.
func (c *commit) decided() bool {
	changes := c.decide()
	if len(changes) == 0 {
		c.answer(nil)
		return false
	}
	size, err := sizeOf(changes)
	if err != nil {
		c.answer(err)
		return false
	}
	c.rec.changes = appendChanges(make([]byte, 0, size), changes)
	return true
}

// sizeOf returns at least what changes take in a record; backend.ErrTooLarge.
func sizeOf(changes []Change) (size int, err error) {
	for _, c := range changes {
		size += changeSize(c)
	}
	if size > MaxCommit {
		return 0, fmt.Errorf("%w: a commit of %d bytes, limit %d", backend.ErrTooLarge, size, MaxCommit)
	}
	return size, nil
}
