package coordinatortest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// Ledger is a [coordinator.Ledger] in memory, for tests. It outlives coordinators:
// one that is opened on the ledger of another finds what that left, as after a
// restart or a kill. The zero Ledger is empty and usable.
type Ledger struct {
	mu      sync.Mutex
	states  map[string][]byte
	offsets map[string]map[string]time.Time // group, topic: time of the commit
	fault   error
	hold    chan struct{}
	saves   int
}

var _ coordinator.Ledger = (*Ledger)(nil)

// Fail has every call fail with err, until it is called with nil.
func (l *Ledger) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
}

// Hold has saves wait until release is called.
func (l *Ledger) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hold := make(chan struct{})
	l.hold = hold
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.hold == hold {
			l.hold = nil
		}
		close(hold)
	}
}

// Commit stores an offset of a group, committed at a time.
func (l *Ledger) Commit(group, topic string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offsets == nil {
		l.offsets = map[string]map[string]time.Time{}
	}
	if l.offsets[group] == nil {
		l.offsets[group] = map[string]time.Time{}
	}
	l.offsets[group][topic] = at
}

// Topics returns the topics that a group has offsets of, sorted.
func (l *Ledger) Topics(group string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.offsets[group]))
}

// State returns the saved state of a group, nil if there is none.
func (l *Ledger) State(group string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[group]
}

// SetState overwrites the saved state of a group.
func (l *Ledger) SetState(group string, state []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store(group, state)
}

// Saves returns how many saves succeeded.
func (l *Ledger) Saves() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saves
}

// Clone returns a copy, which fails as this one does: what a crash at this moment
// leaves.
func (l *Ledger) Clone() *Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &Ledger{states: maps.Clone(l.states), fault: l.fault, offsets: map[string]map[string]time.Time{}}
	for group, topics := range l.offsets {
		c.offsets[group] = maps.Clone(topics)
	}
	return c
}

// EachGroup calls each for every group; see [coordinator.Ledger].
func (l *Ledger) EachGroup(ctx context.Context, each func(group string, state []byte) error) error {
	l.mu.Lock()
	fault, states := l.fault, maps.Clone(l.states)
	groups := slices.Concat(slices.Collect(maps.Keys(states)), slices.Collect(maps.Keys(l.offsets)))
	l.mu.Unlock()
	if fault != nil {
		return fault
	}
	slices.Sort(groups)
	for _, group := range slices.Compact(groups) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(group, states[group]); err != nil {
			return err
		}
	}
	return nil
}

// SaveGroup stores a state; see [coordinator.Ledger].
func (l *Ledger) SaveGroup(ctx context.Context, group string, state []byte) error {
	l.mu.Lock()
	hold := l.hold
	l.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return l.fault
	}
	l.saves++
	l.store(group, state)
	return nil
}

func (l *Ledger) store(group string, state []byte) {
	if l.states == nil {
		l.states = map[string][]byte{}
	}
	if state == nil {
		delete(l.states, group)
		return
	}
	l.states[group] = bytes.Clone(state)
}

// ExpireOffsets removes offsets; see [coordinator.Ledger].
func (l *Ledger) ExpireOffsets(_ context.Context, group string, before time.Time, keep func(topic string) bool) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return 0, l.fault
	}
	maps.DeleteFunc(l.offsets[group], func(topic string, at time.Time) bool {
		return at.Before(before) && (keep == nil || !keep(topic))
	})
	left := len(l.offsets[group])
	if left == 0 {
		delete(l.offsets, group)
	}
	return left, nil
}
