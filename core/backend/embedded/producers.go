package embedded

import (
	"encoding/binary"
	"slices"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

const (
	// windowSize is how many batches of a producer are remembered (KIP-98).
	windowSize = 5
	// producersMax is how many producers a partition remembers. Beyond it those
	// that were idle longest are forgotten, as if they had expired.
	producersMax = 5000
)

// producers is what a partition knows about idempotent producers. The
// partition's w guards it.
type producers struct {
	byID map[int64]*producer
	// forgotten are ids whose keys the next checkpoint deletes.
	forgotten []int64
	dirty     []*producer
}

type producer struct {
	id     int64
	epoch  int16
	count  int8 // batches in the window
	dirty  bool // on the list of dirty ones
	seen   int64
	window [windowSize]sent // the last batches, the latest last
}

// sent is a batch that has been stored.
type sent struct {
	first, last int32 // sequence numbers
	offset      int64 // base offset
}

func (p *producer) latest() *sent { return &p.window[p.count-1] }

// check decides about a batch. For a duplicate it returns the offset of the
// original.
func (ps *producers) check(b *record.Batch, now, expiration int64) (offset int64, duplicate bool, err error) {
	p := ps.byID[b.ProducerID]
	if p == nil || now-p.seen > expiration {
		return 0, false, nil
	}
	switch {
	case b.ProducerEpoch < p.epoch:
		return 0, false, backend.ErrInvalidProducerEpoch
	case b.ProducerEpoch > p.epoch:
		if b.BaseSequence != 0 {
			return 0, false, backend.ErrOutOfOrderSequence
		}
		return 0, false, nil
	}
	for _, s := range p.window[:p.count] {
		if s.first == b.BaseSequence && s.last == b.LastSequence() {
			return s.offset, true, nil
		}
	}
	// 0 follows 2^31−1.
	if b.BaseSequence != int32((int64(p.latest().last)+1)&(1<<31-1)) {
		return 0, false, backend.ErrOutOfOrderSequence
	}
	return 0, false, nil
}

// add notes a batch that has been stored. Batches that it knows already are
// left alone, so that a log may be read again.
func (ps *producers) add(b *record.Batch, now, expiration int64) {
	p := ps.byID[b.ProducerID]
	switch {
	case p == nil:
		if len(ps.byID) >= producersMax {
			ps.forgetIdle()
		}
		p = &producer{id: b.ProducerID, epoch: b.ProducerEpoch}
		ps.byID[p.id] = p
	case p.latest().offset >= b.BaseOffset:
		return
	case b.ProducerEpoch != p.epoch || now-p.seen > expiration:
		p.epoch, p.count = b.ProducerEpoch, 0
	}
	if p.count == windowSize {
		copy(p.window[:], p.window[1:])
		p.count--
	}
	p.window[p.count] = sent{b.BaseSequence, b.LastSequence(), b.BaseOffset}
	p.count++
	p.seen = now
	ps.touch(p)
}

func (ps *producers) touch(p *producer) {
	if !p.dirty {
		p.dirty = true
		ps.dirty = append(ps.dirty, p)
	}
}

// cut forgets batches at or behind an offset: the log no longer has them.
func (ps *producers) cut(end int64) {
	for _, p := range ps.byID {
		n := p.count
		for p.count > 0 && p.latest().offset >= end {
			p.count--
		}
		switch {
		case p.count == 0:
			ps.forget(p)
		case p.count < n:
			ps.touch(p)
		}
	}
}

// expire forgets producers that were idle too long.
func (ps *producers) expire(now, expiration int64) {
	for _, p := range ps.byID {
		if now-p.seen > expiration {
			ps.forget(p)
		}
	}
}

// forgetIdle makes room: a tenth goes, so that it is not done for every batch.
func (ps *producers) forgetIdle() {
	seen := make([]int64, 0, len(ps.byID))
	for _, p := range ps.byID {
		seen = append(seen, p.seen)
	}
	slices.Sort(seen)
	until, left := seen[len(seen)/10], len(seen)/10+1
	for _, p := range ps.byID {
		if p.seen <= until && left > 0 {
			ps.forget(p)
			left--
		}
	}
}

func (ps *producers) forget(p *producer) {
	delete(ps.byID, p.id)
	ps.forgotten = append(ps.forgotten, p.id)
}

func (p *producer) encode() []byte {
	b := binary.BigEndian.AppendUint16([]byte{valueVersion}, uint16(p.epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(p.seen))
	for _, s := range p.window[:p.count] {
		b = binary.BigEndian.AppendUint32(b, uint32(s.first))
		b = binary.BigEndian.AppendUint32(b, uint32(s.last))
		b = binary.BigEndian.AppendUint64(b, uint64(s.offset))
	}
	return b
}

func decodeProducer(id int64, b []byte) (*producer, error) {
	const head, each = 11, 16
	if len(b) < head+each || (len(b)-head)%each != 0 || len(b) > head+windowSize*each || b[0] != valueVersion {
		return nil, errValue
	}
	p := &producer{
		id: id, epoch: int16(binary.BigEndian.Uint16(b[1:])),
		seen: int64(binary.BigEndian.Uint64(b[3:])), count: int8((len(b) - head) / each),
	}
	for i := range p.window[:p.count] {
		v := b[head+each*i:]
		p.window[i] = sent{
			first: int32(binary.BigEndian.Uint32(v)), last: int32(binary.BigEndian.Uint32(v[4:])),
			offset: int64(binary.BigEndian.Uint64(v[8:])),
		}
	}
	return p, nil
}

// loadProducers reads what pebble knows; w is held.
func (p *partition) loadProducers() error {
	if p.producers != nil {
		return nil
	}
	ps := &producers{byID: map[int64]*producer{}}
	prefix := partitionKey(keyProducer, p.topic.id, p.index)
	err := p.store.meta.scan(prefix, func(key, value []byte) error {
		one, err := decodeProducer(lastNumber(key), value)
		if err == nil {
			ps.byID[one.id] = one
		}
		return err
	})
	if err != nil {
		return err
	}
	p.producers = ps
	return nil
}
