package fetch

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
)

// read fills the entries in request order, up to the limits of the request and
// of each partition. The first batch of the first partition that has one is
// returned whatever the limits (KIP-74): a consumer could not get past it
// otherwise. The memory is charged before it is used. An error closes the
// connection.
func (w *work) read(ctx context.Context) error {
	left, first := w.maxBytes, true
	for i := range w.entries {
		e := &w.entries[i]
		limit := min(e.limit(), left)
		if e.code != 0 || e.available == 0 || limit == 0 && !first {
			continue
		}
		expected := min(e.available, int64(limit))
		buf, err := w.call.Buffer(ctx, int(expected))
		if err != nil {
			return err
		}
		if err := w.call.Reserve(ctx, expected); err != nil { // they are encoded into an answer
			return err
		}
		records, bounds, err := w.store.Read(ctx, backend.Read{
			Partition: e.partition, Offset: e.ask.FetchOffset, MaxBytes: limit, AtLeastOne: first, Buf: buf,
		})
		if err != nil {
			w.fail(e, err)
			continue
		}
		// The log may have grown, and the first batch may be above the limits.
		if more := int64(len(records)) - expected; more > 0 {
			if err := w.call.Reserve(ctx, 2*more); err != nil {
				return err
			}
		}
		e.records, e.bounds = records, bounds
		left = max(0, left-len(records))
		first = first && len(records) == 0
	}
	return nil
}
