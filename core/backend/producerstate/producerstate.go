// Package producerstate is what a partition knows about idempotent producers,
// and how it decides about their batches: Kafka's rules of KIP-98. It keeps the
// last five batches of each producer, does no I/O, and is not safe for
// concurrent use.
package producerstate

import (
	"slices"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

const (
	// Window is how many batches of a producer are remembered.
	Window = 5
	// Max is how many producers a table remembers. Beyond it those that were
	// idle longest are forgotten, as if they had expired.
	Max = 5000
)

// Sent is a batch that has been stored.
type Sent struct {
	First, Last int32 // sequence numbers
	Offset      int64 // base offset
}

// Producer is what is known of one producer. Its window is never empty once it
// is in a table.
type Producer struct {
	ID    int64
	Epoch int16
	Seen  int64 // when it last stored a batch, ms since the epoch

	count  int8
	window [Window]Sent // the latest last
}

// NewProducer returns a producer with the last batches that it stored, of which
// at most Window are kept.
func NewProducer(id int64, epoch int16, seen int64, sent ...Sent) *Producer {
	p := &Producer{ID: id, Epoch: epoch, Seen: seen}
	for _, s := range sent {
		p.push(s)
	}
	return p
}

// Sent returns the batches that are remembered, the latest last. The slice is
// the producer's own.
func (p *Producer) Sent() []Sent { return p.window[:p.count] }

func (p *Producer) latest() *Sent { return &p.window[p.count-1] }

func (p *Producer) push(s Sent) {
	if p.count == Window {
		copy(p.window[:], p.window[1:])
		p.count--
	}
	p.window[p.count] = s
	p.count++
}

// check decides about a batch; p may be nil.
func (p *Producer) check(b *record.Batch, now, expiration int64) (offset int64, duplicate bool, err error) {
	if p == nil || now-p.Seen > expiration {
		return 0, false, nil
	}
	switch {
	case b.ProducerEpoch < p.Epoch:
		return 0, false, backend.ErrInvalidProducerEpoch
	case b.ProducerEpoch > p.Epoch:
		if b.BaseSequence != 0 {
			return 0, false, backend.ErrOutOfOrderSequence
		}
		return 0, false, nil
	}
	for _, s := range p.Sent() {
		if s.First == b.BaseSequence && s.Last == b.LastSequence() {
			return s.Offset, true, nil
		}
	}
	// 0 follows 2^31−1.
	if b.BaseSequence != int32((int64(p.latest().Last)+1)&(1<<31-1)) {
		return 0, false, backend.ErrOutOfOrderSequence
	}
	return 0, false, nil
}

// add notes a stored batch, and reports whether it was new.
func (p *Producer) add(b *record.Batch, now, expiration int64) bool {
	switch {
	case p.count == 0:
		p.Epoch = b.ProducerEpoch
	case p.latest().Offset >= b.BaseOffset:
		return false
	case b.ProducerEpoch != p.Epoch || now-p.Seen > expiration:
		p.Epoch, p.count = b.ProducerEpoch, 0
	}
	p.push(Sent{b.BaseSequence, b.LastSequence(), b.BaseOffset})
	p.Seen = now
	return true
}

// Table holds the producers of one partition. The zero value has none.
type Table struct {
	byID map[int64]*Producer
	// Changed and Forgot, unless nil, are told of every producer that has stored
	// a batch or lost one, and of every one that is forgotten.
	Changed, Forgot func(id int64)
}

// Len returns the number of producers.
func (t *Table) Len() int { return len(t.byID) }

// Get returns a producer, or nil.
func (t *Table) Get(id int64) *Producer { return t.byID[id] }

// Put adds a producer as it is, and tells nobody. One without batches is left
// out.
func (t *Table) Put(p *Producer) {
	if p.count == 0 {
		return
	}
	if t.byID == nil {
		t.byID = map[int64]*Producer{}
	}
	t.byID[p.ID] = p
}

// Check decides about a batch of an idempotent producer. For one that is stored
// already it returns the offset of the original. backend.ErrOutOfOrderSequence,
// backend.ErrInvalidProducerEpoch. now is in ms since the epoch, expiration in
// ms.
func (t *Table) Check(b *record.Batch, now, expiration int64) (offset int64, duplicate bool, err error) {
	return t.byID[b.ProducerID].check(b, now, expiration)
}

// Add notes a batch that has been stored. Batches that it knows already are
// left alone, so that a log may be read again.
func (t *Table) Add(b *record.Batch, now, expiration int64) {
	p := t.byID[b.ProducerID]
	if p == nil {
		t.room()
		p = &Producer{ID: b.ProducerID}
	}
	if p.add(b, now, expiration) {
		t.Put(p)
		t.changed(p.ID)
	}
}

// Cut forgets batches at or behind an offset: the log no longer has them.
func (t *Table) Cut(end int64) {
	for _, p := range t.byID {
		n := p.count
		for p.count > 0 && p.latest().Offset >= end {
			p.count--
		}
		switch {
		case p.count == 0:
			t.forget(p.ID)
		case p.count < n:
			t.changed(p.ID)
		}
	}
}

// Expire forgets producers that were idle too long.
func (t *Table) Expire(now, expiration int64) {
	for _, p := range t.byID {
		if now-p.Seen > expiration {
			t.forget(p.ID)
		}
	}
}

// room makes room for a producer: a tenth goes, so that it is not done for every
// batch.
func (t *Table) room() {
	if len(t.byID) < Max {
		return
	}
	seen := make([]int64, 0, len(t.byID))
	for _, p := range t.byID {
		seen = append(seen, p.Seen)
	}
	slices.Sort(seen)
	until, left := seen[len(seen)/10], len(seen)/10+1
	for _, p := range t.byID {
		if p.Seen <= until && left > 0 {
			t.forget(p.ID)
			left--
		}
	}
}

func (t *Table) changed(id int64) {
	if t.Changed != nil {
		t.Changed(id)
	}
}

func (t *Table) forget(id int64) {
	delete(t.byID, id)
	if t.Forgot != nil {
		t.Forgot(id)
	}
}
