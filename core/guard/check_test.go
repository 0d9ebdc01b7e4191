package guard_test

import (
	"context"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample has one field of every kind, narrowed in every way.
var sample = guard.Body(2,
	guard.Int16(),
	guard.String(),
	guard.String().NullableSince(1),
	guard.Bytes().Nullable(),
	guard.Int64().Since(1).Until(2),
	guard.Array[kmsg.MetadataRequestTopic](guard.String(), guard.Array[int32](guard.Int32())).NullableSince(1),
)

func body(t *testing.T, spaced string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(spaced, " ", ""))
	require.NoError(t, err)
	return b
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		body    string
		cost    int64
		rest    int
		err     error
	}{
		{"all empty", 0, "0000 0000 0000 FFFFFFFF 00000000", 16, 0, nil},
		{"a rest is ignored", 0, "0000 0000 0000 FFFFFFFF 00000000 AABB", 16, 2, nil},
		{"null where none may be", 0, "0000 FFFF 0000 FFFFFFFF 00000000", 0, 0, guard.ErrMalformed},
		{"null string below its version", 0, "0000 0000 FFFF FFFFFFFF 00000000", 0, 0, guard.ErrMalformed},
		{"null string from its version", 1, "0000 0000 FFFF FFFFFFFF 0000000000000000 00000000", 0, 0, nil},
		{"null array below its version", 0, "0000 0000 0000 FFFFFFFF FFFFFFFF", 0, 0, guard.ErrMalformed},
		{"a length of −2", 1, "0000 0000 FFFE FFFFFFFF 0000000000000000 00000000", 0, 0, guard.ErrMalformed},
		{"a string past the end", 0, "0000 0005 61", 0, 0, guard.ErrMalformed},
		{"two elements need 12 bytes", 0, "0000 0000 0000 FFFFFFFF 00000002 0000 00000000 0000 000000", 0, 0, guard.ErrMalformed},
		{"an element and its strings", 0, "0000 0001 61 0000 FFFFFFFF 00000001 0001 62 00000002 00000007 00000008",
			16 + 16 + sizeOfTopic + 16 + 8, 0, nil},
		{"flexible", 2, "0000 01 00 00 0000000000000000 01 00", 0, 0, nil},
		{"tags", 2, "0000 01 00 00 0000000000000000 01 02 05 01 AA 07 00", 336, 0, nil},
		{"nine tags", 2, "0000 01 00 00 0000000000000000 01 09" + strings.Repeat("01 00", 9), 9 * 180, 0, nil},
		{"more tags than bytes", 2, "0000 01 00 00 0000000000000000 01 7F 05 01 AA", 0, 0, guard.ErrMalformed},
		{"a varint of six bytes", 2, "0000 808080808000", 0, 0, guard.ErrMalformed},
		{"a varint of 33 bits", 2, "0000 FFFFFFFF1F", 0, 0, guard.ErrMalformed},
		{"no bytes at all", 2, "", 0, 0, guard.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := sample.Check(c.version, body(t, c.body), math.MaxInt64)
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				require.Equal(t, guard.Result{Cost: c.cost, Rest: c.rest}, res)
			}
		})
	}
}

// sizeOfTopic is the Go size of kmsg.MetadataRequestTopic on 64-bit machines:
// a 16-byte id, a pointer and a map.
const sizeOfTopic = 16 + 8 + 8

// A body that passes costs nothing to check, and neither does its limit.
func TestCheckDoesNotAllocate(t *testing.T) {
	b := body(t, "0000 0001 61 0000 FFFFFFFF 00000001 0001 62 00000002 00000007 00000008")
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = sample.Check(0, b, math.MaxInt64) }))
}

// A legal body built for growth: each 5-byte element decodes to a structure and
// a map. The walk stops at the limit instead of summing up to the end.
func TestCheckLimit(t *testing.T) {
	grow := guard.Body(0, guard.Array[kmsg.MetadataRequestTopic](guard.String()))
	const n = 1 << 16
	b := append([]byte{0x81, 0x80, 0x04}, strings.Repeat("\x02a\x01\x05\x00", n)...)
	b = append(b, 0)
	const each = sizeOfTopic + 16 + 336
	res, err := grow.Check(0, b, n*each)
	require.NoError(t, err)
	require.Equal(t, int64(n*each), res.Cost)
	res, err = grow.Check(0, b, 1<<20)
	require.ErrorIs(t, err, guard.ErrTooCostly)
	require.Less(t, res.Cost, int64(3<<20))
	_, err = grow.Check(0, b, n*each-1)
	require.ErrorIs(t, err, guard.ErrTooCostly)
}

// An element without a byte on the wire would make any count payable.
func TestElementsWithoutBytes(t *testing.T) {
	s := guard.Body(guard.NeverFlexible, guard.Array[int32](guard.Int32().Since(3)))
	_, err := s.Check(0, body(t, "7FFFFFFF"), math.MaxInt64)
	require.ErrorIs(t, err, guard.ErrMalformed)
}

func TestNullableStruct(t *testing.T) {
	s := guard.Body(0, guard.NullableStruct[kmsg.DescribeTopicPartitionsRequestCursor](guard.String(), guard.Int32()))
	res, err := s.Check(0, body(t, "FF 00"), math.MaxInt64)
	require.NoError(t, err)
	require.Zero(t, res.Cost)
	res, err = s.Check(0, body(t, "01 02 61 00000001 00 00"), math.MaxInt64)
	require.NoError(t, err)
	require.Equal(t, int64(32+16), res.Cost)
}

func TestBudget(t *testing.T) {
	ctx := context.Background()
	b := guard.NewBudget(100, 0, time.Millisecond)
	one, two := b.Lease(), b.Lease()
	require.NoError(t, one.Reserve(ctx, 60))
	require.NoError(t, one.Reserve(ctx, 40))
	require.ErrorIs(t, two.Reserve(ctx, 1), guard.ErrBudget, "spent")
	require.Equal(t, int64(100), one.Held())
	one.Release()
	one.Release()
	require.NoError(t, two.Reserve(ctx, 100), "everything came back, once")
	require.ErrorIs(t, one.Reserve(ctx, 101), guard.ErrBudget, "more than there is")
	require.NoError(t, one.Reserve(ctx, 0))
	require.NoError(t, one.Reserve(ctx, -5))

	gone, cancel := context.WithCancel(ctx)
	cancel()
	slow := guard.NewBudget(1, 0, time.Hour)
	holder, waiter := slow.Lease(), slow.Lease()
	require.NoError(t, holder.Reserve(ctx, 1))
	require.ErrorIs(t, waiter.Reserve(gone, 1), context.Canceled)
	var free guard.Lease
	require.NoError(t, free.Reserve(ctx, 1<<40), "the zero lease charges nothing")
	free.Release()
}

// Waiters are served in the order of their arrival, as soon as there is room.
func TestBudgetWaits(t *testing.T) {
	ctx := context.Background()
	b := guard.NewBudget(10, 0, time.Minute)
	holder, waiter := b.Lease(), b.Lease()
	require.NoError(t, holder.Reserve(ctx, 10))
	got := make(chan error)
	go func() { got <- waiter.Reserve(ctx, 5) }()
	select {
	case err := <-got:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	holder.Release()
	require.NoError(t, <-got)
	waiter.Release()
}

func FuzzCheck(f *testing.F) {
	f.Add(int16(0), []byte("\x00\x00\x00\x01a\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Add(int16(2), []byte("\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, version int16, b []byte) {
		res, err := sample.Check(version, b, 1<<20)
		if err == nil && (res.Rest < 0 || res.Rest > len(b) || res.Cost < 0 || res.Cost > 1<<20) {
			t.Fatalf("%+v", res)
		}
	})
}
