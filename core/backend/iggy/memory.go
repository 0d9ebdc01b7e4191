package iggy

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Copies of batches are made for every produce request and live until the cache
// lets them go. Fresh memory for each costs three times what the copying does, so
// it is lent, and comes back when the writer, the cache and the last reader have
// done with it. Memory that somebody may still look at, as after a request whose
// reply was lost, is left to the garbage collector.

const (
	// leastLoan is the smallest memory that is lent; less is not worth it.
	leastLoan = 4 << 10
	// sizesPerOctave bounds what is wasted to a quarter.
	sizesPerOctave = 4
)

// loans has memory by its size.
type loans struct {
	sizes [40 * sizesPerOctave]sync.Pool // of *loan
}

// loan is memory that was lent. A nil loan is memory of somebody else.
type loan struct {
	of    *loans
	size  int // index
	bytes []byte
	users atomic.Int32
}

// loanSize returns the index of the smallest size that holds n bytes, and that
// size.
func loanSize(n int) (index, size int) {
	octave := bits.Len(uint(n-1)) - 1 // 2^octave < n <= 2^(octave+1)
	step := 1 << octave / sizesPerOctave
	quarters := (n - 1<<octave + step - 1) / step
	return octave*sizesPerOctave + quarters - 1, 1<<octave + quarters*step
}

// clone returns a copy of b and, when its memory is lent, the loan, with one user.
func (l *loans) clone(b []byte) ([]byte, *loan) {
	if len(b) < leastLoan {
		return append([]byte(nil), b...), nil
	}
	index, size := loanSize(len(b))
	one, _ := l.sizes[index].Get().(*loan)
	if one == nil {
		one = &loan{of: l, size: index, bytes: make([]byte, size)}
	}
	one.users.Store(1)
	return one.bytes[:copy(one.bytes, b):len(b)], one
}

// use adds a user; somebody who has not released it calls it.
func (l *loan) use() {
	if l != nil {
		l.users.Add(1)
	}
}

// release ends a use. After the last one the memory is lent again.
func (l *loan) release() {
	if l != nil && l.users.Add(-1) == 0 {
		l.of.sizes[l.size].Put(l)
	}
}

// cost is what the memory of n bytes takes.
func (l *loan) cost(n int) int64 {
	if l == nil {
		return int64(n)
	}
	return int64(len(l.bytes))
}
