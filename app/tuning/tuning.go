// Package tuning sets up the Go runtime for the program: how many goroutines run at
// once, and when the garbage collector does. What the user has set in the environment
// (GOMAXPROCS, GOGC) is left alone.
package tuning

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// leastPercent is how far the heap always may grow before a collection, as a part of
	// what was in use after the last one. It is Go's default.
	leastPercent = 100
	// mostPercent is how far it may grow while there is memory for it. A collection costs
	// by what is in use, not by what is freed: with a small heap most of the work of
	// Go's default is for nothing.
	mostPercent = 400
)

// Start tunes the process until the returned function is called. The heap may take up to
// limit bytes, garbage included, and more only if what is in use takes more than half
// of that.
func Start(limit int64) (stop func()) {
	undo := []func(){processors(), collector(limit)}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// collector sets GOGC after each collection.
func collector(limit int64) (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(mostPercent)
	c := &tuner{limit: uint64(max(0, limit)), percent: mostPercent} // #nosec G115 -- not below zero
	c.adjust()
	c.again()
	stop := rest()
	return func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopped = true
		debug.SetGCPercent(before)
	}
}

// tuner keeps GOGC as high as the limit allows.
type tuner struct {
	limit uint64

	mu      sync.Mutex
	percent int // as it is set
	stopped bool
}

// sentinel is garbage that the next collection finds. It has a pointer, as tiny objects
// without one share their memory with others.
type sentinel struct{ _ *sentinel }

// again calls adjust after the next collection, and so on.
func (c *tuner) again() {
	runtime.AddCleanup(new(sentinel), func(c *tuner) {
		if c.adjust() {
			c.again()
		}
	}, c)
}

// adjust sets GOGC by what is in use; false after the end.
func (c *tuner) adjust() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	percent := percentFor(inUse(), c.limit)
	if d := percent - c.percent; d != 0 && (d < -c.percent/10 || d > c.percent/10 || percent == leastPercent || percent == mostPercent) {
		c.percent = percent
		debug.SetGCPercent(percent) // which stops the world for some microseconds
	}
	return true
}

// percentFor is the value of GOGC with which the heap grows to limit at most, within
// bounds. Go counts it by all that a collection looks at.
func percentFor(used, limit uint64) int {
	if used == 0 {
		return mostPercent
	}
	if used >= limit {
		return leastPercent
	}
	room := (limit - used) * 100 / used
	return int(min(max(room, leastPercent), mostPercent)) // #nosec G115 -- between the two
}

// inUse is how many bytes the last collection looked at: heap, stacks and globals.
func inUse() (sum uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
