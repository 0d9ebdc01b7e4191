package embedded

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/producerstate"
)

// producers is what a partition knows about idempotent producers, and what of
// it the next checkpoint writes. The partition's w guards it.
type producers struct {
	producerstate.Table
	forgotten []int64 // ids whose keys are deleted
	dirty     map[int64]struct{}
}

func newProducers() *producers {
	ps := &producers{dirty: map[int64]struct{}{}}
	ps.Changed = func(id int64) { ps.dirty[id] = struct{}{} }
	ps.Forgot = func(id int64) { ps.forgotten = append(ps.forgotten, id) }
	return ps
}

// save adds what has changed to a batch of pebble's.
func (ps *producers) save(b *pebble.Batch, key func(id int64) []byte) (err error) {
	for _, id := range ps.forgotten {
		err = errors.Join(err, b.Delete(key(id), nil))
	}
	for id := range ps.dirty {
		if p := ps.Get(id); p != nil {
			err = errors.Join(err, b.Set(key(id), encodeProducer(p), nil))
		}
	}
	ps.forgotten = nil
	clear(ps.dirty)
	return err
}

func encodeProducer(p *producerstate.Producer) []byte {
	b := binary.BigEndian.AppendUint16([]byte{valueVersion}, uint16(p.Epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Seen))
	for _, s := range p.Sent() {
		b = binary.BigEndian.AppendUint32(b, uint32(s.First))
		b = binary.BigEndian.AppendUint32(b, uint32(s.Last))
		b = binary.BigEndian.AppendUint64(b, uint64(s.Offset))
	}
	return b
}

func decodeProducer(id int64, b []byte) (*producerstate.Producer, error) {
	const head, each = 11, 16
	if len(b) < head+each || (len(b)-head)%each != 0 || len(b) > head+producerstate.Window*each || b[0] != valueVersion {
		return nil, errValue
	}
	var sent []producerstate.Sent
	for v := b[head:]; len(v) > 0; v = v[each:] {
		sent = append(sent, producerstate.Sent{
			First: int32(binary.BigEndian.Uint32(v)), Last: int32(binary.BigEndian.Uint32(v[4:])),
			Offset: int64(binary.BigEndian.Uint64(v[8:])),
		})
	}
	epoch, seen := int16(binary.BigEndian.Uint16(b[1:])), int64(binary.BigEndian.Uint64(b[3:]))
	return producerstate.NewProducer(id, epoch, seen, sent...), nil
}

// loadProducers reads what pebble knows, unless that was done; w is held.
func (p *partition) loadProducers() (err error) {
	if p.producers == nil {
		p.producers, err = p.storedProducers()
	}
	return err
}

// storedProducers reads what pebble knows.
func (p *partition) storedProducers() (*producers, error) {
	ps := newProducers()
	prefix := partitionKey(keyProducer, p.topic.id, p.index)
	err := p.store.meta.scan(prefix, func(key, value []byte) error {
		one, err := decodeProducer(lastNumber(key), value)
		if err == nil {
			ps.Put(one)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ps, nil
}

// DescribeProducers implements backend.Logs. It does not keep what it had to read:
// a tool may ask for all partitions.
func (s *Store) DescribeProducers(_ context.Context, id backend.Partition) ([]backend.ProducerState, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return nil, err
	}
	p.w.Lock()
	defer p.w.Unlock()
	p.mu.Lock()
	err = p.usable()
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ps := p.producers
	if ps == nil {
		if ps, err = p.storedProducers(); err != nil {
			return nil, err
		}
	}
	return ps.Describe(s.ms(), s.opts.ProducerExpiration.Milliseconds()), nil
}

// lastBatches returns the base offset of the last batch of each producer that has
// not expired.
func (ps *producers) lastBatches(now, expiration int64) map[int64]int64 {
	last := make(map[int64]int64, ps.Len())
	for _, state := range ps.Describe(now, expiration) {
		sent := ps.Get(state.ID).Sent()
		last[state.ID] = sent[len(sent)-1].Offset
	}
	return last
}
