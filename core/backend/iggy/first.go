package iggy

import (
	"context"
	"errors"
	"fmt"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// A server that was killed between the writes of a message and of its index gives
// the offset of that message out again, and what gets it is acknowledged and can
// never be polled by its offset (salvage.go). Nothing shows that beforehand. So the
// first batch that goes to a partition by a connection, behind which there may be
// another server than before, goes alone, and its first message is read back before
// it is acknowledged and anybody sees it. When that cannot be read, what is in the
// log of the batch is void (void.go), and the batch is sent again, as a whole: its
// records lie side by side, and nothing of native clients between them. Whatever
// goes by the same connection after it needs no such care.

const (
	// misreadTries and misreadFor are how often in a row, and for how long, a message
	// that is in the log must be neither in an answer nor behind an error before the
	// server is taken to count wrongly, and not to be slow.
	misreadTries = 5
	misreadFor   = 2 * time.Second
	// misreadApart is how long there may be between two of these looks: longer than
	// producers wait until they try again.
	misreadApart = 10 * time.Second
	// looksForLast is how often one call looks for the last message.
	looksForLast = 3
)

// errMisread is for a partition whose messages the server looks for in the wrong
// places: it was killed when it wrote the first message of a segment.
var errMisread = fmt.Errorf("%w: the server does not find messages under the offsets that it gives them", backend.ErrStorage)

// placing is the way of a batch into the log.
type placing struct {
	p      *partition
	s      *sending
	from   int64  // the least offset that the batch can get
	torn   uint64 // the connection by which it went when it could not be read
	missed misses // looks that have found nothing where something must be
}

// first stores one batch, the first by its connection.
func (p *partition) first(ctx context.Context, s *sending) {
	s.messages = s.batches[0].messages
	g := placing{p: p, s: s, from: s.base}
	p.hold()
	f, err := g.run(ctx)
	p.letGo()
	if err != nil {
		p.fail(s.open(), err)
		return
	}
	p.finish(ctx, s, f.base, f.end)
}

// run sends the batch until it is there, and returns where. Errors are those of a
// backend.
func (g *placing) run(ctx context.Context) (found, error) {
	p, w := g.p, &g.p.writer
	for {
		if p.store.topicOf(p) == nil {
			return found{}, backend.ErrUnknownTopic
		}
		by, err := p.sendBy(ctx, 0, g.s.messages)
		var lost *client.Lost
		if errors.As(err, &lost) {
			g.s.batches[0].lost, by = true, 0
		} else if err != nil {
			return found{}, p.unsent(err)
		}
		f, err := g.look(ctx, lost)
		if err != nil {
			return f, err
		}
		if f.count == len(g.s.messages) {
			w.proven, w.denied = by, false
			return f, nil
		}
		if err := g.undo(ctx, f, by, lost == nil); err != nil {
			return f, err
		}
		if !g.s.batches[0].wanted() {
			return f, backend.ErrUnavailable
		}
	}
}

// look finds out what is in the log of the batch.
func (g *placing) look(ctx context.Context, lost *client.Lost) (f found, err error) {
	g.missed = misses{}
	err = g.p.insist(ctx, lost, func() (err error) {
		f, err = g.p.readBack(ctx, g.from, g.s.messages)
		if err != nil || !f.missed || lost != nil {
			return err
		}
		b, err := g.p.probe(ctx)
		switch {
		case err != nil:
			return err
		case b.Start > g.from: // retention was faster
			f.base, f.count = g.from, len(g.s.messages)
		case !g.missed.again(time.Now(), lasting{misreadTries, misreadFor, misreadApart}):
			return fmt.Errorf("%w: a message cannot be read back yet", backend.ErrUnavailable)
		}
		return nil
	})
	return f, err
}

// undo makes void what is in the log of a batch that went by a connection, 0 if the
// request was lost, and is not there as a whole. acked says that the server has
// acknowledged it.
func (g *placing) undo(ctx context.Context, f found, by uint64, acked bool) error {
	p := g.p
	void := f.void(acked, len(g.s.messages))
	switch {
	case acked && len(void) > 0 && by == g.torn, acked && len(void) == 0 && f.missed:
		return p.misread(g.from)
	case acked && len(void) == 0:
		return p.notThere(f.end, g.from+int64(len(g.s.messages)))
	case len(void) == 0:
		return nil // never executed
	}
	g.torn, g.from = by, void[len(void)-1].next
	p.store.repaired.Add(1)
	p.store.log.Warn("the Iggy server was killed in the middle of a write, and cannot read a message that it has acknowledged since; its batch is sent again, and its first offsets stay a gap",
		append(p.named(), zap.Int64("first", void[0].first), zap.Int64("last", g.from-1))...)
	return p.voids(ctx, void...)
}

// lastIsThere makes sure that the server finds the last message under its offset, so
// that what the log says about producers can be read by consumers, too. It gives a
// server that is slow to show it some time, and the next call goes on from there.
func (p *partition) lastIsThere(ctx context.Context) error {
	w := &p.writer
	pause := firstPause
	for look := 1; ; look++ {
		there, err := p.showsLast(ctx)
		if there || err != nil {
			w.missed = misses{}
			return unwritten(err)
		}
		if w.missed.again(time.Now(), lasting{misreadTries, misreadFor, misreadApart}) {
			return p.misread(w.next - 1)
		}
		if look == looksForLast {
			return fmt.Errorf("%w: a message cannot be read yet", backend.ErrUnavailable)
		}
		select {
		case <-ctx.Done():
			return unwritten(ctx.Err())
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// showsLast reports whether the server has something to say about the last message, or
// none any more.
func (p *partition) showsLast(ctx context.Context) (bool, error) {
	last := p.writer.next - 1
	polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(last)), 1)
	if withheld(err) || err == nil && len(polled.Messages) > 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	b, err := p.probe(ctx)
	return err == nil && b.Start > last, err // retention was faster
}

// misread has everything refused that is to be written to a partition where it
// would not be found.
func (p *partition) misread(offset int64) error {
	p.writer.misread = true
	p.store.log.Error("the Iggy server was killed when it wrote the first message of a segment, and finds no message of this segment any more: nothing is written to the partition; read what it has, delete the topic and make it anew",
		append(p.named(), zap.Int64("offset", offset))...)
	return errMisread
}

// named says in the log which partition it is.
func (p *partition) named() []zap.Field {
	return []zap.Field{zap.String("stream", p.at.Stream), zap.String("topic", p.at.Name), zap.Uint32("partition", p.index)}
}

// hold keeps from readers what is written from now on: they must not see what may
// become void.
func (p *partition) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.holding = p.end, true
}

// letGo ends hold.
func (p *partition) letGo() {
	p.mu.Lock()
	p.holding = false
	p.mu.Unlock()
	p.watchers.Wake()
}
