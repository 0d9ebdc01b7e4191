package handlertest

import "context"

// Memory is a budget for tests, a handler.Memory: the function is asked for
// every charge, in bytes, and its error is what the handler gets.
type Memory func(bytes int64) error

// Reserve implements handler.Memory.
func (m Memory) Reserve(_ context.Context, bytes int64) error { return m(bytes) }

// Buffer implements handler.Memory.
func (m Memory) Buffer(_ context.Context, n int) ([]byte, error) {
	return make([]byte, n), m(2 * int64(n))
}

// Charges is a budget without end, a handler.Memory: it has what was charged, in bytes
// and in order.
type Charges []int64

// Reserve implements handler.Memory.
func (c *Charges) Reserve(_ context.Context, bytes int64) error {
	*c = append(*c, bytes)
	return nil
}

// Buffer implements handler.Memory.
func (c *Charges) Buffer(ctx context.Context, n int) ([]byte, error) {
	return make([]byte, n), c.Reserve(ctx, 2*int64(n))
}

// Sum returns what was charged in all.
func (c Charges) Sum() (bytes int64) {
	for _, n := range c {
		bytes += n
	}
	return bytes
}
