package iggy

import (
	"container/list"
	"math"
	"slices"
	"sort"
	"sync"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/record"
)

const (
	// keptOverhead is what an entry of the cache takes beside its bytes.
	keptOverhead = 256
	// messageOverhead is what a polled message takes beside its part of the reply.
	messageOverhead = 128
	// restsPerPartition is how many readers of one partition, at different
	// places, find the rest of their last poll again.
	restsPerPartition = 4
)

// cache keeps what was lately produced, as the producers made it, and what polls
// brought beyond what their readers had room for. All partitions share its
// budget; what came first goes first.
type cache struct {
	mu    sync.Mutex
	bytes int64
	kept  list.List // of *kept, the oldest in front
}

// tail is the cache's part of one partition. The cache's mu guards it.
type tail struct {
	batches []*kept // by offset; none overlaps another
	rests   []*kept
}

// kept is a batch, or the rest of a poll.
type kept struct {
	tail        *tail
	element     *list.Element
	first, next int64 // the offsets from first on and before next
	cost        int64
	batch       []byte // nil: a rest
	loan        *loan  // of the batch
	rest        client.Polled
}

// addBatches takes over batches with ascending offsets; lent are the loans of their
// memory, if any.
func (c *cache) addBatches(t *tail, batches []record.Batch, lent []*loan, budget int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range batches {
		if n := len(t.batches); n > 0 && b.BaseOffset < t.batches[n-1].next {
			c.clear(t) // an offset was given twice: the log is another one
		}
		// Where a timestamp is missing, Iggy shows the server's time: only a
		// poll knows it.
		if b.MaxTimestamp < 0 || b.BaseTimestamp < 0 && !b.LogAppendTime() {
			continue
		}
		k := &kept{tail: t, first: b.BaseOffset, next: b.LastOffset() + 1, batch: b.Bytes}
		if i < len(lent) {
			k.loan = lent[i]
		}
		k.cost = k.loan.cost(len(b.Bytes)) + keptOverhead
		if c.add(k, budget) {
			k.loan.use()
			t.batches = append(t.batches, k)
		}
	}
}

// addRest keeps messages for the next read at their first offset. They keep a
// whole reply in memory.
func (c *cache) addRest(t *tail, rest client.Polled, replyBytes, budget int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	messages := rest.Messages
	k := &kept{
		tail: t, first: offsetOf(&messages[0]), next: offsetOf(&messages[len(messages)-1]) + 1,
		rest: rest, cost: replyBytes + keptOverhead,
	}
	for len(t.rests) >= restsPerPartition {
		c.remove(t.rests[0])
	}
	if c.add(k, budget) {
		t.rests = append(t.rests, k)
	}
}

// add makes room and puts k on the list, unless it is larger than the budget.
func (c *cache) add(k *kept, budget int64) bool {
	if k.cost > budget {
		return false
	}
	for c.bytes+k.cost > budget {
		c.remove(c.kept.Front().Value.(*kept))
	}
	c.bytes += k.cost
	k.element = c.kept.PushBack(k)
	return true
}

func (c *cache) remove(k *kept) {
	c.kept.Remove(k.element)
	c.bytes -= k.cost
	k.loan.release()
	of := &k.tail.batches
	if k.batch == nil {
		of = &k.tail.rests
	}
	// The oldest of a partition is the first of its list.
	if i := slices.Index(*of, k); i == 0 {
		(*of)[0] = nil
		*of = (*of)[1:]
	} else if i > 0 {
		*of = slices.Delete(*of, i, i+1)
	}
}

// drop lets go of all of a partition.
func (c *cache) drop(t *tail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear(t)
}

// dropBefore lets go of what ends before an offset.
func (c *cache) dropBefore(t *tail, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(t.batches) > 0 && t.batches[0].next <= offset {
		c.remove(t.batches[0])
	}
	for i := len(t.rests) - 1; i >= 0; i-- {
		if k := t.rests[i]; k.next <= offset {
			c.remove(k)
		}
	}
}

func (c *cache) clear(t *tail) {
	for _, of := range [][]*kept{t.batches, t.rests} {
		for _, k := range of {
			c.kept.Remove(k.element)
			c.bytes -= k.cost
			k.loan.release()
		}
	}
	t.batches, t.rests = nil, nil
}

// seek returns the index of the first batch that ends behind the offset.
func (t *tail) seek(offset int64) int {
	return sort.Search(len(t.batches), func(i int) bool { return t.batches[i].next > offset })
}

// run appends to dst the batches of consecutive offsets from the one that
// contains the offset on, before end and up to room bytes, and returns where the
// next one would begin. The first comes in any case when atLeastOne. The caller
// releases their loans.
func (c *cache) run(dst []*kept, t *tail, offset, end int64, room int, atLeastOne bool) ([]*kept, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := t.seek(offset); i < len(t.batches); i++ {
		k := t.batches[i]
		if k.first > offset || k.first >= end || len(k.batch) > room && !atLeastOne {
			break
		}
		k.loan.use()
		dst, offset, room, atLeastOne = append(dst, k), k.next, room-len(k.batch), false
	}
	return dst, offset
}

// holds reports whether a batch contains the offset, and where the first batch
// behind it begins.
func (c *cache) holds(t *tail, offset int64) (here bool, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := t.seek(offset)
	switch {
	case i == len(t.batches):
		return false, math.MaxInt64
	case t.batches[i].first > offset:
		return false, t.batches[i].first
	}
	return true, t.batches[i].first
}

// count adds up from an offset to end: the bytes of batches, and the offsets for
// which there are none, which take mean bytes each. It stops at most.
func (c *cache) count(t *tail, offset, end int64, mean float64, most int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0.0
	for i := t.seek(offset); offset < end && sum < float64(most); i++ {
		if i == len(t.batches) {
			sum += float64(end-offset) * mean
			break
		}
		k := t.batches[i]
		if k.first > offset {
			sum += float64(min(k.first, end)-offset) * mean
		}
		if k.first < end {
			sum += float64(len(k.batch))
		}
		offset = k.next
	}
	return int64(min(math.Ceil(sum), float64(most)))
}

// rest reports whether takeRest would return something.
func (c *cache) rest(t *tail, offset int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(t.rests, func(k *kept) bool { return k.first <= offset && offset < k.next })
}

// takeRest returns and removes what was kept of messages from the offset on.
func (c *cache) takeRest(t *tail, offset int64) (rest client.Polled, replyBytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range t.rests {
		if k.first <= offset && offset < k.next {
			c.remove(k)
			messages := k.rest.Messages
			i := sort.Search(len(messages), func(i int) bool { return offsetOf(&messages[i]) >= offset })
			k.rest.Messages = messages[i:]
			return k.rest, k.cost - keptOverhead
		}
	}
	return client.Polled{}, 0
}

func offsetOf(m *iggcon.IggyMessage) int64 { return int64(m.Header.Offset) }

// appended tells readers that the batches, whose base offsets are set, are now
// in the log, one after another and the last before end: they are cached, and
// who watches is woken. The bytes are the reader's from then on, those of a loan
// until the cache lets them go.
func (p *partition) appended(batches []record.Batch, end int64, lent ...*loan) {
	p.grown(end) // first: nobody may get a record that lies behind the end
	p.store.cache.addBatches(&p.tail, batches, lent, p.store.cfg.CacheBytes)
	p.watchers.Wake()
}

// drop forgets what is kept of the records, and wakes who watches p: its topic is
// gone, or its log is another than it was.
func (p *partition) drop() {
	p.store.cache.drop(&p.tail)
	p.gaps.clear()
	p.watchers.Wake()
}
