package faults

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// partitions is how many each topic has.
	partitions = 4
	// pace is the time between two records of a partition.
	pace = 2 * time.Millisecond
)

// producer writes the numbers 0, 1, 2, … to each partition of its topic, in this order, and repeats what is not
// acknowledged until it is.
type producer struct {
	topic  string
	client *kgo.Client
	stop   func() // sends what is waiting, and returns when all is acknowledged

	mu     sync.Mutex
	sent   [partitions]int
	acked  [partitions][]int64 // the offset that each number got; they are acknowledged in order
	failed error
}

func startProducer(t *testing.T, addr, topic string, opts ...kgo.Opt) *producer {
	p := &producer{topic: topic}
	client, err := kgo.NewClient(append(opts,
		kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(-1), kgo.StopProducerOnDataLossDetected(), kgo.ProducerLinger(0),
		kgo.ProduceRequestTimeout(produceTimeout), kgo.RetryBackoffFn(backoff), kgo.MetadataMinAge(50*time.Millisecond))...)
	require.NoError(t, err)
	p.client = client
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	p.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		flush, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.Flush(flush); err != nil {
			p.fail(err)
		}
		client.Close()
	})
	t.Cleanup(p.stop)
	return p
}

// backoff is how long clients wait before they try again: little, as it is the server that is measured.
func backoff(int) time.Duration { return 50 * time.Millisecond }

func (p *producer) run(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for partition := range partitions {
			p.mu.Lock()
			number := p.sent[partition]
			full := number-len(p.acked[partition]) >= maxWaiting
			if !full {
				p.sent[partition]++
			}
			p.mu.Unlock()
			if full {
				continue
			}
			record := &kgo.Record{Partition: int32(partition), Value: strconv.AppendInt(nil, int64(number), 10)}
			p.client.Produce(context.Background(), record, p.done)
		}
	}
}

// maxWaiting bounds the records of a partition that wait for their acknowledgement.
const maxWaiting = 2000

func (p *producer) done(r *kgo.Record, err error) {
	if err != nil {
		p.fail(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked[r.Partition] = append(p.acked[r.Partition], r.Offset)
}

func (p *producer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// failure says why the producer gave up, if it did.
func (p *producer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// counts returns how many records of each partition are acknowledged.
func (p *producer) counts() (out [partitions]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, acked := range p.acked {
		out[partition] = len(acked)
	}
	return out
}

// total is the sum of counts.
func (p *producer) total() (sum int) {
	for _, n := range p.counts() {
		sum += n
	}
	return sum
}
