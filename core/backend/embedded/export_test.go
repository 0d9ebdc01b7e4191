package embedded

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
)

// Compact compacts now what needs it.
func (s *Store) Compact() { (&compactor{store: s}).round(context.Background()) }

// LimitKeys has compactions know so many keys at a time.
func (s *Store) LimitKeys(n int) { s.keyLimit = n }

// Retain applies retention now.
func (s *Store) Retain() { s.retain() }

// Tick does now what the keeper does at its next turn.
func (s *Store) Tick() error {
	s.keeper.look()
	s.keeper.settleFull()
	return s.checkpoint(s.keeper.takeDirty(), false)
}

// OpenFiles is how many segment files are open.
func (s *Store) OpenFiles() int {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return len(s.files.open)
}

// SegmentFiles returns the names of the files that a partition's log is in.
func (s *Store) SegmentFiles(id backend.Partition) (names []string) {
	p, err := s.partition(id)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.segments {
		names = append(names, s.fs.PathBase(g.name))
	}
	return names
}

// Active returns the base offset of the segment that is written to.
func (s *Store) Active(id backend.Partition) int64 {
	p, err := s.partition(id)
	if err != nil {
		return -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.last(); g != nil {
		return g.base
	}
	return p.next
}

// Compacting tells whether a file is being written by a compaction.
func (s *Store) Compacting() bool {
	found := false
	_ = s.meta.scan(plainKey(keyDropped), func([]byte, []byte) error { found = true; return nil })
	return found
}

// The bounds of the metadata store's log.
const (
	MemTable = memTable
	MetaLogs = metaLogs
)
