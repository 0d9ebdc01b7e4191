package iggy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"golang.org/x/sync/semaphore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

const (
	// messagesPerPoll bounds the count of a poll, whatever the bytes.
	messagesPerPoll = 10_000
	// firstMean is taken for the size of messages that nothing is known of.
	firstMean = 1 << 10
	// pollsPerRead bounds how often one read asks the server for more.
	pollsPerRead = 2
	// gapBytes is at least the size of a batch that stands for a gap.
	gapBytes = record.HeaderSize + 32
)

// readers is the part of a store for those who read.
type readers struct {
	cache    cache               // tail.go
	lookout  lookout             // poller.go
	skipped  atomic.Int64        // messages that could not be read
	repaired atomic.Int64        // batches that were sent again because of that
	faulty   faulty              // readmetrics.go
	batchers [2]sync.Pool        // of *batcher; the second for LogAppendTime
	polling  *semaphore.Weighted // ahead.go: polls that nobody has asked for yet
}

// batcher is a Batcher and the partition that it works for.
type batcher struct {
	message.Batcher
	of *partition
}

// codec is that of the batches that are made from messages.
func (s *Store) codec() record.Codec {
	return record.Codec(max(0, slices.Index(compressions, s.cfg.FetchCompression)))
}

// batch appends messages to dst as batches.
func (p *partition) batch(dst []byte, messages []iggcon.IggyMessage, want message.Want, appendTime bool) ([]byte, message.Batched) {
	pool := &p.store.batchers[0]
	if appendTime {
		pool = &p.store.batchers[1]
	}
	b, _ := pool.Get().(*batcher)
	if b == nil {
		b = &batcher{}
		b.Codec, b.LogAppendTime = p.store.codec(), appendTime
		b.Unreadable = func(offset int64, err error) { b.of.skip(offset, offset+1, err) }
	}
	b.of = p
	dst, done := b.Append(dst, messages, want)
	b.of = nil
	pool.Put(b)
	return dst, done
}

// replySize is what messages take in a reply.
func replySize(messages []iggcon.IggyMessage) (n int64) {
	for i := range messages {
		n += message.Size(&messages[i])
	}
	return n
}

// replyCost is what messages take in memory.
func replyCost(messages []iggcon.IggyMessage) int64 {
	return replySize(messages) + messageOverhead*int64(len(messages))
}

// sized takes in how large messages are: larger ones count at once, so that the
// next poll is not for too many. first says that they are those at the log's
// start, which tell only who knows nothing else.
func (p *partition) sized(messages []iggcon.IggyMessage, first bool) {
	sample := float64(replySize(messages)) / float64(len(messages))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mean == 0 || !first && sample > p.mean:
		p.mean = sample
	case !first:
		p.mean += (sample - p.mean) / 4
	}
}

// guess has the server say how large messages are before the first poll for more
// than one: it would read too many of them itself, too. One answer is for all
// partitions of the topic; without one, the first message has to do.
func (p *partition) guess(ctx context.Context) {
	p.mu.Lock()
	done := p.guessed
	p.guessed = true
	p.mu.Unlock()
	t := p.store.topicOf(p)
	if done || t == nil {
		return
	}
	details, err := p.store.server.Topic(ctx, p.at)
	if err != nil {
		return
	}
	for _, d := range details.Partitions {
		// Zeros mean nothing: the server may not have loaded the partition yet.
		if int(d.Id) >= len(t.partitions) || d.MessagesCount == 0 || d.SizeBytes == 0 {
			continue
		}
		q := t.partitions[d.Id]
		q.mu.Lock()
		if q == p || !q.guessed {
			q.guessed, q.mean = true, max(q.mean, float64(d.SizeBytes)/float64(d.MessagesCount))
		}
		q.mu.Unlock()
	}
}

// enlarge takes in that n messages were more than a reply may hold.
func (p *partition) enlarge(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mean = max(p.mean, float64(p.store.cfg.MaxReplyBytes)/float64(n))
}

// meanSize is what a message takes in a reply, as far as it is known.
func (p *partition) meanSize() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		return firstMean
	}
	return p.mean
}

// Read implements backend.Logs.
func (s *Store) Read(ctx context.Context, r backend.Read) ([]byte, backend.Bounds, error) {
	p, err := s.partition(ctx, r.Partition)
	if err != nil {
		return nil, backend.Bounds{}, err
	}
	bounds, err := p.boundsNear(ctx, r.Offset)
	if err != nil || r.Offset == bounds.End || r.MaxBytes <= 0 && !r.AtLeastOne {
		return nil, bounds, err
	}
	w := reading{p: p, r: r, bounds: bounds, out: r.Buf[:0], at: r.Offset}
	if t := s.topicOf(p); t != nil {
		w.appendTime = t.info.Config.LogAppendTime
	}
	err = w.run(ctx)
	if w.fromServer && s.topicOf(p) == nil {
		// Iggy takes names: it may be another topic's, made since under the same one.
		return nil, backend.Bounds{}, backend.ErrUnknownTopic
	}
	w.ahead()
	if errors.Is(err, backend.ErrOffsetOutOfRange) {
		bounds, _, _, _ = p.known(r.Offset)
		return nil, bounds, err
	}
	if len(w.out) == 0 {
		return nil, bounds, err
	}
	return w.out, bounds, nil // what came before an error is good
}

// reading is one call of Read.
type reading struct {
	p          *partition
	r          backend.Read
	bounds     backend.Bounds
	appendTime bool
	out        []byte
	at         int64 // what comes next
	polls      int
	fromServer bool      // there was something that the cache of batches had not
	batches    [16]*kept // so that a run of cached batches needs no memory
}

func (w *reading) room() int { return w.r.MaxBytes - len(w.out) }

// first reports whether the next batch comes in any case.
func (w *reading) first() bool { return len(w.out) == 0 && w.r.AtLeastOne }

func (w *reading) run(ctx context.Context) error {
	for w.at < w.bounds.End && (w.room() > 0 || w.first()) {
		here, next := w.p.store.cache.holds(&w.p.tail, w.at)
		if here {
			if w.cached() {
				continue
			}
			if here, _ = w.p.store.cache.holds(&w.p.tail, w.at); here {
				break // it does not fit
			}
			continue // it had to make room for others
		}
		more, err := w.stored(ctx, min(next, w.bounds.End))
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if len(w.out) == 0 && w.at > w.r.Offset {
		// Nothing but what cannot be read: consumers must get past it.
		gap := message.AppendGap(w.out, w.r.Offset, w.at-1)
		if w.r.AtLeastOne || len(gap) <= w.room() {
			w.out = gap
		}
	}
	return nil
}

// cached appends batches of the cache, and reports whether there were any.
func (w *reading) cached() bool {
	run, next := w.p.store.cache.run(w.batches[:0], &w.p.tail, w.at, w.bounds.End, w.room(), w.first())
	n := 0
	for _, k := range run {
		n += len(k.batch)
	}
	w.out = slices.Grow(w.out, n)
	for _, k := range run {
		w.out = append(w.out, k.batch...)
		k.loan.release()
	}
	moved := next > w.at
	w.at = next
	return moved
}

// stored appends batches of messages before until, which the server has, and
// reports whether to go on.
func (w *reading) stored(ctx context.Context, until int64) (more bool, err error) {
	p := w.p
	p.awaitAhead(ctx, w.at)
	reply, bytes := p.store.cache.takeRest(&p.tail, w.at)
	messages := between(reply.Messages, w.at, until)
	if len(messages) == 0 {
		// A second look is for what the first was short of, not for crumbs.
		if w.polls == pollsPerRead || len(w.out) > w.r.MaxBytes/2 {
			return false, nil
		}
		p.guess(ctx)
		count := w.count(until)
		if count == 0 && len(w.out) > 0 {
			return false, nil
		}
		w.polls++
		var next int64
		if reply, next, err = p.fetchReply(ctx, w.at, until, max(1, count)); err != nil {
			return false, err
		}
		messages = reply.Messages
		if len(messages) == 0 {
			// All before next is a gap; where it is long, it is told as it is.
			moved := next > w.at
			if len(w.out) == 0 {
				w.at = next
			}
			return moved && len(w.out) == 0, nil
		}
		bytes = replyCost(messages)
	}
	w.fromServer = true
	want := message.Want{From: w.at, MaxBytes: w.room(), AtLeastOne: w.first()}
	if len(w.out) == 0 {
		// What cannot be read in front of the first message is covered.
		want.From = w.r.Offset
	}
	var done message.Batched
	w.out, done = p.batch(w.out, messages, want, w.appendTime)
	if done.Messages > 0 {
		w.at = done.Next
	}
	rest := messages[done.Messages:]
	if len(rest) > 0 && (done.Messages == 0 || len(rest) >= len(messages)/4) {
		reply.Messages = rest
		p.store.cache.addRest(&p.tail, reply, bytes, p.store.cfg.CacheBytes)
	} else {
		reply.Release() // all that is wanted of it has been copied
	}
	return len(rest) == 0 && done.Messages > 0, nil
}

// ahead has the next poll made when this read was one of a row that needs polls.
func (w *reading) ahead() {
	if !w.fromServer || !w.p.follows(w.r.Offset, w.at) || w.at >= w.bounds.End {
		return
	}
	readable, gap := w.p.gaps.after(w.at)
	if here, next := w.p.store.cache.holds(&w.p.tail, w.at); !here && readable == w.at && !w.p.store.cache.rest(&w.p.tail, w.at) {
		w.p.pollAhead(w.at, worth(w.r.MaxBytes, w.p.meanSize(), min(next, gap, w.bounds.End)-w.at))
	}
}

// count is for how many messages to ask: no more than the room is worth.
func (w *reading) count(until int64) int {
	return worth(w.room(), w.p.meanSize(), until-w.at)
}

// worth is how many messages of a mean size fill some room, of those there are.
func worth(room int, mean float64, there int64) int {
	return int(min(float64(room)/mean, messagesPerPoll, float64(there)))
}

// Available implements backend.Logs.
func (s *Store) Available(ctx context.Context, id backend.Partition, offset, most int64) (int64, backend.Bounds, error) {
	p, err := s.partition(ctx, id)
	if err != nil {
		return 0, backend.Bounds{}, err
	}
	b, err := p.boundsNear(ctx, offset)
	if err != nil || offset == b.End || most <= 0 {
		return 0, b, err
	}
	readable, _ := p.gaps.after(offset)
	n := s.cache.count(&p.tail, readable, b.End, p.meanSize(), most)
	if readable > offset {
		n += gapBytes
	}
	return min(max(n, 1), most), b, nil
}

// tooLarge reports whether a reply was above what is taken from the server.
func tooLarge(err error) bool { return errors.Is(err, client.ErrReplyTooLarge) }
