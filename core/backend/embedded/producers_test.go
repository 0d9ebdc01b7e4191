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

// The next checkpoint is told what has come and gone.
func TestProducersToSave(t *testing.T) {
	t.Parallel()
	ps := newProducers()
	ps.Add(batchOf(1, 0, 0), 0, day)
	ps.Add(batchOf(2, 0, 2), day, day)
	ps.Expire(day+1, day)
	require.Equal(t, []int64{1}, ps.forgotten)
	require.Contains(t, ps.dirty, int64(2))
}

func TestProducerValue(t *testing.T) {
	t.Parallel()
	ps := newProducers()
	for i := range int32(7) {
		ps.Add(batchOf(3, 2*i, int64(100+i)), 42, day)
		want := ps.Get(3)
		got, err := decodeProducer(3, encodeProducer(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	good := encodeProducer(ps.Get(3))
	for _, bad := range [][]byte{nil, good[:len(good)-1], append(good[:11:11], 0), good[:11], append([]byte{9}, good[1:]...)} {
		_, err := decodeProducer(3, bad)
		require.ErrorIs(t, err, errValue)
	}
}

func TestSegmentNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "7-00000000000000001234.log", segmentFile(7, 1234, 0))
	require.Equal(t, "7-00000000000000001234.5.log", segmentFile(7, 1234, 5))
	for _, generation := range []uint32{0, 1, 1<<32 - 1} {
		p, base, got, ok := parseSegmentFile(segmentFile(1<<30, 1<<62, generation))
		require.True(t, ok)
		require.EqualValues(t, 1<<30, p)
		require.EqualValues(t, 1<<62, base)
		require.Equal(t, generation, got)
	}
	for _, name := range []string{
		"", "x.log", "0-5.log", "-1-00000000000000000000.log", "0-00000000000000000000.log.torn",
		"00-00000000000000000000.log", "0-0000000000000000000x.log", "99999999999-00000000000000000000.log",
		"0-00000000000000000000.0.log", "0-00000000000000000000..log", "0-00000000000000000000.01.log", "0-00000000000000000000.4294967296.log",
	} {
		_, _, _, ok := parseSegmentFile(name)
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
