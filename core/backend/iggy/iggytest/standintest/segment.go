package standintest

import (
	"encoding/binary"
	"slices"
)

// segment is a piece of a log. Iggy's index of one has an entry for each of its
// messages and is looked up by place: what is asked for is as many entries behind the
// first as its offset is behind start.
type segment struct {
	start   uint64
	entries int
	bytes   uint64 // of its file
	// behind says that the first message was torn: it has the offset start and no
	// entry, so that every entry is that of the message behind the one that is meant.
	behind bool
}

func offsetIn(m []byte) uint64 { return binary.LittleEndian.Uint64(m[offsetAt:]) }

func (p *partition) last() *segment { return &p.segments[len(p.segments)-1] }

// take stores messages as one request does. A segment that was full before them ends
// with them: Iggy looks before it writes.
func (p *partition) take(messages [][]byte, now uint64, segmentSize uint64) {
	full := p.last().bytes >= segmentSize
	p.append(messages, now, randomID)
	if full {
		p.segments = append(p.segments, segment{start: p.next})
	}
}

// tear has a message in the log that the index does not know.
func (p *partition) tear(m []byte) {
	if s := p.last(); s.entries == 0 && !s.behind && !p.shifted {
		s.behind = true
		p.next++ // a start takes the file for one with a message
	}
	p.last().bytes += uint64(len(m))
	p.pending = append(p.pending, m)
}

// untear has what is pending lie in front of the message that comes now.
func (p *partition) untear(offset uint64) {
	if p.pending == nil {
		return
	}
	t := tear{status: errInvalidOffset, bytes: p.pending}
	if s := p.last(); s.behind && s.entries == 0 && len(p.pending) == 1 {
		t.status = 0 // both have offsets of their own
	}
	p.torn[offset], p.pending = t, nil
}

// read returns at most count messages from an offset on, as Iggy finds them, and by
// their places the bytes that precede some of them; or the status of one that it
// refuses.
func (p *partition) read(from uint64, count uint32) (found [][]byte, torn map[int][][]byte, status uint32) {
	from = max(from, p.first)
	if p.shifted {
		if from < p.first+uint64(len(p.messages)) {
			status = errInvalidOffset
		}
		return nil, nil, status
	}
	torn = map[int][][]byte{}
	place := 0 // of the first message of the segment
	for i := range p.segments {
		s := &p.segments[i]
		if i+1 < len(p.segments) && p.segments[i+1].start <= from {
			place += s.entries
			continue
		}
		skip := int(max(from, s.start) - s.start)
		if skip >= s.entries {
			break
		}
		if s.behind && skip > 0 {
			return nil, nil, errInvalidOffset
		}
		part := p.messages[place+skip : place+s.entries]
		part = part[:min(len(part), int(count)-len(found))]
		if status = p.before(torn, len(found), part); status != 0 {
			return nil, nil, status
		}
		if found = append(found, part...); len(found) == int(count) {
			break
		}
		place += s.entries
	}
	return found, torn, 0
}

// before adds the bytes that precede messages, of which the first is at a place in
// the answer, and returns the status of one that is refused for them.
func (p *partition) before(torn map[int][][]byte, at int, messages [][]byte) uint32 {
	for i, m := range messages {
		t, ok := p.torn[offsetIn(m)]
		if t.status != 0 {
			return t.status
		}
		if ok {
			torn[at+i] = slices.Clone(t.bytes)
		}
	}
	return 0
}
