// Package watch tells those who wait for partitions that something has happened
// there. It is what backends make Watch of.
package watch

import (
	"slices"
	"sync"
)

// Watcher gets a value when it is woken. It holds one: to be woken twice between
// two looks is to be woken once.
type Watcher chan struct{}

// New returns a watcher that is on no list.
func New() Watcher { return make(Watcher, 1) }

// Wake wakes the watcher. It does not wait.
func (w Watcher) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// List is who watches one partition. The zero value is empty. It is safe for
// concurrent use.
type List struct {
	mu  sync.Mutex
	all []Watcher
}

// Add puts a watcher on the list. One that is added twice is removed twice.
func (l *List) Add(w Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, w)
}

// Remove takes a watcher off the list; it need not be there.
func (l *List) Remove(w Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.all, w)
	if i < 0 {
		return
	}
	last := len(l.all) - 1
	l.all[i], l.all[last] = l.all[last], nil
	l.all = l.all[:last]
}

// Len is how many are on the list.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Wake wakes all watchers.
func (l *List) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.all {
		w.Wake()
	}
}
