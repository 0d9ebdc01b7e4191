package dispatch

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/wire"
)

const (
	// worthPart is how many bytes a part has, at least, for the answer not to have it
	// copied, and worthParts all of those together. Below that a copy is cheaper.
	worthPart  = 4 << 10
	worthParts = 16 << 10
	// keptParts is how many parts a caller has room for between requests.
	keptParts = 64
)

// Answer is an encoded response as it goes on the wire, length prefix included. What
// the handler names as parts ([handler.Spec.Parts]), if it is large, is not copied into
// it, but sent from where it lies. It belongs to its Caller, who has one at a time.
type Answer struct {
	pool   *wire.Pool
	memory *memory
	text   *wire.Buffer // what has been encoded: all but the parts
	sent   [][]byte     // pieces of text, and parts between them
	size   int
	parts  [][]byte // taken out of the response while it is encoded
}

// Size returns the length in bytes.
func (a *Answer) Size() int { return a.size }

// Pieces returns what is sent, in order: a single piece but for records. They are the
// caller's until Release, and may be changed.
func (a *Answer) Pieces() [][]byte { return a.sent }

// Release gives back what the answer holds, and what the handler was lent for it.
// Nothing of it may be used any more.
func (a *Answer) Release() {
	a.pool.Put(a.text)
	a.memory.takeBack()
	a.text, a.size = nil, 0
	a.sent, a.parts = emptied(a.sent), emptied(a.parts)
}

// emptied returns a list without elements, for use again if it is not long.
func emptied(list [][]byte) [][]byte {
	clear(list[:cap(list)])
	if cap(list) > keptParts {
		return nil
	}
	return list[:0]
}

// newAnswer begins the answer to a caller's request.
func (c *Caller) newAnswer(pool *wire.Pool) *Answer {
	a := &c.answer
	a.pool, a.memory, a.text = pool, &c.memory, nil
	return a
}

// token is an answer that is one token.
func (a *Answer) token(token []byte) {
	a.text = a.pool.Get(wire.PrefixSize + len(token))
	a.text.B = append(a.text.B, 0, 0, 0, 0) // the length, which finish writes
	a.text.B = append(a.text.B, token...)
	a.sent = append(a.sent[:0], a.text.B)
	a.finish()
}

// finish writes the length prefix.
func (a *Answer) finish() {
	a.size = 0
	for _, piece := range a.sent {
		a.size += len(piece)
	}
	wire.Finish(a.text.B, a.size)
}

// payload returns the length in bytes without the prefix.
func (a *Answer) payload() int { return a.size - wire.PrefixSize }

// mark stands for a part while the response around it is encoded. Its bytes are random,
// so that no client can bring them in.
type mark [16]byte

func newMark() (m mark) {
	_, _ = rand.Read(m[:]) // never fails
	return m
}

// write encodes a response, in place of what was encoded before.
func (a *Answer) write(r *route, m *mark, head wire.Header, resp kmsg.Response) {
	a.takeOut(r, m, resp)
	if a.text == nil {
		size := 0
		if r.spec.EncodedSize != nil {
			size = r.spec.EncodedSize(resp)
		}
		a.text = a.pool.Get(size)
	}
	b := wire.AppendResponseHeader(a.text.B[:0], head.Key, resp.IsFlexible(), head.CorrelationID)
	b = resp.AppendTo(b)
	a.text.B = b
	a.putBack(r, m, resp)

	a.sent = a.sent[:0]
	from := 0
	for _, part := range a.parts {
		at := bytes.Index(b[from:], m[:])
		if at < 0 {
			panic("Spec.Parts names a field that this version does not have, or not in order")
		}
		at += from
		end := at // of what comes before the part, its length included
		if resp.IsFlexible() {
			// There is room: the mark, which goes, has more bytes than any length.
			end = len(binary.AppendUvarint(b[:at-1], uint64(len(part))+1))
		} else {
			binary.BigEndian.PutUint32(b[at-4:], uint32(len(part))) // #nosec G115 -- what is longer is above every max_frame_size
		}
		a.sent = append(a.sent, b[from:end:end], part)
		from = at + len(m)
	}
	if from < len(b) {
		a.sent = append(a.sent, b[from:])
	}
	a.finish()
}

// takeOut takes the parts out of a response, if that is worth it, and leaves marks.
func (a *Answer) takeOut(r *route, m *mark, resp kmsg.Response) {
	a.parts = a.parts[:0]
	if r.spec.Parts == nil {
		return
	}
	size := 0
	r.spec.Parts(resp, func(part *[]byte) {
		if len(*part) >= worthPart {
			size += len(*part)
		}
	})
	if size < worthParts {
		return
	}
	r.spec.Parts(resp, func(part *[]byte) {
		if len(*part) >= worthPart {
			a.parts = append(a.parts, *part)
			*part = m[:]
		}
	})
}

// putBack puts the parts back where the marks are.
func (a *Answer) putBack(r *route, m *mark, resp kmsg.Response) {
	if len(a.parts) == 0 {
		return
	}
	next := 0
	r.spec.Parts(resp, func(part *[]byte) {
		if len(*part) == len(m) && &(*part)[0] == &m[0] {
			*part = a.parts[next]
			next++
		}
	})
}
