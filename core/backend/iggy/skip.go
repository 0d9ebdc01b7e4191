package iggy

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

const (
	// rangesPerPartition is how many ranges of unreadable offsets are
	// remembered; what is forgotten is looked for again.
	rangesPerPartition = 256
	// pollsPerSearch bounds how long one read looks for what it cannot read; the
	// next one goes on from there.
	pollsPerSearch = 64
	// missingFor and missingTries are how long and how often an offset must be
	// missing from answers without an error before it is passed over: the server
	// has not said that it cannot read it.
	missingFor   = 2 * time.Second
	missingTries = 3
	// missingApart is how long there may be between two of these looks: longer than
	// a consumer is busy with what it got of other partitions, as it would otherwise
	// never come to the third.
	missingApart = time.Minute
)

// gaps are the offsets of a partition that cannot be read. Consumers pass over
// them as over what compaction has removed.
type gaps struct {
	mu     sync.Mutex
	ranges []span                    // ascending, apart from one another
	voids  []span                    // void.go; so are these
	saved  map[int64]message.Message // salvaged; polls end before them
	// missing is the offset that answers left out last.
	missing struct {
		offset int64
		misses
	}
}

// misses are looks in a row that have not found what must be there.
type misses struct {
	tries       int
	since, last time.Time // the first, and the latest
}

// lasting is how many misses in a row are too many.
type lasting struct {
	tries  int
	during time.Duration // from the first to the last, at least
	apart  time.Duration // two that are further from one another are not in a row
}

// again notes one more, and reports whether they are too many.
func (m *misses) again(now time.Time, p lasting) bool {
	if now.Sub(m.last) > p.apart {
		*m = misses{since: now}
	}
	m.tries, m.last = m.tries+1, now
	return m.tries >= p.tries && now.Sub(m.since) >= p.during
}

// span are the offsets from first on and before next.
type span struct{ first, next int64 }

// after returns the first offset from the given one on that is in no gap, and
// where the next gap begins.
func (g *gaps) after(offset int64) (readable, until int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for readable = -1; readable != offset; {
		// One of either kind may begin where one of the other ends.
		readable = offset
		offset, until = behind(g.voids, offset)
		next, begins := behind(g.ranges, offset)
		offset, until = next, min(until, begins)
	}
	return offset, until
}

// behind returns the first offset from the given one on that is in no range, and
// where the next range begins.
func behind(ranges []span, offset int64) (outside, next int64) {
	for _, r := range ranges {
		switch {
		case r.next <= offset:
		case r.first <= offset:
			offset = r.next
		default:
			return offset, r.first
		}
	}
	return offset, math.MaxInt64
}

// add adds a gap, and reports whether it is news.
func (g *gaps) add(first, next int64) (news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ranges, news = insert(g.ranges, span{first, next}); len(g.ranges) > rangesPerPartition {
		g.ranges = slices.Delete(g.ranges, 0, 1)
	}
	return news
}

// insert adds a range to others, which stay apart from one another, and reports
// whether it was not among them.
func insert(ranges []span, r span) (all []span, news bool) {
	i := 0
	for i < len(ranges) && ranges[i].next < r.first {
		i++
	}
	j := i
	for j < len(ranges) && ranges[j].first <= r.next {
		j++
	}
	if j > i {
		if ranges[i].first <= r.first && r.next <= ranges[i].next {
			return ranges, false
		}
		r = span{min(r.first, ranges[i].first), max(r.next, ranges[j-1].next)}
	}
	return slices.Replace(ranges, i, j, r), true
}

func (g *gaps) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ranges, g.saved = nil, nil
}

// stillMissing notes that an answer left an offset out, and reports whether that
// has gone on for so long that it is to be passed over.
func (g *gaps) stillMissing(offset int64, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := &g.missing
	if m.offset != offset {
		m.offset, m.misses = offset, misses{}
	}
	if !m.again(now, lasting{missingTries, missingFor, missingApart}) {
		return false
	}
	m.misses = misses{}
	return true
}

// skip passes over offsets for good: counted once, logged once.
func (p *partition) skip(first, next int64, why error) {
	if !p.gaps.add(first, next) {
		return
	}
	p.store.skipped.Add(next - first)
	p.store.log.Error("messages that cannot be read are left out for consumers",
		zap.String("stream", p.at.Stream), zap.String("topic", p.at.Name), zap.Uint32("partition", p.index),
		zap.Int64("first", first), zap.Int64("last", next-1), zap.Error(why))
}

// errMissing is why an offset is passed over that answers leave out.
var errMissing = errors.New("the server leaves it out of its answers")

// fetch is fetchReply for who keeps the messages.
func (p *partition) fetch(ctx context.Context, at, until int64, count int) (messages []iggcon.IggyMessage, next int64, err error) {
	reply, next, err := p.fetchReply(ctx, at, until, count)
	return reply.Messages, next, err
}

// fetchReply returns messages from an offset on: before until, at most count. It
// passes over what cannot be read. next is the offset behind what it has looked
// at; without messages everything before it is a gap. ErrOffsetOutOfRange when the
// log turns out to start behind at.
func (p *partition) fetchReply(ctx context.Context, at, until int64, count int) (reply client.Polled, next int64, err error) {
	budget := pollsPerSearch
	for budget > 0 {
		readable, gap := p.gaps.after(at)
		at = min(readable, until)
		n := min(int64(count), until-at, gap-at)
		if n <= 0 {
			return reply, at, nil
		}
		if saved, ok := p.gaps.next(at, at+n); ok {
			if n = offsetOf(&saved) - at; n == 0 {
				return client.Polled{Messages: []iggcon.IggyMessage{saved}}, at + 1, nil
			}
		}
		budget--
		polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(at)), uint32(n))
		switch {
		case tooLarge(err) && n > 1:
			p.enlarge(n)
			count = int(max(1, n/4))
			continue
		case client.Unreadable(err):
			found, err := p.search(ctx, at, at+n, &budget)
			if err != nil {
				return client.Polled{}, at, err
			}
			if found != nil {
				before := offsetOf(&found[0]) - at
				if before == 0 {
					return client.Polled{Messages: found}, at + 1, nil
				}
				count = min(count, int(before))
			}
			continue
		case err != nil:
			return client.Polled{}, at, err
		}
		polled.Messages = between(polled.Messages, at, until)
		if len(polled.Messages) == 0 || offsetOf(&polled.Messages[0]) > at {
			messages, again, err := p.absent(ctx, at, until, polled.Messages)
			if again {
				continue
			}
			if err != nil || len(messages) == 0 {
				return client.Polled{}, at, err
			}
			// They may be of another reply, so the memory of this one is not lent again.
			polled = client.Polled{Current: polled.Current, Messages: messages}
		}
		messages := polled.Messages
		p.sized(messages, false)
		return polled, offsetOf(&messages[len(messages)-1]) + 1, nil
	}
	return reply, at, nil
}

// between returns the messages with offsets from first on and before next.
func between(messages []iggcon.IggyMessage, first, next int64) []iggcon.IggyMessage {
	for len(messages) > 0 && offsetOf(&messages[0]) < first {
		messages = messages[1:]
	}
	for len(messages) > 0 && offsetOf(&messages[len(messages)-1]) >= next {
		messages = messages[:len(messages)-1]
	}
	return messages
}

// search finds the first offset of a range on account of which it cannot be
// polled, by halves. It salvages the message or skips the offset; where no half
// fails, the fault has passed.
func (p *partition) search(ctx context.Context, first, next int64, budget *int) (salvaged []iggcon.IggyMessage, err error) {
	for next-first > 1 {
		middle := first + (next-first)/2
		bad, err := p.fails(ctx, first, middle, budget)
		if err != nil {
			return nil, err
		}
		if bad != nil {
			next = middle
			continue
		}
		bad, err = p.fails(ctx, middle, next, budget)
		if err != nil || bad == nil {
			return nil, err
		}
		first = middle
	}
	// One offset: it is gone for good for every consumer, so look twice.
	bad, err := p.fails(ctx, first, next, budget)
	if err != nil || bad == nil {
		return nil, err
	}
	m, ok, err := p.salvage(ctx, first, budget)
	if err != nil {
		return nil, err
	}
	if ok {
		p.store.log.Warn("a message that polls by offset refuse was found by its time", append(p.named(), zap.Int64("offset", first))...)
		p.gaps.save(m)
		return []iggcon.IggyMessage{m}, nil
	}
	p.skip(first, next, bad)
	return nil, nil
}

// fails polls a range and returns the server's error when it cannot be read.
func (p *partition) fails(ctx context.Context, first, next int64, budget *int) (bad, err error) {
	*budget--
	_, err = p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(first)), uint32(next-first))
	if client.Unreadable(err) {
		return err, nil
	}
	if tooLarge(err) {
		return nil, nil // so it could be read
	}
	return nil, err
}

// absent looks into an answer that does not begin with the offset that was asked
// for, although the log ends behind it: retention has moved the start, or the
// server leaves something out. That is skipped only when it lasts, and is asked
// for again then; until then there are no messages.
func (p *partition) absent(ctx context.Context, at, until int64, behind []iggcon.IggyMessage) (messages []iggcon.IggyMessage, again bool, err error) {
	bounds, err := p.probe(ctx)
	if err != nil {
		return nil, false, err
	}
	if at < bounds.Start {
		return nil, false, outOfRange(at, bounds)
	}
	if len(behind) == 0 {
		polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(at)), 2)
		if err != nil && !client.Unreadable(err) {
			return nil, false, err
		}
		behind = between(polled.Messages, at, until)
		if len(behind) > 0 && offsetOf(&behind[0]) == at {
			return behind, false, nil
		}
	}
	if !p.gaps.stillMissing(at, time.Now()) {
		return nil, false, nil
	}
	next := until
	if len(behind) > 0 {
		next = offsetOf(&behind[0])
	}
	if next, err = p.firstAfter(ctx, at, next); err != nil {
		return nil, false, err
	}
	p.skip(at, next, errMissing)
	return nil, true, nil
}

// firstAfter returns the first offset behind a missing one that is there, next
// at the latest.
func (p *partition) firstAfter(ctx context.Context, missing, next int64) (int64, error) {
	for missing+1 < next {
		middle := missing + (next-missing)/2
		polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(middle)), 1)
		if err != nil && !client.Unreadable(err) {
			return 0, err
		}
		switch {
		case err != nil: // it is there, if not readable
			next = middle
		case len(polled.Messages) == 0:
			missing = middle
		case offsetOf(&polled.Messages[0]) > middle:
			missing, next = middle, min(next, offsetOf(&polled.Messages[0]))
		default:
			next = middle
		}
	}
	return next, nil
}
