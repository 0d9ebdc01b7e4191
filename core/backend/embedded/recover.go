package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/iggykafka/gateway/core/backend"
)

// recoverAll brings every partition up to date and writes down what was found.
func (s *Store) recoverAll(ctx context.Context, all map[backend.Partition]*found, last run) error {
	boot := s.opts.BootID()
	sameBoot := boot != "" && last.Boot == boot
	var work errgroup.Group
	work.SetLimit(max(2, runtime.NumCPU()))
	var changed []*partition
	for _, f := range all {
		r := &recovery{found: f, store: s, clean: last.Clean, sameBoot: sameBoot}
		work.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.run()
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for _, f := range all {
		if f.p.dirty {
			changed = append(changed, f.p)
		}
	}
	return s.checkpoint(changed, false)
}

// recovery brings one partition up to date.
type recovery struct {
	*found
	store *Store
	// clean: the last owner left the store in order.
	clean bool
	// sameBoot: the operating system has not stopped since, so that all that
	// was written to a file is in it.
	sameBoot bool

	from  int64 // segments before this base offset are good as the metadata has them
	pos   int64 // in that segment, what comes before is good
	known bool  // the state tells about segment from
	fresh bool  // the metadata knows nothing of the partition
	read  bool  // something was found out that the metadata does not know
}

// run recovers the partition. Damage makes the partition refuse to work and is
// no error.
func (r *recovery) run() error {
	p := r.p
	slices.Sort(r.files)
	if r.state == nil {
		if len(r.files) == 0 && r.start == 0 {
			return nil
		}
		first := r.start
		if len(r.files) > 0 {
			first = r.files[0]
		}
		r.state = &partitionState{start: first, next: first, active: -1}
		r.read, r.fresh = true, true
		p.producers = newProducers()
	}
	st := r.state
	p.next, p.durable = st.next, st.durable
	r.from = st.durable
	if trusted := r.clean || r.sameBoot || st.synced; trusted {
		r.from, r.pos, r.known = st.active, st.size, true
		if st.active < 0 {
			r.from = st.next
		}
	}
	err := r.segments()
	if err == nil {
		err = r.finish()
	}
	if err == nil && p.end < r.start {
		err = r.skip()
	}
	if err == nil {
		p.unsynced = !r.clean && !st.synced
		return nil
	}
	if !errors.Is(err, errDamaged) { // damage has been told of
		r.store.log.Error("a partition cannot be read and is refused: "+remedy(err),
			zap.String("topic", p.topic.name), zap.Int32("partition", p.index), cause(err))
	}
	p.fail(err)
	return nil
}

// segments goes through the files in order.
func (r *recovery) segments() error {
	p := r.p
	for base := range r.sealed {
		if !slices.Contains(r.files, base) {
			r.missing(base)
		}
	}
	if a := r.state.active; a >= 0 && r.known && !slices.Contains(r.files, a) {
		r.missing(a)
	}
	for i, base := range r.files {
		name := p.store.fs.PathJoin(p.topic.dir, segmentFile(p.index, base, r.compacted[base]))
		g := &segment{base: base, generation: r.compacted[base], name: name, next: base, maxTime: -1, shownTime: -1, created: p.store.ms()}
		if prev := p.last(); prev != nil {
			g.start = prev.start + prev.size
		}
		var next int64 = -1
		if i+1 < len(r.files) {
			next = r.files[i+1]
		}
		if err := r.segment(g, next); err != nil {
			return err
		}
		if p.torn && g.size == 0 {
			continue // cut has moved it away
		}
		p.segments = append(p.segments, g)
		g.show(g.size, g.maxTime)
	}
	return nil
}

// segment finds out what is in a file; following is the base offset of the next
// one, or −1.
func (r *recovery) segment(g *segment, following int64) error {
	st := r.state
	v, sealed := r.sealed[g.base]
	// What compaction wrote had reached the disk.
	sealed = sealed && (g.base < r.from || g.generation > 0)
	at, told := int64(0), true
	switch {
	case sealed:
		g.size, g.next, g.maxTime, g.created = v.size, v.next, v.maxTime, v.created
		g.sealed, g.stored = true, true
	case r.known && g.base == st.active:
		g.size, g.next, g.maxTime, g.created = st.size, st.next, st.maxTime, st.created
		at = st.size
	default:
		told = false
	}
	g.indexed = g.size
	info, err := r.store.fs.Stat(g.name)
	if err != nil {
		return err
	}
	length := info.Size()
	if r.clean && told && length == g.size {
		g.sealed = following >= 0
		return nil
	}
	if length < g.size {
		if r.clean || r.sameBoot || sealed {
			return r.damage(g, length, fmt.Errorf("%w: the file has %d bytes of %d", errDamaged, length, g.size))
		}
		// storage.sync promised more than the disk kept: read it all.
		g.size, g.next, g.maxTime, g.indexed, at = 0, g.base, -1, 0, 0
	}
	if !sealed && length > g.size {
		if err := r.scan(g, at, length, following); err != nil {
			return err
		}
	}
	if following >= 0 {
		g.sealed = true
		if g.next != following {
			r.hole(g.next, following)
		}
	}
	return nil
}

// finish brings pebble in line with what was read.
func (r *recovery) finish() error {
	p := r.p
	if g := p.last(); g != nil {
		if gone := g.base < r.state.active && r.known; !gone {
			p.next = g.next
		}
		if p.next != g.next || g.generation > 0 {
			p.torn = true // the next record does not follow its last one, or must not
		}
	}
	p.end, p.start = p.next, p.next
	if len(p.segments) > 0 {
		p.start = p.segments[0].base
	}
	p.start = max(p.start, min(r.start, p.next))
	if !r.read && p.next == r.state.next && p.start == r.state.start {
		return nil
	}
	p.dirty = true
	if r.fresh {
		return nil // pebble has nothing of it
	}
	if err := p.loadProducers(); err != nil {
		return err
	}
	p.producers.Cut(p.next)
	// Entries behind what was known good may be of records that got lost.
	b := p.store.meta.db.NewBatch()
	from := r.state.next
	if !r.known {
		from = r.from
	}
	err := p.store.meta.clear(b, numberKey(keyIndex, p.topic.id, p.index, min(from, p.next)),
		prefixEnd(partitionKey(keyIndex, p.topic.id, p.index)))
	for base := range r.sealed {
		if !slices.ContainsFunc(p.segments, func(g *segment) bool { return g.base == base && g.stored }) {
			err = errors.Join(err, b.Delete(numberKey(keySegment, p.topic.id, p.index, base), nil))
		}
	}
	if err != nil {
		return err
	}
	return p.store.meta.commit(b, behind)
}

// skip goes on at the log start, where the records that were deleted have got lost
// with those before them: offsets are not given a second time.
func (r *recovery) skip() error {
	p := r.p
	p.next, p.end, p.start = r.start, r.start, r.start
	p.dirty = true
	old := p.cutFront(len(p.segments))
	if len(old) == 0 {
		return nil
	}
	return p.dropSegments(old)
}

func (r *recovery) missing(base int64) {
	r.read = true
	r.store.log.Warn("a segment file is missing: its records are gone; put it back and start again to have them",
		zap.String("topic", r.p.topic.name), zap.Int32("partition", r.p.index),
		zap.String("file", r.store.fs.PathJoin(r.p.topic.dir, segmentFile(r.p.index, base, r.compacted[base]))))
}

func (r *recovery) hole(from, to int64) {
	r.store.log.Warn("records are missing between two segments", zap.String("topic", r.p.topic.name),
		zap.Int32("partition", r.p.index), zap.Int64("from", from), zap.Int64("to", to))
}

// damage says what is wrong with a file, and what to do.
func (r *recovery) damage(g *segment, at int64, err error) error {
	r.store.log.Error("a segment file is damaged and its partition is refused: restore the file from a backup, or move it away to give its records up, and start the gateway again",
		zap.String("topic", r.p.topic.name), zap.Int32("partition", r.p.index),
		zap.String("file", g.name), zap.Int64("byte", at), cause(err))
	return fmt.Errorf("%s at byte %d: %w", g.name, at, err)
}
