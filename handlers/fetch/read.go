package fetch

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
)

// read fills the entries in request order, up to the limits of the request and
// of each partition. The first batch of the first partition that has one is
// returned whatever the limits (KIP-74): a consumer could not get past it
// otherwise. The memory is charged before it is used, and all at once: requests
// that held a part each and waited for more would wait for one another. An
// error closes the connection.
func (w *work) read(ctx context.Context) error {
	buf, err := w.call.Buffer(ctx, w.counted())
	if err != nil {
		return err
	}
	left, first := w.maxBytes, true
	for i := range w.entries {
		e := &w.entries[i]
		limit := min(e.limit(), left)
		if e.code != 0 || e.available == 0 || limit == 0 && !first {
			continue
		}
		// What came after it was counted is left for the next request.
		expected := min(int(min(e.available, int64(limit))), len(buf))
		records, bounds, err := w.store.Read(ctx, backend.Read{
			Partition: e.partition, Offset: e.ask.FetchOffset, MaxBytes: expected, AtLeastOne: first, Buf: buf[:expected:expected],
		})
		if err != nil {
			w.fail(e, err)
			continue
		}
		// The first batch may be above the limits.
		if more := len(records) - expected; more > 0 {
			if err := w.call.Reserve(ctx, 2*int64(more)); err != nil {
				return err
			}
		}
		e.records, e.bounds = records, bounds
		buf = buf[min(len(records), expected):]
		left = max(0, left-len(records))
		first = first && len(records) == 0
	}
	return nil
}

// counted returns the bytes of records that the answer may hold, as far as they
// were counted. A first batch above the limits comes on top.
func (w *work) counted() int {
	sum := int64(0)
	for i := range w.entries {
		if e := &w.entries[i]; e.code == 0 {
			sum += min(e.available, int64(e.limit()))
		}
	}
	return int(min(sum, int64(w.maxBytes)))
}
