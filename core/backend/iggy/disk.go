package iggy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// sizesAge is for how long the sizes of a topic's partitions are good: pages and
// tools ask for those of all topics, which costs a request for each.
const sizesAge = time.Second

// sizes are those of a topic's partitions as they were last seen.
type sizes struct {
	mu    sync.Mutex
	at    time.Time
	bytes []int64
}

// LogDir implements backend.Disk. The volume is that of the server, which tells of
// it with the permission read_servers alone.
func (s *Store) LogDir(ctx context.Context) (backend.LogDir, error) {
	if err := s.up(); err != nil {
		return backend.LogDir{}, err
	}
	dir := backend.LogDir{Path: "iggy://" + s.cfg.Address + "/" + s.cfg.Stream, Total: -1, Usable: -1}
	stats, err := s.server.Stats(ctx)
	switch {
	case err == nil && stats.TotalDiskSpace > 0:
		dir.Total, dir.Usable = bytesOf(stats.TotalDiskSpace), bytesOf(stats.FreeDiskSpace)
	case err == nil, client.Code(err) != 0, errors.Is(err, client.ErrBadReply):
	default:
		return backend.LogDir{}, err
	}
	return dir, nil
}

func bytesOf(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Sizes implements backend.Disk: what the messages take in Iggy, those included
// that were deleted for clients alone. A partition that the server is still loading
// after its start has 0.
func (s *Store) Sizes(ctx context.Context, id uuid.UUID) ([]int64, error) {
	t, err := s.topicByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if known := t.sizes.known(); known != nil {
		return known, nil
	}
	// One at a time, so that other requests find a connection.
	if err := s.sizing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.sizing.Release(1)
	if known := t.sizes.known(); known != nil {
		return known, nil
	}
	began := time.Now()
	details, err := s.server.Topic(ctx, t.at)
	switch {
	case missing(err):
		if len(t.partitions) > 0 {
			s.forget(t.partitions[0])
		}
		return nil, fmt.Errorf("%w: %w", backend.ErrUnknownTopic, err)
	case client.Code(err) != 0:
		return nil, fmt.Errorf("%w: sizes of topic %s: %w", backend.ErrStorage, t.at.Name, err)
	case err != nil:
		return nil, err
	}
	all := make([]int64, len(t.partitions))
	for _, p := range details.Partitions {
		if int64(p.Id) < int64(len(all)) {
			all[p.Id] = bytesOf(p.SizeBytes)
		}
	}
	t.sizes.set(all, began)
	return append([]int64(nil), all...), nil
}

// known returns a copy of the sizes while they are good, else nil.
func (z *sizes) known() []int64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.bytes == nil || time.Since(z.at) > sizesAge {
		return nil
	}
	return append([]int64{}, z.bytes...)
}

func (z *sizes) set(all []int64, at time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.bytes, z.at = all, at
}
