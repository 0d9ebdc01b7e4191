package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// maxRecords bounds a throughput measurement of small records.
const maxRecords = 1_000_000

// throughput writes and then reads a topic for each record size and acks. An
// Iggy server always acknowledges, so that is acks=all alone.
func throughput(ctx context.Context, t *target, o options, put sink) error {
	acks := []struct {
		name string
		acks kgo.Acks
	}{{"0", kgo.NoAck()}, {"1", kgo.LeaderAck()}, {"all", kgo.AllISRAcks()}}
	for _, size := range o.sizes {
		if t.iggy != nil {
			if err := t.iggy.throughput(ctx, t, o, size, put); err != nil {
				return fmt.Errorf("%s: %w", bytesText(size), err)
			}
			continue
		}
		for _, a := range acks {
			if !slices.Contains(o.acks, a.name) {
				continue
			}
			label := fmt.Sprintf("%s acks=%s", bytesText(size), a.name)
			if err := throughputOf(ctx, t, o, size, a.acks, label, put); err != nil {
				return fmt.Errorf("%s: %w", label, err)
			}
		}
	}
	return nil
}

func throughputOf(ctx context.Context, t *target, o options, size int, acks kgo.Acks, label string, put sink) error {
	topic, drop, err := freshTopic(ctx, t, o.partition)
	if err != nil {
		return err
	}
	defer drop()
	n := min(o.bytes/int64(size), maxRecords)
	n -= n % int64(o.clients)
	mb := float64(n*int64(size)) / 1e6

	before, begin := t.cost(), time.Now()
	// The records are written when they have arrived, which with acks=0 is
	// later than when they have left.
	arrived := func() error { return awaitRecords(ctx, t, topic, n) }
	err = each(o.clients, func(int) error { return write(ctx, t, topic, acks, size, n/int64(o.clients), o.batch, arrived) })
	if err != nil {
		return err
	}
	put("produce "+label, "MB/s", mb/time.Since(begin).Seconds())
	putCPU(t, before, mb, "produce "+label, put)

	before, begin = t.cost(), time.Now()
	var left atomic.Int64
	left.Store(n)
	err = each(o.clients, func(client int) error { return read(ctx, t, topic, o, client, &left) })
	if err != nil {
		return err
	}
	put("consume "+label, "MB/s", mb/time.Since(begin).Seconds())
	putCPU(t, before, mb, "consume "+label, put)
	return nil
}

// cost is processor time.
type cost struct{ server, client time.Duration }

// cost returns what the server, if its process is on this machine, and this program
// have used so far.
func (t *target) cost() cost {
	c := cost{client: ownCPU()}
	if t.pid != 0 {
		c.server = t.cpu()
	}
	return c
}

// ownCPU returns the CPU time that this program has used so far.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// putCPU puts what mb megabytes have cost since before. On one machine the clients'
// part takes as much from the throughput as the server's.
func putCPU(t *target, before cost, mb float64, label string, put sink) {
	now := t.cost()
	if t.pid != 0 {
		put(label+" server CPU", "ms/MB", (now.server-before.server).Seconds()*1e3/mb)
	}
	put(label+" client CPU", "ms/MB", (now.client-before.client).Seconds()*1e3/mb)
}

// write produces n records of the given size, uncompressed. The connection is
// kept until arrived returns: a server may drop what it has not read yet.
func write(ctx context.Context, t *target, topic string, acks kgo.Acks, size int, n int64, batch int, arrived func() error) error {
	cl, err := t.client(kgo.DefaultProduceTopic(topic),
		kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(100_000), kgo.ProducerBatchMaxBytes(int32(batch)), kgo.MaxBufferedBytes(64<<20), kgo.RecordPartitioner(kgo.StickyPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	// Random bytes, as compression is not what is measured here.
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(rand.Uint32())
	}
	var failed atomic.Pointer[error]
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	}
	for range n {
		cl.Produce(ctx, &kgo.Record{Value: value}, done)
		if failed.Load() != nil {
			break
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return arrived()
}

// read consumes records from the start of the partitions that are this client's,
// until none are left.
func read(ctx context.Context, t *target, topic string, o options, client int, left *atomic.Int64) error {
	from := map[int32]kgo.Offset{}
	for p := client; p < o.partition; p += o.clients {
		from[int32(p)] = kgo.NewOffset().AtStart()
	}
	cl, err := t.client(kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for left.Load() > 0 {
		// Who has read all of his does not know it.
		patience, done := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := cl.PollFetches(patience)
		done()
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if left.Add(-int64(fetches.NumRecords())) <= 0 {
			break
		}
	}
	return nil
}

// each runs the clients of a measurement and waits for all of them.
func each(clients int, run func(client int) error) error {
	var work errgroup.Group
	for client := range clients {
		work.Go(func() error { return run(client) })
	}
	return work.Wait()
}

func awaitRecords(ctx context.Context, t *target, topic string, n int64) error {
	cl, err := t.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		var sum int64
		ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		if sum >= n {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("only %d of %d records arrived", sum, n)
		}
	}
}

var topicNumber atomic.Int64

// freshTopic creates a topic and returns its name and what deletes it.
func freshTopic(ctx context.Context, t *target, partitions int) (string, func(), error) {
	cl, err := t.client()
	if err != nil {
		return "", nil, err
	}
	adm := kadm.NewClient(cl)
	name := fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), topicNumber.Add(1))
	if _, err := adm.CreateTopic(ctx, int32(partitions), 1, nil, name); err != nil {
		cl.Close()
		return "", nil, err
	}
	// A broker answers before the topic's leaders are ready, and then loses what
	// comes with acks=0.
	for {
		ends, err := adm.ListEndOffsets(ctx, name)
		if err != nil {
			cl.Close()
			return "", nil, err
		}
		if ends.Error() == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	var once sync.Once
	return name, func() {
		once.Do(func() {
			_, _ = adm.DeleteTopics(context.WithoutCancel(ctx), name)
			cl.Close()
		})
	}, nil
}

func bytesText(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
