package oracle

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func produceSteps() []step {
	// send produces a batch, made anew each time, at every version.
	send := func(name string, min int16, batch func(v int16) []byte) step {
		return step{name: name, min: min, max: 13, build: func(s *side, v int16) kmsg.Request {
			return produce(s, mainTopic, -1, 0, batch(v))
		}}
	}
	good := func() recordtest.Batch { return recordtest.Values("a", "b", "c") }
	spoil := func(change func(b []byte) []byte) func(int16) []byte {
		return func(int16) []byte { return change(good().Bytes()) }
	}
	sealed := func(change func(b []byte)) func(int16) []byte {
		return spoil(func(b []byte) []byte { change(b); return recordtest.Seal(b) })
	}
	const attributes, lastDelta, maxTime, count = 21, 23, 35, 57
	steps := []step{
		send("plain", 3, spoil(slices.Clip)),
		{name: "null records", min: 9, max: 9, unanswered: true, build: func(s *side, _ int16) kmsg.Request { return produce(s, mainTopic, -1, 0, nil) }},
		send("empty records", 3, func(int16) []byte { return []byte{} }),
		send("short header", 3, spoil(func(b []byte) []byte { return b[:40] })),
		send("cut", 3, spoil(func(b []byte) []byte { return b[:len(b)-1] })),
		send("a trailing fragment", 3, spoil(func(b []byte) []byte { return append(b, 1, 2, 3) })),
		send("two batches", 3, spoil(func(b []byte) []byte { return append(b, good().Bytes()...) })),
		send("magic 0", 3, spoil(func(b []byte) []byte { b[16] = 0; return b })),
		send("magic 1", 3, spoil(func(b []byte) []byte { b[16] = 1; return b })),
		send("magic 3", 3, spoil(func(b []byte) []byte { b[16] = 3; return b })),
		send("bad CRC", 3, spoil(func(b []byte) []byte { b[18] ^= 1; return b })),
		send("base offset", 3, sealed(func(b []byte) { b[7] = 9 })),
		send("control bit", 3, sealed(func(b []byte) { b[attributes+1] |= 0x20 })),
		send("transactional bit", 3, sealed(func(b []byte) { b[attributes+1] |= 0x10 })),
		send("codec 6", 3, sealed(func(b []byte) { b[attributes+1] |= 6 })),
		send("no records counted", 3, sealed(func(b []byte) { binary.BigEndian.PutUint32(b[count:], 0) })),
		send("too many counted", 3, sealed(func(b []byte) { binary.BigEndian.PutUint32(b[count:], 4) })),
		send("last delta", 3, sealed(func(b []byte) { binary.BigEndian.PutUint32(b[lastDelta:], 7) })),
		send("wrong maximal time", 3, sealed(func(b []byte) { binary.BigEndian.PutUint64(b[maxTime:], 5) })),
		send("future", 3, func(int16) []byte { return good().At(4_000_000_000_000).Bytes() }),
		send("no time", 3, func(int16) []byte { return good().At(-1).Bytes() }),
		send("too large", 3, func(int16) []byte { return recordtest.Values(strings.Repeat("x", 1<<20)).Bytes() }),
		send("garbage for gzip", 3, func(int16) []byte { return good().Compressed(record.Gzip).WithPayload([]byte("not gzip")) }),
		send("a sequence without a start", 3, func(int16) []byte { return good().From(1, 0, -1).Bytes() }),
		{name: "a stranger", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return produce(s, "oracle-nobody", -1, 0, good().Bytes()) }},
		{name: "no such partition", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return produce(s, mainTopic, -1, 99, good().Bytes()) }},
		{name: "odd acks", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return produce(s, mainTopic, 2, 0, good().Bytes()) }},
		{name: "acks 0", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return produce(s, mainTopic, 0, 0, good().Bytes()) }},
		{name: "acks 0 that fails", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return produce(s, mainTopic, 0, 99, good().Bytes()) }},
		{name: "a null key where keys are due", min: 9, max: 9, build: func(s *side, _ int16) kmsg.Request { return produce(s, "fresh-v7", -1, 0, good().Bytes()) }},
	}
	for codec, name := range map[record.Codec]string{record.Gzip: "gzip", record.Snappy: "snappy", record.LZ4: "lz4"} {
		steps = append(steps, send(name, 3, func(int16) []byte { return good().Compressed(codec).Bytes() }))
	}
	slices.SortFunc(steps[len(steps)-3:], func(a, b step) int { return strings.Compare(a.name, b.name) })
	steps = append(steps, send("zstd", 3, func(int16) []byte { return good().Compressed(record.Zstd).Bytes() }))
	return append(steps, idempotentSteps()...)
}

// idempotentSteps tell one story of a producer, on a partition of its own.
func idempotentSteps() []step {
	const id = 4242
	send := func(name string, epoch int16, sequence int32) step {
		return step{name: "idempotent, " + name, min: 9, max: 9, build: func(s *side, _ int16) kmsg.Request {
			return produce(s, mainTopic, -1, 1, recordtest.Values("a", "b").From(id, epoch, sequence).Bytes())
		}}
	}
	return []step{
		send("any start", 3, 10),
		send("again", 3, 10),
		send("next", 3, 12),
		send("a gap", 3, 20),
		send("an old epoch", 2, 14),
		send("a new epoch in the middle", 4, 14),
		send("a new epoch", 4, 0),
		send("2", 4, 2), send("4", 4, 4), send("6", 4, 6), send("8", 4, 8), send("10", 4, 10),
		send("the fifth last again", 4, 2),
		send("the sixth last again", 4, 0),
	}
}

func fetchSteps() []step {
	look := func(name string, min int16, topic string, partition int32, offset int64, change ...func(*kmsg.FetchRequest)) step {
		return step{name: name, min: min, max: 18, build: func(s *side, v int16) kmsg.Request {
			r := fetch(s, topic, partition, offset)
			for _, c := range change {
				c(r)
			}
			return r
		}}
	}
	epoch := func(current, last int32) func(*kmsg.FetchRequest) {
		return func(r *kmsg.FetchRequest) {
			r.Topics[0].Partitions[0].CurrentLeaderEpoch, r.Topics[0].Partitions[0].LastFetchedEpoch = current, last
		}
	}
	return []step{
		look("from the start", 4, mainTopic, 1, 0),
		look("inside a batch", 4, mainTopic, 1, 3),
		look("at the end", 4, mainTopic, 2, 0),
		look("past the end", 4, mainTopic, 1, 1000),
		look("before the start", 4, mainTopic, 1, -1),
		look("a stranger", 4, "oracle-nobody", 0, 0),
		look("no such partition", 4, mainTopic, 99, 0),
		look("one byte", 4, mainTopic, 1, 0, func(r *kmsg.FetchRequest) { r.MaxBytes = 1; r.Topics[0].Partitions[0].PartitionMaxBytes = 1 }),
		look("negative sizes", 4, mainTopic, 1, 0, func(r *kmsg.FetchRequest) { r.MaxBytes = -1; r.Topics[0].Partitions[0].PartitionMaxBytes = -1 }),
		look("committed", 4, mainTopic, 1, 0, func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }),
		look("a future epoch", 9, mainTopic, 1, 0, epoch(5, -1)),
		look("an unknown session", 7, mainTopic, 1, 0, func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = 77, 3 }),
		look("a wait", 4, mainTopic, 2, 0, func(r *kmsg.FetchRequest) { r.MinBytes, r.MaxWaitMillis = 1, 50 }),
	}
}

func listOffsetsSteps() []step {
	ask := func(name string, min int16, topic string, partition int32, timestamps ...int64) step {
		return step{name: name, min: min, max: 11, build: func(*side, int16) kmsg.Request { return listOffsets(topic, partition, timestamps...) }}
	}
	return []step{
		ask("latest", 1, mainTopic, 1, -1),
		ask("earliest", 1, mainTopic, 1, -2),
		ask("max timestamp", 7, mainTopic, 1, -3),
		ask("max timestamp of an empty log", 7, mainTopic, 2, -3),
		ask("max timestamp before its version", 1, mainTopic, 1, -3),
		ask("earliest local", 8, mainTopic, 1, -4),
		ask("latest tiered", 9, mainTopic, 1, -5),
		ask("pending upload", 11, mainTopic, 1, -6),
		ask("by time", 1, mainTopic, 1, recordtest.Time),
		ask("by time zero", 1, mainTopic, 1, 0),
		ask("by a time to come", 1, mainTopic, 1, 3_000_000_000_000),
		ask("an odd special", 1, mainTopic, 1, -9),
		ask("twice", 1, mainTopic, 1, -1, -2),
		ask("a stranger", 1, "oracle-nobody", 0, -1),
		ask("no such partition", 1, mainTopic, 99, -1),
		{name: "a future epoch", min: 4, max: 11, build: func(*side, int16) kmsg.Request {
			r := listOffsets(mainTopic, 1, -1)
			r.Topics[0].Partitions[0].CurrentLeaderEpoch = 9
			return r
		}},
	}
}
