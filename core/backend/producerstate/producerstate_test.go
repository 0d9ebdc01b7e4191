package producerstate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * 60 * 60 * 1000

// batchOf is the header of a producer's batch of two records.
func batchOf(id int64, sequence int32, offset int64) *record.Batch {
	return &record.Batch{ProducerID: id, BaseSequence: sequence, LastOffsetDelta: 1, Count: 2, BaseOffset: offset}
}

// A client that invents producer ids costs no more than so much memory, and does
// not push out those that are at work.
func TestProducersAreBounded(t *testing.T) {
	t.Parallel()
	forgot := map[int64]bool{}
	ps := &Table{Forgot: func(id int64) { forgot[id] = true }}
	ps.Add(batchOf(-5, 0, 0), 0, day) // idle ever since
	for i := range int64(3 * Max) {
		ps.Add(batchOf(i, 0, 2*i+2), i, day)
		ps.Add(batchOf(1<<40, int32(2*i), 1<<40+2*i), i, day)
		require.LessOrEqual(t, ps.Len(), Max)
	}
	require.NotNil(t, ps.Get(1<<40))
	require.NotNil(t, ps.Get(3*Max-1))
	require.Nil(t, ps.Get(-5))
	require.True(t, forgot[-5])
}

// So are those that come in by drafts.
func TestDraftsAreBounded(t *testing.T) {
	t.Parallel()
	ps := &Table{}
	for i := range int64(2 * Max) {
		d := ps.Draft(2 * i)
		d.Add(batchOf(i, 0, 2*i), i, day)
		d.Commit(2 * i)
		require.LessOrEqual(t, ps.Len(), Max)
	}
	require.NotNil(t, ps.Get(2*Max-1))
}

func TestProducersExpire(t *testing.T) {
	t.Parallel()
	ps := &Table{}
	ps.Add(batchOf(1, 0, 0), 0, day)
	ps.Add(batchOf(2, 0, 2), day, day)
	_, _, err := ps.Check(batchOf(1, 9, 0), day, day)
	require.ErrorIs(t, err, backend.ErrOutOfOrderSequence)
	_, duplicate, err := ps.Check(batchOf(1, 0, 0), day+1, day)
	require.NoError(t, err, "an expired producer is unknown: any sequence goes")
	require.False(t, duplicate)
	ps.Add(batchOf(1, 9, 4), day+1, day)
	_, duplicate, err = ps.Check(batchOf(1, 0, 0), day+1, day)
	require.ErrorIs(t, err, backend.ErrOutOfOrderSequence, "and its window begins anew")
	require.False(t, duplicate)
	ps.Expire(2*day+1, day)
	require.Nil(t, ps.Get(2))
	require.NotNil(t, ps.Get(1))
}

func TestCut(t *testing.T) {
	t.Parallel()
	changed, forgot := map[int64]bool{}, map[int64]bool{}
	ps := &Table{}
	ps.Add(batchOf(1, 0, 0), 0, day)
	ps.Add(batchOf(1, 2, 2), 0, day)
	ps.Add(batchOf(2, 0, 4), 0, day)
	ps.Changed, ps.Forgot = func(id int64) { changed[id] = true }, func(id int64) { forgot[id] = true }
	ps.Cut(2)
	require.Equal(t, map[int64]bool{1: true}, changed)
	require.Equal(t, map[int64]bool{2: true}, forgot)
	require.Equal(t, []Sent{{0, 1, 0}}, ps.Get(1).Sent())
	ps.Add(batchOf(1, 2, 2), 0, day)
	ps.Add(batchOf(1, 2, 2), 0, day)
	require.Equal(t, []Sent{{0, 1, 0}, {2, 3, 2}}, ps.Get(1).Sent(), "a log may be read again")
}

// What waits in front counts, moves with the offset that it gets, and leaves
// nothing when it is not stored.
func TestDraft(t *testing.T) {
	t.Parallel()
	ps := &Table{}
	ps.Add(batchOf(1, 0, 0), 0, day)
	d := ps.Draft(10)
	d.Add(batchOf(1, 2, 10), 0, day)
	d.Add(batchOf(2, 7, 12), 0, day)
	offset, duplicate, drafted, err := d.Check(batchOf(1, 2, 0), 0, day)
	require.NoError(t, err)
	require.True(t, duplicate)
	require.True(t, drafted)
	require.EqualValues(t, 10, offset)
	_, _, drafted, err = d.Check(batchOf(2, 7+3, 0), 0, day)
	require.ErrorIs(t, err, backend.ErrOutOfOrderSequence)
	require.True(t, drafted)
	_, duplicate, drafted, err = d.Check(batchOf(3, 0, 0), 0, day)
	require.NoError(t, err)
	require.False(t, duplicate)
	require.False(t, drafted)

	require.Equal(t, []Sent{{0, 1, 0}}, ps.Get(1).Sent(), "not yet")
	require.Nil(t, ps.Get(2))
	d.Commit(15)
	require.Equal(t, []Sent{{0, 1, 0}, {2, 3, 15}}, ps.Get(1).Sent())
	require.Equal(t, []Sent{{7, 8, 17}}, ps.Get(2).Sent())
}

// A draft decides as a table does into which its batches go at once.
func TestDraftIsATable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		direct, drafted := &Table{}, &Table{}
		next, now := int64(0), int64(0)
		for range rapid.IntRange(1, 6).Draw(rt, "sends") {
			shift := rapid.Int64Range(0, 3).Draw(rt, "shift")
			d, at := drafted.Draft(next), next
			for range rapid.IntRange(1, 8).Draw(rt, "batches") {
				now += rapid.Int64Range(0, 3).Draw(rt, "time")
				b := &record.Batch{
					ProducerID:      rapid.Int64Range(1, 2).Draw(rt, "id"),
					ProducerEpoch:   int16(rapid.IntRange(0, 2).Draw(rt, "epoch")),
					BaseSequence:    rapid.SampledFrom([]int32{0, 1, 2, 3, 4, 5, math.MaxInt32 - 1, math.MaxInt32}).Draw(rt, "sequence"),
					LastOffsetDelta: int32(rapid.IntRange(0, 1).Draw(rt, "records")),
				}
				offset, duplicate, err := direct.Check(b, now, 10)
				got, gotDuplicate, _, gotErr := d.Check(b, now, 10)
				if got >= next {
					got += shift
				}
				require.Equal(rt, err, gotErr)
				require.Equal(rt, duplicate, gotDuplicate)
				if duplicate {
					require.Equal(rt, offset, got)
				}
				if err != nil || duplicate {
					continue
				}
				b.BaseOffset = at
				d.Add(b, now, 10)
				b.BaseOffset += shift
				direct.Add(b, now, 10)
				at += int64(b.LastOffsetDelta) + 1
			}
			d.Commit(next + shift)
			next += 100
			require.Equal(rt, direct.Len(), drafted.Len())
			for id, p := range direct.byID {
				got := drafted.Get(id)
				require.Equal(rt, p.Sent(), got.Sent())
				require.Equal(rt, []int64{int64(p.Epoch), p.Seen}, []int64{int64(got.Epoch), got.Seen})
			}
		}
	})
}
