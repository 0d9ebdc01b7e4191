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
