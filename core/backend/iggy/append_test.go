package iggy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 2)
	require.Empty(t, f.Append(context.Background(), nil))
	out := f.Append(context.Background(), []backend.Append{
		{Partition: f.id(0), Batch: recordtest.Values("a", "b").Batch(t)},
		{Partition: f.id(1), Batch: recordtest.Values("c").Compressed(record.Zstd).Batch(t)},
		{Partition: f.id(0), Batch: recordtest.Values("d").Batch(t)},
		{Partition: f.id(7), Batch: recordtest.Values("e").Batch(t)},
	})
	require.Equal(t, []backend.Appended{stored(0), stored(0), stored(2)}, out[:3])
	require.ErrorIs(t, out[3].Err, backend.ErrUnknownPartition)
	require.Equal(t, []string{"a", "b", "d"}, f.values(0))
	require.Equal(t, []string{"c"}, f.values(1))
	f.freed(0)
	require.EqualValues(t, 3, f.knownEnd(f.part(0)))
}

// What waits while a request is on its way goes in the next one, in order.
func TestMerge(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	arrived, let := f.hold()
	all := []*appending{f.begin(0, recordtest.Values("first"))}
	require.Equal(t, 1, <-arrived)
	for i := range 50 {
		all = append(all, f.begin(0, recordtest.Values(fmt.Sprint(i), "and")))
	}
	let(2)
	for i, a := range all {
		require.Equal(t, stored(int64(max(0, 2*i-1))), a.wait(t))
	}
	require.Equal(t, []int{1, 100}, f.writes.sent())
	require.Len(t, f.values(0), 101)
	f.freed(0)
}

// Requests are bounded by bytes, and a batch above the bound goes alone.
func TestSendBytes(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, func(f *fakes) { f.cfg.SendBytes = 4 << 10 })
	arrived, let := f.hold()
	all := []*appending{f.begin(0, recordtest.Values("first"))}
	<-arrived
	for _, size := range []int{1500, 1500, 1500, 6000, 10} {
		all = append(all, f.begin(0, recordtest.Values(strings.Repeat("x", size))))
	}
	let(100)
	for i, a := range all {
		require.Equal(t, stored(int64(i)), a.wait(t))
	}
	require.Equal(t, []int{1, 2, 1, 1, 1}, f.writes.sent())
}

// A full queue has callers wait; what it holds is given back.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, func(f *fakes) { f.cfg.SendBytes = 1 << 10 })
	arrived, let := f.hold()
	batch := recordtest.Values(strings.Repeat("x", 1500))
	first, second := f.begin(0, batch), f.begin(0, batch)
	<-arrived
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	got := f.appendBy(ctx, 0, batch)
	require.ErrorIs(t, got.Err, context.DeadlineExceeded)
	require.NotErrorIs(t, got.Err, backend.ErrOutcomeUnknown)
	late := make(chan backend.Appended, 1)
	go func() { late <- f.append(0, batch) }()
	let(4)
	require.Equal(t, stored(0), first.wait(t))
	require.Equal(t, stored(1), second.wait(t))
	require.Equal(t, stored(2), <-late)
	huge := f.append(0, recordtest.Values(strings.Repeat("y", 100_000)))
	require.NoError(t, huge.Err, "a batch above all room")
	f.freed(0)
}

// A caller that goes takes back what is still in the queue; what is on its way is
// of unknown outcome, and is known when it is sent again.
func TestCallersGo(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	arrived, let := f.hold()
	onItsWay := f.begin(0, by(1, 0, "a"))
	<-arrived
	queued := f.begin(0, by(2, 0, "b"))
	stays := f.begin(0, by(3, 0, "c"))
	onItsWay.cancel()
	queued.cancel()
	got := onItsWay.wait(t)
	require.ErrorIs(t, got.Err, backend.ErrOutcomeUnknown)
	require.ErrorIs(t, got.Err, context.Canceled)
	got = queued.wait(t)
	require.ErrorIs(t, got.Err, context.Canceled)
	require.NotErrorIs(t, got.Err, backend.ErrOutcomeUnknown, "it will not be written")
	let(10)
	require.Equal(t, stored(1), stays.wait(t))
	require.Equal(t, twice(0), f.append(0, by(1, 0, "a")))
	require.Equal(t, []string{"a", "c"}, f.values(0))
	f.freed(0)
}

// The caller's bytes are its own again when Append returns, also when it has not
// waited for the end.
func TestBytesAreCopied(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	arrived, let := f.hold()
	ctx, cancel := context.WithCancel(context.Background())
	batch := recordtest.Values("precious").Batch(t)
	before := bytes.Clone(batch.Bytes)
	done := make(chan []backend.Appended)
	go func() { done <- f.Append(ctx, []backend.Append{{Partition: f.id(0), Batch: batch}}) }()
	<-arrived
	cancel()
	<-done
	require.Equal(t, before, batch.Bytes)
	clear(batch.Bytes)
	let(1)
	f.idle(0)
	require.Equal(t, []string{"precious"}, f.values(0))
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	bomb, value := recordtest.New(), make([]byte, 1<<20)
	for range maxBatchBytes>>20 + 1 {
		bomb.Records = append(bomb.Records, recordtest.Record{Value: value})
	}
	got := f.append(0, bomb.Compressed(record.Snappy))
	require.ErrorIs(t, got.Err, backend.ErrTooLarge)
	require.ErrorIs(t, got.Err, message.ErrTooLarge)
	require.Empty(t, f.writes.sent())
	f.freed(0)
}

// Records of native clients lie between ours.
func TestNativesBetween(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	f.writes.before, f.writes.after = []string{"n1", "n2"}, []string{"n3"}
	require.Equal(t, stored(3), f.append(0, by(1, 1, "b", "c")))
	f.writes.before, f.writes.after = nil, slices.Repeat([]string{"n"}, 12_000)
	require.Equal(t, stored(6), f.append(0, recordtest.Values("d", "e")))
	f.writes.after = nil
	f.writes.before = slices.Repeat([]string{"n"}, 12_000)
	require.Equal(t, stored(24_008), f.append(0, by(1, 3, "f")))
	require.Equal(t, twice(3), f.append(0, by(1, 1, "b", "c")))
	require.EqualValues(t, 24_009, f.knownEnd(f.part(0)))
}

// With iggy.sole_writer nobody is asked.
func TestSoleWriter(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("before")...)
	require.Equal(t, stored(1), f.append(0, recordtest.Values("a")))
	f.records.polls()
	require.Equal(t, stored(2), f.append(0, recordtest.Values("b", "c")))
	require.Equal(t, stored(4), f.append(0, by(7, 0, "d")))
	f.records.polls()
	require.Equal(t, stored(5), f.append(0, by(7, 1, "e")))
	require.Empty(t, f.records.polls())
	for _, fault := range []fault{lostWritten, lostUnwritten, lostLate} {
		f.writes.fails(fault)
		end := int64(len(f.values(0)))
		require.Equal(t, stored(end), f.append(0, recordtest.Values("x")))
	}
}

func TestLogAppendTime(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_750_000_000_123)
	f := newWriterFakes(t, 0+1, func(f *fakes) { f.opts.Now = func() time.Time { return now } })
	f.topic = f.create("stamped", 1, "message.timestamp.type", "LogAppendTime")
	got := f.append(0, recordtest.Values("a", "b"))
	require.Equal(t, backend.Appended{AppendTime: now.UnixMilli()}, got)
	f.records.mu.Lock()
	defer f.records.mu.Unlock()
	for at := range int64(2) {
		m := f.records.log(0).messages[at]
		ms, err := message.Timestamp(&m, true)
		require.NoError(t, err)
		require.Equal(t, now.UnixMilli(), ms)
	}
}

// Records from the future are announced before they are sent.
func TestLead(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	far := recordtest.Values("x").At(time.Now().Add(time.Hour).UnixMilli())
	f.ledger.fail(backend.ErrUnavailable)
	require.ErrorIs(t, f.append(0, far).Err, backend.ErrUnavailable)
	require.Empty(t, f.values(0))
	f.ledger.fail(nil)
	require.NoError(t, f.append(0, far).Err)
	require.GreaterOrEqual(t, f.lead(f.part(0)), int64(59*60*1000))
}

// A gateway that may have been replaced while it stood still sends nothing, so that
// what a producer has sent again elsewhere is not there twice.
func TestNothingIsSentByAFormerOwner(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.NoError(t, f.append(0, recordtest.Values("x")).Err)
	f.ledger.outdate(backend.ErrUnavailable)
	require.ErrorIs(t, f.append(0, recordtest.Values("y")).Err, backend.ErrUnavailable)
	require.Equal(t, []string{"x"}, f.values(0))
	f.ledger.outdate(nil)
	require.NoError(t, f.append(0, recordtest.Values("z")).Err)
	require.Equal(t, []string{"x", "z"}, f.values(0))
}

// The server refuses: what was merged with a batch that it does not take is not
// harmed.
func TestOneRefused(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	f.writes.each = func(ms []iggcon.IggyMessage) error {
		for i := range ms {
			if string(ms[i].Payload) == "bad" {
				return ierror.ErrTooBigUserHeaders
			}
		}
		return nil
	}
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	a := f.begin(0, by(1, 0, "a"))
	bad := f.begin(0, by(2, 0, "bad"))
	again := f.begin(0, by(2, 0, "bad"))
	follows := f.begin(0, by(2, 1, "after bad"))
	b := f.begin(0, by(1, 1, "b"))
	let(100)
	require.Equal(t, stored(0), first.wait(t))
	require.Equal(t, stored(1), a.wait(t))
	require.ErrorIs(t, bad.wait(t).Err, backend.ErrTooLarge)
	require.ErrorIs(t, again.wait(t).Err, backend.ErrTooLarge)
	require.Equal(t, stored(2), follows.wait(t), "a producer that is unknown begins with any sequence")
	require.Equal(t, stored(3), b.wait(t))
	f.freed(0)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want error
	}{
		{ierror.ErrTopicIdNotFound, backend.ErrUnknownTopic}, {ierror.ErrStreamIdNotFound, backend.ErrUnknownTopic},
		{ierror.ErrPartitionNotFound, backend.ErrUnknownPartition}, {ierror.ErrTooBigMessagePayload, backend.ErrTooLarge},
		{ierror.ErrUnauthorized, backend.ErrUnavailable}, {ierror.ErrUnauthenticated, backend.ErrUnavailable},
		{errors.New("odd"), backend.ErrOutcomeUnknown},
	} {
		f := newWriterFakes(t, 1)
		f.writes.each = func([]iggcon.IggyMessage) error { return c.err }
		for range 3 {
			require.ErrorIs(t, f.append(0, recordtest.Values("x")).Err, c.want, "%v", c.err)
		}
		logged := f.logs.FilterMessageSnippet("does not let the gateway write").Len()
		require.Equal(t, errors.Is(c.err, ierror.ErrUnauthorized), logged == 1, "%v: %d lines", c.err, logged)
		f.freed(0)
	}
}

// A topic that goes while batches wait, natively or by us.
func TestTopicGoes(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	queued := f.begin(0, recordtest.Values("queued"))
	f.goes()
	let(2)
	require.Equal(t, stored(0), first.wait(t))
	require.ErrorIs(t, queued.wait(t).Err, backend.ErrUnknownTopic)
	require.Equal(t, []string{"first"}, f.values(0), "nothing goes to a topic of the same name")
	require.ErrorIs(t, f.append(0, recordtest.Values("x")).Err, backend.ErrUnknownTopic)
}

// Close in the middle: every caller has an answer, and what was acknowledged by
// the server counts.
func TestCloseInTheMiddle(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 2)
	arrived, let := f.hold()
	onItsWay := f.begin(0, recordtest.Values("a"))
	<-arrived
	queued := f.begin(0, recordtest.Values("b"))
	f.writes.setAway(true)
	f.writes.fails()
	require.NoError(t, f.Store.Close())
	let(100)
	require.ErrorIs(t, onItsWay.wait(t).Err, backend.ErrUnavailable)
	require.ErrorIs(t, queued.wait(t).Err, backend.ErrUnavailable)
	require.ErrorIs(t, f.appendClosed().Err, backend.ErrUnavailable)
}

func (f *writerFakes) appendClosed() backend.Appended {
	return f.Append(context.Background(), []backend.Append{{Partition: f.id(0), Batch: recordtest.Values("x").Batch(f)}})[0]
}
