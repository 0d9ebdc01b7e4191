package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record"
)

// The same was sent to a Kafka 4.4 broker, in the same batches and segments, by three
// producers; the batches that its cleaner left are the ones below. Records of the
// segment that is written to stay, and so does a last batch of a producer, without
// base timestamp; of a batch with tombstones the base timestamp is the horizon. A
// second round, when the horizon had passed and there was something new, took them.
func TestCompactAsKafka(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "delete.retention.ms", "3000", "min.cleanable.dirty.ratio", "0.01")
	var sequence [3]int32
	send := func(producer int, codec record.Codec, texts ...string) {
		batch := pairs(at.ms(), texts...).Compressed(codec).From(int64(producer), 0, sequence[producer])
		sequence[producer] += int32(len(texts))
		put(b, p, batch)
	}
	send(0, record.None, "a=1", "b=1", "a=2")
	send(1, record.LZ4, "c=1", "c=2", "long="+strings.Repeat("x", 300))
	roll(at)
	send(0, record.None, "b=2", "b=3")
	send(0, record.None, "d=1")
	send(2, record.None, "a=3", "b=4")
	roll(at)
	send(0, record.None, "d", "gone")
	send(1, record.LZ4, "c=3", "a=4", "b=5")
	roll(at)
	send(0, record.None, "x=1")
	roll(at)
	send(0, record.None, "x=2")
	at.add(10 * time.Second)
	b.store.Compact()
	require.Equal(t, []string{
		"3-5 n=1 attributes=0x3 sequence=0 5:long",
		"9-10 n=0 attributes=0x0 sequence=0 base=-1",
		fmt.Sprintf("11-12 n=2 attributes=0x40 sequence=6 base=%d 11:d 12:gone", at.ms()+3000),
		"13-15 n=3 attributes=0x0 sequence=3 13:c 14:a 15:b",
		"16-16 n=1 attributes=0x0 sequence=8 16:x",
		"17-17 n=1 attributes=0x0 sequence=9 17:x",
	}, headers(t, batches(t, b.store, p)))

	at.add(20 * time.Second)
	send(0, record.None, "x=3")
	roll(at)
	send(0, record.None, "x=4")
	b.store.Compact()
	require.Equal(t, []string{
		"3-5 n=1 attributes=0x3 sequence=0 5:long",
		"9-10 n=0 attributes=0x0 sequence=0 base=-1",
		"13-15 n=3 attributes=0x0 sequence=3 13:c 14:a 15:b",
		"18-18 n=1 attributes=0x0 sequence=10 18:x",
		"19-19 n=1 attributes=0x0 sequence=11 19:x",
	}, headers(t, batches(t, b.store, p)))
}

// headers writes batches as text: what a compaction may change.
func headers(t *testing.T, all []record.Batch) (out []string) {
	for _, one := range all {
		text := fmt.Sprintf("%d-%d n=%d attributes=%#x sequence=%d", one.BaseOffset, one.LastOffset(), one.Count, one.Attributes, one.BaseSequence)
		// Producers compress what they think is worth it, so of LZ4 only what was rewritten tells.
		if one.Count == 3 {
			text = strings.Replace(text, "0x3", "0x0", 1)
		}
		if _, ok := one.DeleteHorizon(); ok || one.Count == 0 {
			text += fmt.Sprint(" base=", one.BaseTimestamp)
		}
		require.NoError(t, one.Read(t.Context(), 1<<20, func(r *record.Record) error {
			text += fmt.Sprintf(" %d:%s", one.BaseOffset+int64(r.OffsetDelta), r.Key)
			return nil
		}))
		out = append(out, text)
	}
	return out
}
