package wire

import (
	"math/bits"
	"sync"
)

// The pooled capacities are powers of two between these. Larger buffers are
// left to the garbage collector.
const (
	minClass = 12 // 4 KiB
	maxClass = 27 // 128 MiB
)

// Buffer is a byte slice on loan from a [Pool]. Who holds it may replace B by
// a larger slice, as append does.
type Buffer struct{ B []byte }

// Pool lends buffers for frames and answers. Buffers that nobody uses are
// collected, so what it keeps after a burst is gone after two collections.
// The zero Pool is ready, and safe for concurrent use.
type Pool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

// Get returns an empty buffer with room for at least n bytes.
func (p *Pool) Get(n int) *Buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return &Buffer{B: make([]byte, 0, n)}
	}
	if b, ok := p.classes[class-minClass].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{B: make([]byte, 0, 1<<class)}
}

// Put gives a buffer back. Nil is allowed; what the buffer held is lost.
func (p *Pool) Put(b *Buffer) {
	if b == nil {
		return
	}
	class := bits.Len(uint(cap(b.B))) - 1
	if class < minClass || class > maxClass {
		return
	}
	b.B = b.B[:0]
	p.classes[class-minClass].Put(b)
}
