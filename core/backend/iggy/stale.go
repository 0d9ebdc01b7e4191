package iggy

import (
	"bytes"
	"context"
	"math"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/backend/producerstate"
)

// A gateway that ends before it has made void what is in the log of a batch (first.go)
// leaves a part of it there. The tail of the log shows that, as it shows what a
// producer has stored: when the batch comes again, and its producer's last one is a
// part of it, that is made void, and the batch is stored as a whole.

// discard makes void the parts of batches of a group that are in the log, and reports
// whether there were any.
func (p *partition) discard(ctx context.Context, group []*waiting) (some bool, err error) {
	for _, b := range group {
		part, base := p.partOf(b)
		if len(part) == 0 {
			continue
		}
		if same, err := p.same(ctx, base, part); err != nil || !same {
			if err != nil {
				return some, err
			}
			continue
		}
		void := span{base, base + int64(len(part))}
		p.store.log.Warn("a batch that was stored in part, and never acknowledged, comes again; the part is passed over",
			append(p.named(), zap.Int64("first", void.first), zap.Int64("last", void.next-1))...)
		if err := p.voids(ctx, void); err != nil {
			return some, err
		}
		// The oldest ranges are forgotten when there are too many.
		readable, _ := p.gaps.after(void.first)
		some = some || readable > void.first
	}
	if some {
		p.writer.forget()
	}
	return some, nil
}

// partOf returns the messages of a batch that have the sequences of the last batch of
// the same producer, and the offset of that one; none, unless they are fewer than all.
func (p *partition) partOf(b *waiting) (part []message.Message, base int64) {
	if b.batch.ProducerID < 0 {
		return nil, 0
	}
	known := p.writer.producers.Get(b.batch.ProducerID)
	if known == nil || known.Epoch != b.batch.ProducerEpoch {
		return nil, 0
	}
	sent := known.Sent()
	last := sent[len(sent)-1]
	first := (int64(last.First) - int64(b.batch.BaseSequence)) & math.MaxInt32
	next := first + (int64(last.Last)-int64(last.First))&math.MaxInt32 + 1
	if next > int64(len(b.messages)) || next-first == int64(len(b.messages)) {
		return nil, 0
	}
	return b.messages[first:next], last.Offset
}

// same reports whether the log has the messages from base on: another batch may have
// had their sequences.
func (p *partition) same(ctx context.Context, base int64, messages []message.Message) (bool, error) {
	n := 0
	err := p.scan(ctx, base, base+int64(len(messages)), forward, func(m *message.Message) bool {
		i := offsetOf(m) - base
		if m.Header.Id != messages[i].Header.Id || !bytes.Equal(m.Payload, messages[i].Payload) || !bytes.Equal(m.UserHeaders, messages[i].UserHeaders) {
			return false
		}
		n++
		return true
	})
	return n > 0 && n == len(messages), unwritten(err)
}

// forget has everything about producers and the end of the log looked up again.
func (w *writer) forget() {
	w.producers, w.learnt, w.sure = producerstate.Table{}, -1, false
}
