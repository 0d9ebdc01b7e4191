package iggy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// Batches of one request follow and repeat each other.
func TestMergedProducers(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 5, "a")))
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	f.writes.before = []string{"native"}
	newer := by(2, 0, "e")
	newer.ProducerEpoch = 1
	type step struct {
		a    *appending
		at   int64
		dup  bool
		fail error
	}
	var steps []step
	add := func(b recordtest.Batch, at int64, dup bool, fail error) {
		steps = append(steps, step{f.begin(0, b), at, dup, fail})
	}
	add(by(1, 6, "b", "c"), 4, false, nil)
	add(by(1, 6, "b", "c"), 4, true, nil)
	add(by(1, 8, "d"), 6, false, nil)
	add(by(1, 10, "gap"), 0, false, backend.ErrOutOfOrderSequence)
	add(by(2, 7, "x"), 7, false, nil)
	add(newer, 8, false, nil)
	add(by(2, 8, "old epoch"), 0, false, backend.ErrInvalidProducerEpoch)
	add(newer, 8, true, nil)
	add(by(1, 5, "a"), 0, true, nil)
	let(2)
	require.Equal(t, stored(2), first.wait(t), "behind a native one")
	for i, s := range steps {
		got := s.a.wait(t)
		if s.fail != nil {
			require.ErrorIs(t, got.Err, s.fail, "step %d", i)
			continue
		}
		require.Equal(t, backend.Appended{BaseOffset: s.at, AppendTime: -1, Duplicate: s.dup}, got, "step %d", i)
	}
	require.Equal(t, []int{1, 1, 5}, f.writes.sent())
	f.again()
	require.Equal(t, twice(4), f.append(0, by(1, 6, "b", "c")))
	require.Equal(t, twice(8), f.append(0, newer))
	f.freed(0)
}

// What is known of producers outlives the gateway: it is in the log.
func TestProducersAreFoundAgain(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 2)
	wrap := by(3, math.MaxInt32-1, "w1", "w2", "w3")
	for i := range int32(7) {
		require.NoError(t, f.append(0, by(1, 3*i, "a", "b", "c")).Err)
		f.records.add(0, f.writes.micros(), natives("n")...)
		require.NoError(t, f.append(0, recordtest.Values("plain")).Err)
	}
	require.NoError(t, f.append(0, wrap).Err)
	require.NoError(t, f.append(0, recordtest.Values("e").From(1, 1, 0)).Err)
	end := int64(len(f.values(0)))
	f.again()
	require.Equal(t, twice(end-4), f.append(0, wrap))
	require.Equal(t, twice(end-1), f.append(0, recordtest.Values("e").From(1, 1, 0)))
	require.ErrorIs(t, f.append(0, by(1, 18, "a", "b", "c")).Err, backend.ErrInvalidProducerEpoch)
	require.ErrorIs(t, f.append(0, recordtest.Values("e").From(1, 1, 2)).Err, backend.ErrOutOfOrderSequence)
	require.ErrorIs(t, f.append(0, by(3, math.MaxInt32, "w2", "w3")).Err, backend.ErrOutOfOrderSequence)
	require.Equal(t, stored(end), f.append(0, by(3, 1, "w4")))
	require.Equal(t, twice(end), f.append(0, by(3, 1, "w4")))
	f.records.add(0, f.writes.micros(), natives("n", "n")...)
	require.Equal(t, stored(end+3), f.append(0, recordtest.Values("e").From(1, 1, 1)))
	require.Equal(t, stored(0), f.append(1, by(1, 40, "partitions know nothing of each other")))
}

// The window of a restarted gateway is that of one that was not.
func TestWindowOfFive(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	for i := range int32(8) {
		require.NoError(t, f.append(0, by(1, 2*i, "a", "b")).Err)
	}
	f.again()
	for i := range int32(8) {
		got := f.append(0, by(1, 2*i, "a", "b"))
		if i < 3 {
			require.ErrorIs(t, got.Err, backend.ErrOutOfOrderSequence)
		} else {
			require.Equal(t, twice(int64(2*i)), got)
		}
	}
}

// Ids count only in messages that a gateway wrote.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	m := native("x", 0)
	m.Header.Id = message.NewID(1, 0, 7, true)
	f.records.add(0, f.writes.micros(), m)
	require.Equal(t, stored(1), f.append(0, by(1, 0, "a")))
}

func TestIdleProducersExpire(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(recordtest.Time)
	f := newWriterFakes(t, 1, func(f *fakes) {
		f.opts.Now = func() time.Time { return now }
		f.opts.ProducerExpiration = time.Hour
	})
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	now = now.Add(30 * time.Minute)
	require.Equal(t, stored(1), f.append(0, by(2, 0, "b")))
	now = now.Add(45 * time.Minute)
	f.again()
	require.Equal(t, twice(1), f.append(0, by(2, 0, "b")))
	require.Equal(t, stored(2), f.append(0, by(1, 0, "a")), "forgotten")
	now = now.Add(2 * time.Hour)
	require.Equal(t, stored(3), f.append(0, by(2, 7, "c")), "forgotten without a restart")
}

// No more of a log is read than is named, from its end on, and the batch at the
// limit whole.
func TestRebuildIsBounded(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	const size, each = 100_000, 40
	value := strings.Repeat("x", size)
	for i := range int32(14) {
		require.NoError(t, f.append(0, by(int64(i), 0, slices.Repeat([]string{value}, each)...)).Err)
	}
	f.again()
	f.records.polls()
	require.Equal(t, twice(13*each), f.append(0, by(13, 0, slices.Repeat([]string{value}, each)...)))
	read := int64(0)
	for _, a := range f.records.polls() {
		if a.from.Kind == iggcon.POLLING_OFFSET && a.from.Value < 14*each {
			read += int64(a.count)
		}
	}
	require.Greater(t, read, int64(rebuildBytes/size))
	require.Less(t, read, int64(2*rebuildBytes/size))
	p := f.part(0)
	require.Less(t, p.writer.producers.Len(), 12)
	require.NotNil(t, p.writer.producers.Get(13))
	for i := range int64(14) {
		if one := p.writer.producers.Get(i); one != nil {
			require.EqualValues(t, each-1, one.Sent()[0].Last)
			require.EqualValues(t, 0, one.Sent()[0].First, "whole")
		}
	}
}

// An offset that cannot be read in the middle of a batch does not hide it.
func TestRebuildOverUnreadable(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a", "b", "c")))
	f.records.change(0, func(l *fakeLog) { l.torn[1] = true })
	f.again()
	require.Equal(t, twice(0), f.append(0, by(1, 0, "a", "b", "c")))
	require.Equal(t, stored(3), f.append(0, by(1, 3, "d")))
}

// A log that cannot be read refuses idempotent producers, and nobody else.
func TestRebuildFails(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	f.again()
	require.Equal(t, stored(1), f.append(0, recordtest.Values("b")))
	f.records.fail(ierror.ErrUnauthorized)
	require.Error(t, f.append(0, by(1, 1, "c")).Err)
	f.records.fail(nil)
	require.Equal(t, twice(0), f.append(0, by(1, 0, "a")))
	require.Equal(t, stored(2), f.append(0, by(1, 1, "c")))
}

// Many partitions at once.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := newWriterFakes(t, n)
	for round := range int32(3) {
		var batches []backend.Append
		for i := range int32(n) {
			batches = append(batches, backend.Append{Partition: f.id(i), Batch: by(int64(i), round, fmt.Sprint(i)).Batch(t)})
		}
		if round == 1 {
			f.again()
		}
		for i, got := range f.Append(context.Background(), batches) {
			require.Equal(t, stored(int64(round)), got, "partition %d", i)
		}
	}
}
