package dispatch

import (
	"context"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/wire"
)

// memory is what one call holds: it implements handler.Memory. A connection
// has one request in work at a time, so each has one of these, and uses it
// again.
type memory struct {
	lease *guard.Lease
	pool  *wire.Pool
	lent  []*wire.Buffer
}

func (m *memory) Reserve(ctx context.Context, bytes int64) error { return m.lease.Reserve(ctx, bytes) }

func (m *memory) Buffer(ctx context.Context, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if err := m.lease.Reserve(ctx, 2*int64(n)); err != nil {
		return nil, err
	}
	b := m.pool.Get(n)
	m.lent = append(m.lent, b)
	return b.B[:n], nil
}

// takeBack ends the loans. The lease is released by whoever writes the answer.
func (m *memory) takeBack() {
	for i, b := range m.lent {
		m.pool.Put(b)
		m.lent[i] = nil
	}
	m.lent = m.lent[:0]
}
