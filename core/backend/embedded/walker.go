package embedded

import (
	"io"
	"sync"

	"github.com/iggykafka/gateway/core/record"
)

// walker reads a segment batch by batch. It reads in large steps, and only
// headers: where a batch ends behind what has been read, it goes on there.
type walker struct {
	p     *partition
	g     *segment
	h     *handle
	pos   int64 // of the next batch
	limit int64

	buf  *[walkStep]byte
	at   int64 // position of buf[0]
	have int64 // bytes in buf
}

const walkStep = 64 << 10

var walkBuffers = sync.Pool{New: func() any { return new([walkStep]byte) }}

// walker begins at a position where a batch begins. The caller closes it.
func (p *partition) walker(g *segment, from, limit int64) (*walker, error) {
	h, err := p.store.files.acquire(&g.slot, g.name, false)
	if err != nil {
		return nil, p.readError(g, from, err)
	}
	return &walker{p: p, g: g, h: h, pos: from, limit: limit, buf: walkBuffers.Get().(*[walkStep]byte)}, nil
}

func (w *walker) close() {
	walkBuffers.Put(w.buf)
	w.h.release()
}

// next returns the next header and moves behind its batch; io.EOF at the limit.
func (w *walker) next() (header, error) {
	if w.pos >= w.limit {
		return header{}, io.EOF
	}
	if w.pos+record.HeaderSize > w.limit {
		return header{}, w.p.readError(w.g, w.pos, errDamaged)
	}
	if w.pos < w.at || w.pos+record.HeaderSize > w.at+w.have {
		n := min(walkStep, w.limit-w.pos)
		if _, err := w.h.ReadAt(w.buf[:n], w.pos); err != nil {
			return header{}, w.p.readError(w.g, w.pos, err)
		}
		w.at, w.have = w.pos, n
	}
	h, err := parseHeader(w.buf[w.pos-w.at:])
	if err != nil || h.size > w.limit-w.pos {
		return header{}, w.p.readError(w.g, w.pos, errDamaged)
	}
	w.pos += h.size
	return h, nil
}

// batch returns the batch of a header that next has just returned.
func (w *walker) batch(h header) (record.Batch, error) {
	b := make([]byte, h.size)
	pos := w.pos - h.size
	if _, err := w.h.ReadAt(b, pos); err != nil {
		return record.Batch{}, w.p.readError(w.g, pos, err)
	}
	batch, _, err := record.Parse(b)
	if err != nil {
		return record.Batch{}, w.p.readError(w.g, pos, err)
	}
	return batch, nil
}
