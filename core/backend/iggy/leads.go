package iggy

import (
	"context"
	"encoding/binary"
	"math/bits"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// assumedLead is by how many ms records may be ahead of the time of their append
// without anything being noted: clocks differ, and native Iggy clients say nothing.
const assumedLead = 10_000

// lead returns by how many ms the timestamps of records in p may be ahead of the
// time of their append, on the server's clock. A look-up by time begins that much
// earlier.
func (s *Store) lead(p *partition) int64 {
	if lead := p.leading.Load(); lead != 0 {
		return lead
	}
	kept, err := s.number(partitionKey(keyLead, p.id))
	if err != nil {
		s.log.Error("the lead of a partition is not known", zap.Error(err))
	}
	kept = max(kept, assumedLead)
	if !p.leading.CompareAndSwap(0, kept) {
		return p.leading.Load()
	}
	return kept
}

// raiseLead notes, durably and before the records are sent, that some are by ms
// ahead. What is noted is rounded up to a power of two, so that this is rare.
func (s *Store) raiseLead(ctx context.Context, p *partition, ms int64) error {
	if ms <= s.lead(p) {
		return nil
	}
	const largest = 1 << 62
	if ms < largest {
		ms = 1 << bits.Len64(uint64(ms-1))
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(ms))
	if err := s.ledger.Commit(ctx, []journal.Change{{Key: partitionKey(keyLead, p.id), Value: value}}); err != nil {
		return err
	}
	for {
		old := p.leading.Load()
		if ms <= old || p.leading.CompareAndSwap(old, ms) {
			return nil
		}
	}
}
