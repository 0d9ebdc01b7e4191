package embedded

import (
	"context"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// LogDir implements backend.Disk. The path is absolute; it is "memory" for a
// store in memory.
func (s *Store) LogDir(context.Context) (backend.LogDir, error) {
	if err := s.enter(); err != nil {
		return backend.LogDir{}, err
	}
	defer s.life.RUnlock()
	d := backend.LogDir{Path: s.dir, Total: -1, Usable: -1}
	if _, memory := s.fs.(*vfs.MemFS); memory {
		d.Path = "memory"
	} else if abs, err := filepath.Abs(s.dir); err == nil {
		d.Path = abs
	}
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil {
		d.Total, d.Usable = int64(usage.TotalBytes), int64(usage.AvailBytes)
	}
	return d, nil
}

// Sizes implements backend.Disk. It counts the bytes of batches in segment files.
func (s *Store) Sizes(_ context.Context, id uuid.UUID) ([]int64, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	t, err := s.topicByID(id)
	if err != nil {
		return nil, err
	}
	ps := *t.partitions.Load()
	sizes := make([]int64, len(ps))
	for i, p := range ps {
		p.mu.Lock()
		for _, g := range p.segments {
			sizes[i] += g.size
		}
		p.mu.Unlock()
	}
	return sizes, nil
}
