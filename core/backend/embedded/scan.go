package embedded

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/record"
)

// scan reads the batches of a file from a position where one begins up to its
// end, checks them and adds them to the segment. following is the base offset
// of the next segment, or −1.
//
// The end of the last file may be torn: a write was interrupted, and the rest
// is cut. What else does not fit is damage when the operating system ran on,
// and what a loss of power does to data that was not synced when it did not.
// Then segments behind a cut are kept: what there is stays readable, behind a
// hole.
func (r *recovery) scan(g *segment, at, length, following int64) error {
	file, err := r.store.fs.Open(g.name)
	if err != nil {
		return err
	}
	defer file.Close()
	in := &tail{in: file, length: length, buf: tailBuffers.Get().(*[]byte)}
	defer in.done()
	for pos := at; pos < length; pos = g.size {
		b, err := in.batch(pos)
		if err == nil && b.BaseOffset != g.next {
			err = fmt.Errorf("%w: offset %d where %d should be", errDamaged, b.BaseOffset, g.next)
		}
		if err == nil {
			r.add(g, &b)
			continue
		}
		if following == g.next {
			return nil // left by a write that failed; the next segment took its place
		}
		torn := errors.Is(err, errTorn)
		if !torn && !errors.Is(err, errDamaged) {
			return err
		}
		// A file that has a successor ended in order.
		whole := r.sameBoot || r.state.synced
		if following >= 0 && whole || !torn && r.sameBoot {
			return r.damage(g, pos, err)
		}
		return r.cut(g, length, err)
	}
	return nil
}

// add takes a batch that the metadata may not know.
func (r *recovery) add(g *segment, b *record.Batch) {
	g.add(b.BaseOffset, int64(len(b.Bytes)), b.LastOffset()+1, b.MaxTimestamp)
	r.read = true
	if b.ProducerID < 0 {
		return
	}
	if err := r.p.loadProducers(); err != nil {
		r.p.fault = err
		return
	}
	r.p.producers.Add(b, r.store.ms(), r.store.opts.ProducerExpiration.Milliseconds())
}

// cut ends a segment before bytes that are no records. They stay in the file:
// what is written next goes into another.
func (r *recovery) cut(g *segment, length int64, why error) error {
	r.read = true
	r.p.torn = true
	r.store.log.Warn("a segment ends with bytes that are no whole record batch, left by an interrupted write; they are not used",
		zap.String("topic", r.p.topic.name), zap.Int32("partition", r.p.index), zap.String("file", g.name),
		zap.Int64("byte", g.size), zap.Int64("bytes", length-g.size), cause(why))
	if g.size > 0 {
		return nil
	}
	// The next segment will have the same name.
	return r.store.fs.Rename(g.name, g.name+".torn")
}

// errTorn: the file ends within a batch.
var errTorn = errors.New("the file ends within a record batch")

// tail reads whole batches of a file.
type tail struct {
	in     io.ReaderAt
	length int64
	buf    *[]byte
	at     int64 // position of the first byte in buf
	have   int64
}

const tailStep = 1 << 20

var tailBuffers = sync.Pool{New: func() any {
	b := make([]byte, tailStep)
	return &b
}}

func (t *tail) done() {
	if len(*t.buf) == tailStep {
		tailBuffers.Put(t.buf)
	}
}

// bytes returns n bytes at a position; they are good until the next call.
func (t *tail) bytes(pos, n int64) ([]byte, error) {
	if pos+n > t.length {
		return nil, errTorn
	}
	if pos < t.at || pos+n > t.at+t.have {
		if n > int64(len(*t.buf)) {
			grown := make([]byte, n)
			t.buf = &grown
		}
		t.at, t.have = pos, min(int64(len(*t.buf)), t.length-pos)
		if _, err := t.in.ReadAt((*t.buf)[:t.have], pos); err != nil {
			t.have = 0
			return nil, err
		}
	}
	return (*t.buf)[pos-t.at:][:n], nil
}

// batch returns the batch at a position, checked by its CRC; errTorn or
// errDamaged if there is none.
func (t *tail) batch(pos int64) (record.Batch, error) {
	head, err := t.bytes(pos, min(record.HeaderSize, t.length-pos))
	if err != nil {
		return record.Batch{}, err
	}
	if len(head) < record.HeaderSize {
		return record.Batch{}, errTorn
	}
	h, err := parseHeader(head)
	if err != nil {
		return record.Batch{}, err
	}
	whole, err := t.bytes(pos, h.size)
	if err != nil {
		return record.Batch{}, err
	}
	b, _, err := record.Parse(whole)
	if err != nil {
		return record.Batch{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !b.ValidCRC() {
		return record.Batch{}, fmt.Errorf("%w: the CRC does not fit", errDamaged)
	}
	return b, nil
}
