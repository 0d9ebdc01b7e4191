package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/record"
)

// compaction is one compaction of a partition. Segments are rewritten from the first
// on, so that a tombstone never goes before what it deletes.
type compaction struct {
	dirt
	now       int64           // ms since the epoch
	end       int64           // behind the last record whose key is in keys
	producers map[int64]int64 // producer id → base offset of its last batch
	keys      *keyTable
	retain    record.Retainer
	pace      pace

	// Of the segment that is being written.
	out     *segment
	to      *bufio.Writer
	changed bool
	buf     []byte
}

// compact rewrites what the dirt names. Where it ends early, all is as good as
// before, and the next one begins anew.
func (p *partition) compact(ctx context.Context, d dirt) error {
	c := &compaction{dirt: d, now: p.store.ms(), pace: pace{rate: p.store.cfg.Compaction.Rate, began: time.Now()}}
	var before, after int64
	if err := c.prepare(); err != nil {
		return err
	}
	if err := c.fill(ctx); err != nil {
		return err
	}
	if all := d.segments[len(d.segments)-1].next; c.end < all {
		p.store.log.Info("the keys of a partition do not fit into storage.compaction.memory; it is compacted in steps",
			zap.String("topic", p.topic.name), zap.Int32("partition", p.index),
			zap.Int64("from", c.from), zap.Int64("to", c.end), zap.Int64("of", all))
	}
	for rest := c.segments; len(rest) > 0 && rest[0].base < c.end; {
		group := c.group(rest)
		rest = rest[len(group):]
		g, err := c.rewrite(ctx, group)
		if err != nil {
			return err
		}
		for _, old := range group {
			before += old.size
		}
		after += g.size
	}
	b := p.store.meta.db.NewBatch()
	if err := p.setClean(b, c.end); err != nil {
		return err
	}
	if err := p.store.meta.commit(b, behind); err != nil {
		return err
	}
	p.clean = c.end
	p.store.log.Debug("compacted", zap.String("topic", p.topic.name), zap.Int32("partition", p.index),
		zap.Int64("to", c.end), zap.Int("keys", len(c.keys.latest)), zap.Int64("bytes_before", before),
		zap.Int64("bytes_after", after), zap.Duration("took", time.Since(c.pace.began)))
	return nil
}

// prepare brings the segments to the disk, and all that is known of them and of
// producers into the metadata, so that a start relies on both.
func (c *compaction) prepare() error {
	p, s := c.p, c.p.store
	for _, g := range c.segments {
		p.mu.Lock()
		done := g.next <= p.durable
		p.mu.Unlock()
		if done {
			continue
		}
		if err := errors.Join(s.syncSegment(g), s.syncTopicDir(p.topic.dir)); err != nil {
			return err
		}
		p.mu.Lock()
		p.durable = max(p.durable, g.next)
		p.mu.Unlock()
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	p.w.Lock()
	defer p.w.Unlock()
	if p.gone {
		return errGone
	}
	if err := p.loadProducers(); err != nil {
		return err
	}
	c.producers = p.producers.lastBatches(c.now, s.opts.ProducerExpiration.Milliseconds())
	b := s.meta.db.NewBatch()
	saved, err := p.saveHeld(b, false)
	if err == nil && saved == nil {
		err = errGone
	}
	if err != nil {
		return err
	}
	if err := s.meta.commit(b, behind); err != nil {
		return err
	}
	saved()
	return nil
}

// group takes the first segments that make one of at most segment.bytes together.
func (c *compaction) group(rest []*segment) []*segment {
	size := rest[0].size
	for i, g := range rest[1:] {
		if size += g.size; size > c.cfg.SegmentBytes || g.base >= c.end {
			return rest[:i+1]
		}
	}
	return rest
}

// each reads the batches of a segment in order and checks them.
func (c *compaction) each(ctx context.Context, g *segment, fn func(b record.Batch, last bool) error) error {
	h, err := c.p.store.files.acquire(&g.slot, g.name, false)
	if err != nil {
		return err
	}
	defer h.release()
	in := &tail{in: h, length: g.size, buf: tailBuffers.Get().(*[]byte)}
	defer in.done()
	for pos := int64(0); pos < g.size; {
		b, err := in.batch(pos)
		if err != nil {
			return fmt.Errorf("%s at byte %d: %w", g.name, pos, err)
		}
		n := int64(len(b.Bytes))
		if err := c.pace.spend(ctx, n); err != nil {
			return err
		}
		if err := fn(b, pos+n == g.size); err != nil {
			return fmt.Errorf("%s at byte %d: %w", g.name, pos, err)
		}
		pos += n
	}
	return nil
}

// rewrite writes what is left of a group into one segment and puts that in its place.
// It returns what is there now.
func (c *compaction) rewrite(ctx context.Context, group []*segment) (*segment, error) {
	p, first, last := c.p, group[0], group[len(group)-1]
	c.out = &segment{
		base: first.base, generation: first.generation + 1, next: first.base, maxTime: -1, shownTime: -1, created: last.created,
	}
	c.out.name = p.store.fs.PathJoin(p.topic.dir, segmentFile(p.index, c.out.base, c.out.generation))
	c.changed = len(group) > 1
	if err := c.roomFor(group); err != nil {
		return nil, err
	}
	if err := p.announce(c.out); err != nil {
		return nil, err
	}
	if err := c.write(ctx, group); err != nil {
		p.discard(c.out)
		return nil, err
	}
	if !c.changed {
		p.discard(c.out)
		return first, nil
	}
	if err := p.replace(group, c.out); err != nil {
		p.discard(c.out)
		return nil, err
	}
	return c.out, nil
}

// roomFor returns an error when the disk cannot hold a copy.
func (c *compaction) roomFor(group []*segment) error {
	var size uint64
	for _, g := range group {
		size += uint64(g.size)
	}
	usage, err := c.p.store.fs.GetDiskUsage(c.p.store.dir)
	if err == nil && usage.AvailBytes < size+roomNeeded {
		return fmt.Errorf("the disk has no room for a copy of %d bytes", size)
	}
	return nil
}

// syncStep is how much is written before the disk is asked to take it, so that no
// sync of a client waits for all of a segment.
const syncStep = 1 << 20

// write makes the new segment's file and brings it to the disk.
func (c *compaction) write(ctx context.Context, group []*segment) error {
	file, err := c.p.store.fs.Create(c.out.name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	file = vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: syncStep})
	c.to = bufio.NewWriterSize(file, 256<<10)
	for i, g := range group {
		err := c.each(ctx, g, func(b record.Batch, last bool) error {
			return c.copy(ctx, b, last && i == len(group)-1)
		})
		if err != nil {
			return errors.Join(err, file.Close())
		}
	}
	err = c.to.Flush()
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), syncDir(c.p.store.fs, c.p.topic.dir))
}

// copy writes what is left of a batch. The last one of a segment stays, if only as a
// header, so that readers get behind it; so does the last one of each producer, as in
// Kafka.
func (c *compaction) copy(ctx context.Context, b record.Batch, last bool) error {
	if b.Control() {
		return c.put(ctx, b.Bytes)
	}
	horizon, known := b.DeleteHorizon()
	known = known && b.BaseOffset < c.from // else its producer has set it
	tombstones := false
	kept, err := c.retain.Select(ctx, b, int(min(c.p.store.cfg.Compaction.Memory, math.MaxInt32)), func(r *record.Record) bool {
		offset := b.BaseOffset + int64(r.OffsetDelta)
		switch {
		case offset < c.start:
			return false // DeleteRecords
		case offset >= c.end:
			return true
		case r.Key == nil, c.keys.superseded(r.Key, offset), r.Value == nil && known && c.now >= horizon:
			return false
		}
		tombstones = tombstones || r.Value == nil
		return true
	})
	if err != nil {
		return err
	}
	if at, ok := c.producers[b.ProducerID]; kept == 0 && !last && (!ok || at != b.BaseOffset) {
		c.changed = true
		return nil
	}
	horizon = -1
	if tombstones && !known {
		horizon = c.now + min(c.cfg.DeleteRetentionMs, math.MaxInt64-c.now)
	}
	if kept == int(b.Count) && horizon < 0 {
		return c.put(ctx, b.Bytes)
	}
	c.changed = true
	if c.buf, err = c.retain.Append(ctx, c.buf[:0], b, horizon); err != nil {
		return err
	}
	return c.put(ctx, c.buf)
}

// put adds a batch to the new segment.
func (c *compaction) put(ctx context.Context, batch []byte) error {
	h, _, err := record.Parse(batch)
	if err != nil {
		return err
	}
	latest := h.MaxTimestamp
	if h.Count == 0 {
		latest = -1 // no record has it
	}
	c.out.add(h.BaseOffset, int64(len(batch)), h.LastOffset()+1, latest)
	if _, err := c.to.Write(batch); err != nil {
		return err
	}
	return c.pace.spend(ctx, int64(len(batch)))
}

// pace slows its caller down to a rate.
type pace struct {
	rate  int64 // bytes a second; 0: any
	began time.Time
	spent int64 // bytes
}

// pauseLeast is the shortest pause; the caller may be ahead of the rate by as much.
const pauseLeast = 10 * time.Millisecond

// spend waits until so many bytes more do not break the rate.
func (p *pace) spend(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil || p.rate == 0 {
		return err
	}
	p.spent += n
	due := time.Duration(float64(p.spent) / float64(p.rate) * float64(time.Second))
	pause := due - time.Since(p.began)
	if pause < pauseLeast {
		return nil
	}
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
