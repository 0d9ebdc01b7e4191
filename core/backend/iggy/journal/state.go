package journal

import (
	"fmt"

	"github.com/google/uuid"
)

// maxMissing bounds how many records may be looked for at once: those of one send,
// as the next begins when all of one are found.
const maxMissing = maxGroupRecords

// state is what the records of one generation come to. It is the same for all
// who read the same log: that is what makes one of two candidates the owner,
// and a former owner's records void.
type state struct {
	owner    uuid.UUID
	owners   []uuid.UUID // all that there were, the present one last
	lease    Lease
	released bool
	last     uint64 // the offset of the last valid record, or none

	number   uint64 // of the generation
	previous uint64
	complete bool   // the first content is there
	marked   bool   // and is the truth
	sealed   uint64 // the next generation, 0 for none

	// content is nil while the owner of a generation writes its first content:
	// it has that already.
	content *live

	seq     uint64              // the highest of the owner
	missing map[uint64]struct{} // those below that were not seen
	lost    uint64              // those that were stored once and are not there
	records int64               // in all, valid or not
	bytes   int64               // of their payloads
}

func newState() *state {
	return &state{last: none, content: newLive(), missing: map[uint64]struct{}{}}
}

// apply takes the next record of the log and reports whether it is valid. Only
// an error is fatal: the log is not what its records say.
func (s *state) apply(offset uint64, r *record) (bool, error) {
	switch {
	case r.kind == kindBegin:
		return s.begin(offset, r), nil
	case r.kind == kindClaim:
		return s.claim(offset, r), nil
	case !s.owns(r.owner) || s.sealed != 0:
		return false, nil
	}
	if !s.follows(r) {
		return false, nil
	}
	s.last = offset
	switch r.kind {
	case kindRenew:
		s.lease = r.lease
	case kindRelease:
		s.released = true
	case kindChanges:
		if s.content != nil {
			s.content.apply(r.changes)
		}
	case kindComplete:
		return true, s.end(r)
	case kindSeal:
		s.sealed = r.number
	case kindMark:
		s.marked = s.complete
	}
	return true, nil
}

// owns reports whether the records of this owner count.
func (s *state) owns(owner uuid.UUID) bool {
	return s.last != none && s.owner == owner && !s.released
}

func (s *state) begin(offset uint64, r *record) bool {
	if s.last != none {
		return false
	}
	s.number, s.previous = r.number, r.previous
	if r.previous == 0 {
		s.complete, s.marked = true, true // the first generation begins empty
	}
	s.own(offset, r)
	return true
}

// claim is valid when its writer has seen everything: an owner that lives, or
// another candidate, came first otherwise.
func (s *state) claim(offset uint64, r *record) bool {
	if s.sealed != 0 || s.last == none || r.after != s.last {
		return false
	}
	s.own(offset, r)
	return true
}

func (s *state) own(offset uint64, r *record) {
	s.owner, s.lease, s.released, s.last = r.owner, r.lease, false, offset
	s.owners = append(s.owners, r.owner)
	s.seq = r.seq
	clear(s.missing) // nobody was told that they were stored
}

// follows keeps account of the owner's sequence and reports whether the record
// is a new one.
func (s *state) follows(r *record) bool {
	if r.seq <= s.seq {
		if _, missed := s.missing[r.seq]; !missed {
			return false // the same once more
		}
		delete(s.missing, r.seq)
	} else {
		for seq := s.seq + 1; seq < r.seq; seq++ {
			if len(s.missing) == maxMissing {
				s.lost += r.seq - seq
				break
			}
			s.missing[seq] = struct{}{}
		}
		s.seq = r.seq
	}
	for seq := range s.missing {
		if seq <= r.acked {
			delete(s.missing, seq)
			s.lost++
		}
	}
	return true
}

// end checks the first content of a generation.
func (s *state) end(r *record) error {
	s.complete = true
	if s.content == nil {
		return nil
	}
	if n := uint64(s.content.tree.Len()); n != r.pairs {
		return fmt.Errorf("generation %d begins with %d pairs, and should with %d", s.number, n, r.pairs)
	}
	if sum(s.content.tree) != r.sum {
		return fmt.Errorf("generation %d begins with other pairs than were written", s.number)
	}
	return nil
}
