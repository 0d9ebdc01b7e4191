package measured

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

// Append implements backend.Logs. Its error is that of the first batch that has
// one; each is counted.
func (b *Backend) Append(ctx context.Context, batches []backend.Append) []backend.Appended {
	ctx, c := b.begin(ctx, b.ops.append)
	done := b.Backend.Append(ctx, batches)
	var first error
	for i, d := range done {
		switch {
		case d.Err != nil && first == nil:
			first = d.Err // counted by end
		case d.Err != nil:
			c.op.failed(d.Err)
		case d.Duplicate:
			b.traffic.duplicates.Inc()
		default:
			b.traffic.recordsIn.Add(float64(batches[i].Batch.Count))
			b.traffic.bytesIn.Add(float64(len(batches[i].Batch.Bytes)))
		}
	}
	c.end(first)
	return done
}

// Read implements backend.Logs.
func (b *Backend) Read(ctx context.Context, r backend.Read) ([]byte, backend.Bounds, error) {
	ctx, c := b.begin(ctx, b.ops.read)
	batches, bounds, err := b.Backend.Read(ctx, r)
	c.end(err)
	if len(batches) > 0 {
		b.traffic.recordsOut.Add(float64(records(batches)))
		b.traffic.bytesOut.Add(float64(len(batches)))
	}
	return batches, bounds, err
}

// Available implements backend.Logs.
func (b *Backend) Available(ctx context.Context, p backend.Partition, offset, max int64) (int64, backend.Bounds, error) {
	ctx, c := b.begin(ctx, b.ops.available)
	n, bounds, err := b.Backend.Available(ctx, p, offset, max)
	c.end(err)
	return n, bounds, err
}

// Bounds implements backend.Logs.
func (b *Backend) Bounds(ctx context.Context, p backend.Partition) (backend.Bounds, error) {
	ctx, c := b.begin(ctx, b.ops.bounds)
	bounds, err := b.Backend.Bounds(ctx, p)
	c.end(err)
	return bounds, err
}

// FindTime implements backend.Logs.
func (b *Backend) FindTime(ctx context.Context, p backend.Partition, timestamp int64) (backend.Found, error) {
	ctx, c := b.begin(ctx, b.ops.findTime)
	found, err := b.Backend.FindTime(ctx, p, timestamp)
	c.end(err)
	return found, err
}

// FindMaxTime implements backend.Logs.
func (b *Backend) FindMaxTime(ctx context.Context, p backend.Partition) (backend.Found, error) {
	ctx, c := b.begin(ctx, b.ops.findMaxTime)
	found, err := b.Backend.FindMaxTime(ctx, p)
	c.end(err)
	return found, err
}

// DeleteRecords implements backend.Logs.
func (b *Backend) DeleteRecords(ctx context.Context, p backend.Partition, before int64) (int64, error) {
	ctx, c := b.begin(ctx, b.ops.deleteRecords)
	start, err := b.Backend.DeleteRecords(ctx, p, before)
	c.end(err)
	return start, err
}

// DescribeProducers implements backend.Logs.
func (b *Backend) DescribeProducers(ctx context.Context, p backend.Partition) ([]backend.ProducerState, error) {
	ctx, c := b.begin(ctx, b.ops.describeProducers)
	states, err := b.Backend.DescribeProducers(ctx, p)
	c.end(err)
	return states, err
}

// records counts the records of whole batches, by their headers.
func records(batches []byte) (n int64) {
	for len(batches) > 0 {
		batch, rest, err := record.Parse(batches)
		if err != nil {
			return n
		}
		n, batches = n+int64(batch.Count), rest
	}
	return n
}
