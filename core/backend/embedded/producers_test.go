package embedded

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

const day = 24 * 60 * 60 * 1000

// batchOf is the header of a producer's batch of two records.
func batchOf(id int64, sequence int32, offset int64) *record.Batch {
	return &record.Batch{ProducerID: id, BaseSequence: sequence, LastOffsetDelta: 1, Count: 2, BaseOffset: offset}
}

// TestProducersAreBounded: a client that invents producer ids costs no more
// than so much memory, and does not push out those that are at work.
func TestProducersAreBounded(t *testing.T) {
	t.Parallel()
	ps := &producers{byID: map[int64]*producer{}}
	ps.add(batchOf(-5, 0, 0), 0, day) // idle ever since
	for i := range int64(3 * producersMax) {
		ps.add(batchOf(i, 0, 2*i+2), i, day)
		ps.add(batchOf(1<<40, int32(2*i), 1<<40+2*i), i, day)
		require.LessOrEqual(t, len(ps.byID), producersMax)
	}
	require.Contains(t, ps.byID, int64(1<<40))
	require.Contains(t, ps.byID, int64(3*producersMax-1))
	require.NotContains(t, ps.byID, int64(-5))
	require.Contains(t, ps.forgotten, int64(-5), "and leaves the disk with the next checkpoint")
}

func TestProducersExpire(t *testing.T) {
	t.Parallel()
	ps := &producers{byID: map[int64]*producer{}}
	ps.add(batchOf(1, 0, 0), 0, day)
	ps.add(batchOf(2, 0, 2), day, day)
	_, _, err := ps.check(batchOf(1, 9, 0), day, day)
	require.ErrorIs(t, err, backend.ErrOutOfOrderSequence)
	_, duplicate, err := ps.check(batchOf(1, 0, 0), day+1, day)
	require.NoError(t, err, "an expired producer is unknown: any sequence goes")
	require.False(t, duplicate)
	ps.add(batchOf(1, 9, 4), day+1, day)
	_, duplicate, err = ps.check(batchOf(1, 0, 0), day+1, day)
	require.ErrorIs(t, err, backend.ErrOutOfOrderSequence, "and its window begins anew")
	require.False(t, duplicate)
	ps.expire(2*day+1, day)
	require.NotContains(t, ps.byID, int64(2))
	require.Contains(t, ps.byID, int64(1))
}

func TestProducerValue(t *testing.T) {
	t.Parallel()
	ps := &producers{byID: map[int64]*producer{}}
	for i := range int32(7) {
		ps.add(batchOf(3, 2*i, int64(100+i)), 42, day)
		want := ps.byID[3]
		got, err := decodeProducer(3, want.encode())
		require.NoError(t, err)
		got.dirty = want.dirty
		got.window = want.window
		require.Equal(t, want, got)
		again, err := decodeProducer(3, want.encode())
		require.NoError(t, err)
		require.Equal(t, want.window[:want.count], again.window[:again.count])
	}
	good := ps.byID[3].encode()
	for _, bad := range [][]byte{nil, good[:len(good)-1], append(good[:11:11], 0), good[:11], append([]byte{9}, good[1:]...)} {
		_, err := decodeProducer(3, bad)
		require.ErrorIs(t, err, errValue)
	}
}

func TestSegmentNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "7-00000000000000001234.log", segmentFile(7, 1234))
	p, base, ok := parseSegmentFile(segmentFile(1<<30, 1<<62))
	require.True(t, ok)
	require.EqualValues(t, 1<<30, p)
	require.EqualValues(t, 1<<62, base)
	for _, name := range []string{
		"", "x.log", "0-5.log", "-1-00000000000000000000.log", "0-00000000000000000000.log.torn",
		"00-00000000000000000000.log", "0-0000000000000000000x.log", "99999999999-00000000000000000000.log",
	} {
		_, _, ok := parseSegmentFile(name)
		require.False(t, ok, name)
	}
}

func TestOffsetKeys(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"", "a", "a\x00", "\xff\xff"} {
		p := backend.Partition{Index: 7}
		got, gotPartition, ok := splitOffset(offsetKey(group, p))
		require.True(t, ok)
		require.Equal(t, group, got)
		require.Equal(t, p, gotPartition)
	}
	_, _, ok := splitOffset([]byte{keyOffset, 0, 0, 0, 200, 1})
	require.False(t, ok)
	require.Nil(t, prefixEnd([]byte{0xff, 0xff}))
	require.Equal(t, []byte{1}, prefixEnd([]byte{0, 0xff}))
}
