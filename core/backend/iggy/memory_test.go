package iggy

import (
	"bytes"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func TestLoanSizes(t *testing.T) {
	t.Parallel()
	last := -1
	for n := leastLoan; n < 1<<17; n++ {
		index, size := loanSize(n)
		require.GreaterOrEqual(t, size, n)
		require.LessOrEqual(t, size, n+n/sizesPerOctave+1)
		require.GreaterOrEqual(t, index, last, n)
		last = index
		again, same := loanSize(size)
		require.Equal(t, [2]int{index, size}, [2]int{again, same})
	}
	index, size := loanSize(1 << 31)
	require.Less(t, index, len(new(loans).sizes))
	require.Equal(t, 1<<31, size)
}

func TestLoans(t *testing.T) {
	t.Parallel()
	var l loans
	small, none := l.clone([]byte("abc"))
	require.Nil(t, none)
	require.Equal(t, "abc", string(small))
	none.use()
	none.release()
	require.EqualValues(t, 3, none.cost(3))

	want := bytes.Repeat([]byte("x"), leastLoan+1)
	got, one := l.clone(want)
	require.Equal(t, want, got)
	require.EqualValues(t, len(one.bytes), one.cost(len(got)))
	one.use()
	one.release()
	require.EqualValues(t, 1, one.users.Load(), "somebody still uses it")
	one.release()
	require.Zero(t, one.users.Load())
}

// Memory is not lent again while a reader copies it, however small the cache is.
func TestLentMemoryOfTheCache(t *testing.T) {
	t.Parallel()
	const writers, each, budget = 4, 300, 200 << 10
	var l loans
	var c cache
	var work sync.WaitGroup
	for w := range writers {
		p := &tail{}
		var offset int64
		var mu sync.Mutex // of offset
		work.Go(func() {
			for i := range each {
				b := recordtest.Values(string(bytes.Repeat([]byte{byte('a' + i%26)}, 5000*(1+w)))).Batch(t)
				var one *loan
				b.Bytes, one = l.clone(b.Bytes)
				b.SetBaseOffset(int64(i))
				c.addBatches(p, []record.Batch{b}, []*loan{one}, budget)
				one.release()
				mu.Lock()
				offset = int64(i)
				mu.Unlock()
			}
		})
		for range 2 {
			work.Go(func() {
				for range each {
					mu.Lock()
					at := offset
					mu.Unlock()
					run, _ := c.run(nil, p, at, math.MaxInt64, 1<<20, true)
					for _, k := range run {
						batch, _, err := record.Parse(bytes.Clone(k.batch))
						k.loan.release()
						if err != nil || !batch.ValidCRC() || batch.BaseOffset < at {
							t.Errorf("offset %d: %v, base offset %d", at, err, batch.BaseOffset)
						}
					}
				}
			})
		}
	}
	work.Wait()
	require.LessOrEqual(t, c.bytes, int64(budget))
}

// What a connection that was given up may still look at is never lent again.
func TestLostMemoryIsNotLent(t *testing.T) {
	t.Parallel()
	b := waiting{lost: true}
	_, b.loan = new(loans).clone(make([]byte, leastLoan))
	var c cache
	c.addBatches(&tail{}, []record.Batch{recordtest.Values("x").Batch(t)}, []*loan{b.loan}, 1<<20)
	require.EqualValues(t, 2, b.loan.users.Load())
	c.remove(c.kept.Front().Value.(*kept))
	require.EqualValues(t, 1, b.loan.users.Load(), "its writer keeps it for good")
}
