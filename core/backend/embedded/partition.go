package embedded

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/watch"
)

// partition is one log. Two locks keep appends from holding up readers: w is
// held by whoever writes, for the length of the write; mu guards what readers
// look at and is only held for moments. Who takes both takes w first.
type partition struct {
	store *Store
	topic *topic
	index int32

	w         sync.Mutex
	producers *producers // nil until they are needed
	dirty     bool       // on the keeper's list for the next checkpoint
	unsynced  bool       // written to since it was last known to be on the disk
	torn      bool       // the last segment's file goes on behind its size: begin another
	gone      bool       // the topic has been deleted; guarded by w and mu

	mu       sync.Mutex
	fault    error      // why nothing works any more, or nil
	segments []*segment // by base offset; elements are added behind, cut off in front, and replaced by compaction
	start    int64      // log start
	next     int64      // offset of the next record that is written
	end      int64      // offset behind what readers see; the high watermark
	durable  int64      // segments whose base offset is below are on the disk
	syncing  chan struct{}
	watchers watch.List           // has its own lock
	cursors  *[cursorCount]cursor // where readers will go on; nil until one reads
	turn     int                  // the cursor that is replaced next
	clean    int64                // before it the log is compacted; of the compactor alone
	// uncompactable: it has a batch that compaction cannot read; of the compactor alone
	uncompactable bool
}

// cursorCount is how many readers of a partition that read on where they
// stopped are served without a look at the index.
const cursorCount = 8

// cursor says where a batch begins.
type cursor struct {
	segment *segment
	offset  int64
	pos     int64
}

func (p *partition) bounds() backend.Bounds { return backend.Bounds{Start: p.start, End: p.end} }

// usable returns why the partition cannot be used, or nil; mu is held.
func (p *partition) usable() error {
	switch {
	case p.gone:
		return backend.ErrUnknownTopic
	case p.fault != nil:
		return p.fault
	}
	return nil
}

// last returns the segment that is written to, or nil.
func (p *partition) last() *segment {
	if len(p.segments) == 0 {
		return nil
	}
	return p.segments[len(p.segments)-1]
}

// find returns the index of the segment that holds the offset: the last one
// that does not begin behind it, or the first.
func (p *partition) find(offset int64) int {
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].base > offset })
	return max(i-1, 0)
}

// remember notes where a reader will go on; mu is held.
func (p *partition) remember(c cursor) {
	if p.cursors == nil {
		p.cursors = new([cursorCount]cursor)
	}
	for i := range p.cursors {
		if p.cursors[i].offset == c.offset && p.cursors[i].segment == c.segment {
			return
		}
	}
	p.cursors[p.turn] = c
	p.turn = (p.turn + 1) % cursorCount
}

// fail makes the partition refuse everything from now on; mu is held.
func (p *partition) fail(err error) {
	if p.fault == nil {
		p.fault = fmt.Errorf("%w: topic %s partition %d: %w", backend.ErrStorage, p.topic.name, p.index, err)
	}
	p.watchers.Wake()
}

// Watch implements backend.Logs.
func (s *Store) Watch(ps []backend.Partition) (<-chan struct{}, func()) {
	w := watch.New()
	if s.enter() != nil {
		return w, func() {}
	}
	defer s.life.RUnlock()
	var watched []*partition
	for _, id := range ps {
		p, err := s.partition(id)
		if err != nil {
			continue
		}
		p.watchers.Add(w)
		p.mu.Lock()
		if p.gone {
			w.Wake()
		}
		p.mu.Unlock()
		watched = append(watched, p)
	}
	return w, func() {
		for _, p := range watched {
			p.watchers.Remove(w)
		}
	}
}

// Bounds implements backend.Logs.
func (s *Store) Bounds(_ context.Context, id backend.Partition) (backend.Bounds, error) {
	if err := s.enter(); err != nil {
		return backend.Bounds{}, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return backend.Bounds{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bounds(), p.usable()
}
