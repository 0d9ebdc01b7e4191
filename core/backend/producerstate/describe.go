package producerstate

import (
	"cmp"
	"slices"

	"github.com/iggykafka/gateway/core/backend"
)

// Describe returns what the table remembers of producers that have not expired,
// by id. now is in ms since the epoch, expiration in ms.
func (t *Table) Describe(now, expiration int64) []backend.ProducerState {
	var all []backend.ProducerState
	for _, p := range t.byID {
		if now-p.Seen <= expiration {
			all = append(all, backend.ProducerState{
				ID: p.ID, Epoch: p.Epoch, LastSequence: p.latest().Last, LastTimestamp: p.Seen,
			})
		}
	}
	slices.SortFunc(all, func(a, b backend.ProducerState) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
