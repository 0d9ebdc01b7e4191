package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// Setup is a backend under test, empty, and what can be done to it. A nil
// function says that the backend cannot do it; the tests that need it are
// skipped by name.
type Setup struct {
	Backend backend.Backend
	// Reopen ends the backend in order and returns one over the same data. It
	// replaces Backend.
	Reopen func() backend.Backend
	// Crash returns a backend over the data as kill -9 would leave it. It
	// replaces Backend.
	Crash func() backend.Backend
	// Retain applies retention now, instead of at the next turn of the clock.
	Retain func()
	// Verbatim: Read returns the batches as they were appended, byte for byte,
	// base offset and leader epoch apart. Otherwise only the records are
	// compared.
	Verbatim bool
	// KeepsProducers: the state of idempotent producers outlives Reopen and Crash.
	KeepsProducers bool
}

// Conform runs the suite that every backend passes. open makes an empty
// backend for each test and has it closed when that test ends.
func Conform(t *testing.T, open func(t testing.TB) Setup) {
	tests := []struct {
		name string
		run  func(*harness)
	}{
		{"topics are created and found", createTopics},
		{"topic configs take effect", topicConfigs},
		{"topics grow", growTopics},
		{"configs change one after another", alterTopics},
		{"compaction is accepted or refused", compaction},
		{"a deleted topic is gone", deleteTopics},
		{"append and read", appendAndRead},
		{"reads return whole batches", readLimits},
		{"reads out of range", readRange},
		{"unknown partitions", unknownPartitions},
		{"the caller owns the bytes", ownership},
		{"reads into a buffer", readBuffer},
		{"every codec", codecs},
		{"available counts what read returns", available},
		{"appends keep their order", appendOrder},
		{"a log starts at 0 while it gets its first records", appendFirst},
		{"a call that has ended appends nothing", appendEnded},
		{"idempotent producers", idempotence},
		{"look-up by time", findTime},
		{"the largest time", findMaxTime},
		{"append time", logAppendTime},
		{"watch", watch},
		{"watch sees a topic go", watchDelete},
		{"committed offsets", offsets},
		{"offsets of many groups", offsetGroups},
		{"offsets go with their topic", offsetsOfDeleted},
		{"ids are unique", ids},
		{"everything outlives a restart", restart},
		{"everything acknowledged outlives a crash", crash},
		{"retention by size", retentionBytes},
		{"retention by time", retentionMs},
		{"records are deleted", deleteRecords},
		{"all records are deleted", deleteAllRecords},
		{"a start within a batch", deleteWithinBatch},
		{"deleted records and producers", deleteKeepsProducers},
		{"a start outlives restarts and crashes", deleteOutlives},
		{"deleted records and topics", deleteAndTopics},
		{"deleted records and retention", deleteAndRetain},
		{"records are deleted among appends and reads", deleteTogether},
		{"a start passes who waits", deleteBeforeWaiting},
		{"producers are described", describeProducers},
		{"unknown partitions and tools", unknownForTools},
		{"the place of the logs", logDir},
		{"sizes of partitions", sizes},
		{"groups in order", eachGroup},
		{"many groups", manyGroups},
		{"large groups", largeGroups},
		{"groups outlive restarts and crashes", groupsOutlive},
		{"groups and deleted topics", groupsOfDeleted},
		{"entries", entries},
		{"many entries", manyEntries},
		{"entries outlive restarts and crashes", entriesOutlive},
		{"offsets expire", expireOffsets},
		{"offsets expire among commits", expireTogether},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&harness{t, open(t)})
		})
	}
}

// harness makes the tests short.
type harness struct {
	*testing.T
	Setup
}

// create makes a topic with configs given as name, value, name, value...
func (h *harness) create(name string, partitions int32, configs ...string) backend.Topic {
	h.Helper()
	overrides := map[string]string{}
	for i := 0; i+1 < len(configs); i += 2 {
		overrides[configs[i]] = configs[i+1]
	}
	topic, err := h.Backend.CreateTopic(h.Context(), backend.NewTopic{Name: name, Partitions: partitions, Overrides: overrides})
	require.NoError(h, err)
	return topic
}

// log makes a topic of one partition.
func (h *harness) log(name string, configs ...string) backend.Partition {
	h.Helper()
	return backend.Partition{Topic: h.create(name, 1, configs...).ID}
}

// append appends one batch.
func (h *harness) append(p backend.Partition, b recordtest.Batch) backend.Appended {
	h.Helper()
	out := h.Backend.Append(h.Context(), []backend.Append{{Partition: p, Batch: b.Batch(h)}})
	require.Len(h, out, 1)
	return out[0]
}

// store appends one batch, which must succeed, and returns its base offset.
func (h *harness) store(p backend.Partition, b recordtest.Batch) int64 {
	h.Helper()
	got := h.append(p, b)
	require.NoError(h, got.Err)
	return got.BaseOffset
}

// read reads with no limit to speak of.
func (h *harness) read(p backend.Partition, offset int64) []Record {
	h.Helper()
	b, _, err := h.Backend.Read(h.Context(), backend.Read{Partition: p, Offset: offset, MaxBytes: 64 << 20})
	require.NoError(h, err)
	return Records(h, b)
}

// readAll reads a log from its start to its end, as a consumer does.
func (h *harness) readAll(p backend.Partition) []Record {
	h.Helper()
	bounds := h.bounds(p)
	var all []Record
	for at := bounds.Start; at < bounds.End; {
		b, _, err := h.Backend.Read(h.Context(), backend.Read{Partition: p, Offset: at, MaxBytes: 64 << 10, AtLeastOne: true})
		require.NoError(h, err)
		batch := Records(h, b)
		require.NotEmpty(h, batch, "no progress at offset %d of %+v", at, bounds)
		for _, r := range batch {
			if r.Offset >= at {
				all = append(all, r)
			}
		}
		at = batch[len(batch)-1].Offset + 1
	}
	return all
}

func (h *harness) bounds(p backend.Partition) backend.Bounds {
	h.Helper()
	bounds, err := h.Backend.Bounds(h.Context(), p)
	require.NoError(h, err)
	return bounds
}

// values are those of the records.
func values(rs []Record) []string {
	var vs []string
	for _, r := range rs {
		vs = append(vs, string(r.Value))
	}
	return vs
}

// from is a batch of an idempotent producer with n records.
func from(id int64, epoch int16, sequence int32, n int) recordtest.Batch {
	return recordtest.Values(make([]string, n)...).From(id, epoch, sequence)
}

// split parses whole batches one after another.
func split(t testing.TB, b []byte) []record.Batch {
	t.Helper()
	var all []record.Batch
	for len(b) > 0 {
		one, rest, err := record.Parse(b)
		require.NoError(t, err)
		require.True(t, one.ValidCRC(), "the CRC of the batch at offset %d", one.BaseOffset)
		all, b = append(all, one), rest
	}
	return all
}
