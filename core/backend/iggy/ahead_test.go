package iggy

import (
	"strings"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// offsetPolls returns the offsets that were polled from since the last call.
func (f *readerFakes) offsetPolls() (from []uint64) {
	for _, a := range f.records.polls() {
		if a.from.Kind == iggcon.POLLING_OFFSET && a.count > 0 {
			from = append(from, a.from.Value)
		}
	}
	return from
}

// Who follows a read finds the next poll made.
func TestPollsAhead(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	var ms []message.Message
	for range 100 {
		ms = append(ms, native(strings.Repeat("x", 900), 0))
	}
	f.records.add(0, 1, ms...)
	const each = 9000 // bytes: nine records
	next := int64(0)
	read := func() {
		got, _ := f.read(0, next, each)
		require.NotEmpty(t, got)
		require.Equal(t, next, got[0].Offset)
		next = got[len(got)-1].Offset + 1
	}
	read()
	f.records.polls()
	require.Nil(t, f.part(0).ahead.done, "one read is not a row")
	for next < 80 {
		read()
		at := next
		require.Eventually(t, func() bool { return f.cache.rest(&f.part(0).tail, at) }, 30*time.Second, time.Millisecond)
		before := f.offsetPolls()
		require.Equal(t, uint64(at), before[len(before)-1])
	}
	require.Len(t, f.consume(0, next, manyBytes), int(100-next))
}

// Without a budget nothing is kept, and so nothing is polled ahead.
func TestNoPollsAheadWithoutCache(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, noCache)
	f.records.add(0, 1, natives(numbers(1000)...)...)
	next := int64(0)
	for range 5 {
		got, _ := f.read(0, next, 1000)
		next = got[len(got)-1].Offset + 1
	}
	f.part(0).mu.Lock()
	defer f.part(0).mu.Unlock()
	require.Nil(t, f.part(0).ahead.done)
}

// A poll ahead that fails, or finds nothing, harms nobody.
func TestPollAheadThatFails(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives(numbers(100)...)...)
	f.part(0).pollAhead(50, 10)
	f.part(0).pollAhead(50, 10) // one is enough
	f.part(0).awaitAhead(t.Context(), 50)
	require.True(t, f.cache.rest(&f.part(0).tail, 50))
	f.part(0).pollAhead(1000, 10)
	f.part(0).awaitAhead(t.Context(), 1000)
	f.records.change(0, func(l *fakeLog) { l.torn[70] = true })
	f.part(0).pollAhead(65, 10)
	f.part(0).awaitAhead(t.Context(), 65)
	require.False(t, f.cache.rest(&f.part(0).tail, 65))
	require.Len(t, f.consume(0, 0, manyBytes), 99)
}
