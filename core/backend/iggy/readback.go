package iggy

import (
	"context"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// found is what can be read of messages that were sent in one request.
type found struct {
	base  int64 // the offset of the first of them
	count int   // of those that are there, one after another; 0: not even the first
	end   int64 // of the log
	// torn is what the server refuses to read, where the first of the messages is not
	// among the others.
	torn []refused
	// missed: there are offsets that the server has nothing to say about, and the
	// first of the messages is nowhere else.
	missed bool
}

// refused is an offset that cannot be read, and those behind it where the rest of the
// messages that were sent lies.
type refused struct {
	span
	ours, theirs bool // it is certain whose message has the offset
}

// readBack looks for messages that were sent in what the log has from an offset on.
// Unlike scan it takes the server at its word: what cannot be polled by its offset
// is not there.
func (p *partition) readBack(ctx context.Context, from int64, messages []message.Message) (f found, err error) {
	first := messages[0].Header.Id
	there, err := p.reads(ctx, from, first)
	if err != nil && !withheld(err) {
		return f, err
	}
	f.base = from
	if err == nil && there {
		p.mu.Lock()
		f.end = p.end
		p.mu.Unlock()
	} else if there, err = p.seek(ctx, &f, first); err != nil {
		return f, err
	} else if !there {
		return f, p.measure(ctx, &f, messages)
	}
	f.count, err = p.together(ctx, f.base, f.end, messages)
	return f, err
}

// reads reports whether a poll for one offset brings the message with an id, and
// nothing else. The end of the log is as new as the answer then.
func (p *partition) reads(ctx context.Context, offset int64, id message.ID) (bool, error) {
	polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(offset)), 1)
	return err == nil && len(polled.Messages) == 1 && offsetOf(&polled.Messages[0]) == offset && polled.Messages[0].Header.Id == id, err
}

// seek looks for a message from f.base on, and sets f but for the count.
func (p *partition) seek(ctx context.Context, f *found, id message.ID) (there bool, err error) {
	from := f.base
	if f.end, err = p.askEnd(ctx); err != nil {
		return false, err
	}
	for count := p.pieces(); from < f.end; {
		n := min(count, f.end-from)
		polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(from)), uint32(n))
		switch {
		case withheld(err) && n > 1:
			count = n / 2
			continue
		case withheld(err):
			f.torn = append(f.torn, refused{span: span{from, from + 1}})
			from, count = from+1, p.pieces()
			continue
		case err != nil:
			return false, err
		}
		next, there, err := p.pick(ctx, f, from, polled, id)
		if there || err != nil {
			return there, err
		}
		from = next
	}
	return false, nil
}

// measure finds out which offsets that cannot be read are those of the messages, and
// how much of the rest of them lies behind.
func (p *partition) measure(ctx context.Context, f *found, messages []message.Message) error {
	for i := range f.torn {
		t := &f.torn[i]
		if len(messages) > 1 && t.next < f.end {
			there, err := p.reads(ctx, t.next, messages[1].Header.Id)
			if err != nil && !withheld(err) {
				return err
			}
			if there {
				n, err := p.together(ctx, t.next, f.end, messages[1:])
				if err != nil {
					return err
				}
				t.next, t.ours = t.next+int64(n), true
				continue
			}
		}
		budget := pollsPerSearch
		m, ok, err := p.salvage(ctx, t.first, &budget)
		if err != nil {
			return err
		}
		t.ours = ok && m.Header.Id == messages[0].Header.Id
		t.theirs = ok && !t.ours
	}
	return nil
}

// void returns what is in the log of messages that are not there as a whole; acked
// says that the server has acknowledged them.
func (f found) void(acked bool, messages int) (void []span) {
	if f.count > 0 {
		return []span{{f.base, f.base + int64(f.count)}}
	}
	for _, t := range f.torn {
		if t.ours || acked && messages == 1 && !t.theirs {
			void = append(void, t.span)
		}
	}
	return void
}

// pick looks for a message in the answer to a poll from an offset on, and returns
// the offset behind what that tells of.
func (p *partition) pick(ctx context.Context, f *found, from int64, polled client.Polled, id message.ID) (next int64, there bool, err error) {
	messages := between(polled.Messages, from, f.end)
	if len(messages) == 0 || offsetOf(&messages[0]) > from {
		f.missed = true
	}
	if len(messages) == 0 {
		return from + 1, false, nil
	}
	for i := range messages {
		if messages[i].Header.Id != id {
			continue
		}
		// Where the server counts wrongly it is found in company alone.
		at := offsetOf(&messages[i])
		if there, err = p.reads(ctx, at, id); err != nil && !withheld(err) {
			return 0, false, err
		}
		if there {
			f.base, f.torn, f.missed = at, nil, false
			return 0, true, nil
		}
		f.missed = true
	}
	return offsetOf(&messages[len(messages)-1]) + 1, false, nil
}

// together counts how many of the messages lie in the log one after another, the
// first of them at base. A request is written whole, unless the server was killed
// meanwhile: then it may end early.
func (p *partition) together(ctx context.Context, base, end int64, messages []message.Message) (int, error) {
	last := len(messages) - 1
	if last == 0 {
		return 1, nil
	}
	if base+int64(last) < end {
		there, err := p.reads(ctx, base+int64(last), messages[last].Header.Id)
		if there || err != nil && !withheld(err) {
			return last + 1, err
		}
	}
	n := 0
	err := p.scan(ctx, base, min(end, base+int64(last)+1), forward, func(m *message.Message) bool {
		if m.Header.Id != messages[n].Header.Id || offsetOf(m) != base+int64(n) {
			return false
		}
		n++
		return true
	})
	return n, err
}
