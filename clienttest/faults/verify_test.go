package faults

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

// stored is a record as it lies in a partition.
type stored struct {
	offset int64
	number int
}

// read returns all records of a topic, by partition.
func read(t *testing.T, o clienttest.Observer, addr, topic string) (out [partitions][]stored) {
	ends, err := o.Admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(fetchWait), kgo.KeepControlRecords())
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	whole := func() bool {
		for partition, records := range out {
			end, _ := ends.Lookup(topic, int32(partition))
			if end.Offset > 0 && (len(records) == 0 || records[len(records)-1].offset < end.Offset-1) {
				return false
			}
		}
		return true
	}
	for !whole() {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "reading %s", topic)
		fetches.EachRecord(func(r *kgo.Record) {
			number, err := strconv.Atoi(string(r.Value))
			require.NoError(t, err)
			out[r.Partition] = append(out[r.Partition], stored{r.Offset, number})
		})
	}
	return out
}

// damage is what is wrong with the records of a topic.
type damage struct {
	acked, lost, doubled, disordered int
}

func (d damage) String() string {
	return fmt.Sprintf("%d acknowledged, %d lost, %d doubled, %d out of order", d.acked, d.lost, d.doubled, d.disordered)
}

// compare looks for the acknowledged records of a producer in what is stored, from where its logs start. Each must
// be at its offset; numbers that are there again do not count as out of order.
func compare(p *producer, records [partitions][]stored, starts map[place]int64) (d damage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, found := range records {
		at, seen, last := map[int64]int{}, map[int]bool{}, -1
		for _, r := range found {
			at[r.offset] = r.number
			switch {
			case seen[r.number]:
				d.doubled++
			case r.number < last:
				d.disordered++
			}
			seen[r.number], last = true, max(last, r.number)
		}
		d.acked += len(p.acked[partition])
		for number, offset := range p.acked[partition] {
			if got, ok := at[offset]; offset >= starts[place{p.topic, int32(partition)}] && (!ok || got != number) {
				d.lost++
			}
		}
	}
	return d
}
