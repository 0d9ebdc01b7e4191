package iggy

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// What has come into a log of a batch that was then sent again, because the server
// cannot read all of it (first.go), is void: it was never acknowledged, and readers
// pass over its offsets as over any gap. The ledger keeps where it is. Native
// clients see it.

// maxVoids is how many ranges of one log are kept; beyond it the oldest are
// forgotten. There is one for each kill of the server that has torn a write here.
const maxVoids = 1_000

// voids makes ranges of offsets void, for good: in memory, and then in the ledger,
// however long that takes. Errors as insist.
func (p *partition) voids(ctx context.Context, ranges ...span) error {
	p.mu.Lock()
	start := p.start
	p.mu.Unlock()
	change := p.gaps.void(p, start, ranges...)
	return p.insist(ctx, nil, func() error {
		return p.store.ledger.Commit(ctx, []journal.Change{change})
	})
}

// void adds ranges, and returns what the ledger has to know. What is before start has
// gone.
func (g *gaps) void(p *partition, start int64, ranges ...span) journal.Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.voids = slices.DeleteFunc(g.voids, func(v span) bool { return v.next <= start })
	for _, r := range ranges {
		g.voids, _ = insert(g.voids, r)
	}
	if n := len(g.voids) - maxVoids; n > 0 {
		g.voids = slices.Delete(g.voids, 0, n)
	}
	return voidChange(p, g.voids)
}

// voidChange keeps ranges, each as the distance from the last one and its length.
func voidChange(p *partition, ranges []span) journal.Change {
	key := partitionKey(keyVoid, p.id)
	if len(ranges) == 0 {
		return journal.Change{Key: key}
	}
	var b []byte
	last := int64(0)
	for _, r := range ranges {
		b = binary.AppendUvarint(b, uint64(r.first-last))
		b = binary.AppendUvarint(b, uint64(r.next-r.first))
		last = r.next
	}
	return journal.Change{Key: key, Value: b}
}

// parseVoids reads what voidChange keeps.
func parseVoids(b []byte) (ranges []span, err error) {
	last := int64(0)
	for len(b) > 0 {
		distance, n := binary.Uvarint(b)
		length, m := binary.Uvarint(b[max(n, 0):])
		r := span{first: last + int64(distance), next: last + int64(distance) + int64(length)}
		if n <= 0 || m <= 0 || r.first < last || r.next <= r.first || len(ranges) == maxVoids {
			return nil, fmt.Errorf("%w: ranges of offsets in the internal log cannot be read", backend.ErrStorage)
		}
		ranges, b, last = append(ranges, r), b[n+m:], r.next
	}
	return ranges, nil
}

// loadVoids reads what of a log is void.
func (s *Store) loadVoids(p *partition) {
	b, _ := s.ledger.Get(partitionKey(keyVoid, p.id))
	ranges, err := parseVoids(b)
	if err != nil {
		s.log.Error("it is not known which records of a log were sent again", append(p.named(), zap.Error(err))...)
	}
	p.gaps.mu.Lock()
	defer p.gaps.mu.Unlock()
	p.gaps.voids = ranges
}

// unvoid is for a log that is taken to end earlier than it did. It returns what the
// ledger has to know of it.
func (p *partition) unvoid(end int64) []journal.Change {
	g := &p.gaps
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.voids)
	if n == 0 || g.voids[n-1].next <= end {
		return nil
	}
	g.voids = slices.DeleteFunc(g.voids, func(v span) bool { return v.first >= end })
	if n = len(g.voids); n > 0 {
		g.voids[n-1].next = min(g.voids[n-1].next, end)
	}
	return []journal.Change{voidChange(p, g.voids)}
}
