package embedded

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Compaction is the section "storage.compaction": what the compaction of topics
// with "compact" in their cleanup.policy may take.
type Compaction struct {
	// Interval is the time between two looks for partitions of which
	// min.cleanable.dirty.ratio or max.compaction.lag.ms says that they are to be
	// compacted. Default 15s; at least 100ms.
	Interval time.Duration `koanf:"interval"`
	// Memory bounds, in bytes, the table of keys that one compaction fills, at 64
	// bytes a key; what does not fit is left for the next one. A batch that has
	// more than this in it once it is decompressed stops the compaction of its
	// partition. Default 134217728; at least 65536.
	Memory int64 `koanf:"memory"`
	// Rate bounds how many bytes a second compaction reads and writes, so that it
	// leaves the disk to clients. Default 67108864; 0 means without limit.
	Rate int64 `koanf:"rate_bytes"`
}

const (
	leastCompactionInterval = 100 * time.Millisecond
	leastCompactionMemory   = 64 << 10
)

func defaultCompaction() Compaction {
	return Compaction{Interval: 15 * time.Second, Memory: 128 << 20, Rate: 64 << 20}
}

func (c Compaction) validate() error {
	var faults []error
	if c.Interval < leastCompactionInterval {
		faults = append(faults, errors.New("storage.compaction.interval: must be at least 100ms"))
	}
	if c.Memory < leastCompactionMemory {
		faults = append(faults, errors.New("storage.compaction.memory: must be at least 65536"))
	}
	if c.Rate < 0 {
		faults = append(faults, errors.New("storage.compaction.rate_bytes: must not be negative; 0 means without limit"))
	}
	return errors.Join(faults...)
}

// compactor is the goroutine that compacts.
type compactor struct {
	store *Store
	told  time.Time // when a failure was last logged
}

func (c *compactor) run(ctx context.Context) {
	tick := time.NewTicker(c.store.cfg.Compaction.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.round(ctx)
		}
	}
}

// round compacts all partitions that need it, the dirtiest first. An error of one
// does not stop the others.
func (c *compactor) round(ctx context.Context) {
	s := c.store
	s.mu.RLock()
	topics := make([]*topic, 0, len(s.byID))
	for _, t := range s.byID {
		if t.info.Load().Config.Compact {
			topics = append(topics, t)
		}
	}
	s.mu.RUnlock()
	var all []dirt
	for _, t := range topics {
		cfg := t.info.Load().Config
		for _, p := range *t.partitions.Load() {
			c.tell(p, p.rollStale(cfg))
			if d, ok := p.dirt(cfg, s.ms()); ok {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b dirt) int { return cmp.Compare(b.ratio, a.ratio) })
	for _, d := range all {
		if ctx.Err() != nil || s.keeper.room() != nil {
			return
		}
		c.tell(d.p, d.p.compact(ctx, d))
	}
}

// tell logs why a partition could not be compacted. Damage ends its compaction until
// the next start; everything else is tried again, and told once a minute.
func (c *compactor) tell(p *partition, err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	at := []zap.Field{zap.String("topic", p.topic.name), zap.Int32("partition", p.index), cause(err)}
	switch {
	case gone, errors.Is(err, context.Canceled), errors.Is(err, errGone):
	case errors.Is(err, errDamaged), errors.Is(err, errTorn), errors.Is(err, record.ErrInvalid):
		p.uncompactable = true
		c.store.log.Error("a partition is not compacted any more, as it has a batch that cannot be; reading it goes on", at...)
	case time.Since(c.told) >= time.Minute:
		c.told = time.Now()
		c.store.log.Warn("compaction failed; it is tried again", at...)
	}
}

// dirt is what there is to compact in a partition.
type dirt struct {
	p     *partition
	cfg   topicconfig.Config
	start int64 // of the log
	from  int64 // before it the log is compacted
	// segments are all that may be rewritten, compacted ones included.
	segments []*segment
	ratio    float64 // of bytes not compacted to all that may be rewritten
}

// dirt looks for what is to be compacted at a time, by the rules of Kafka's cleaner:
// never the segment that is written to, nothing below min.compaction.lag.ms, and only
// when there is enough of it or max.compaction.lag.ms has passed.
func (p *partition) dirt(cfg topicconfig.Config, now int64) (dirt, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.usable() != nil || p.uncompactable {
		return dirt{}, false
	}
	if p.clean > p.next {
		p.clean = 0 // what it knew of has been lost
	}
	d := dirt{p: p, cfg: cfg, start: p.start, from: max(p.clean, p.start)}
	var all, dirty int64
	late := false
	for i, g := range p.segments[:max(len(p.segments)-1, 0)] {
		isDirty := g.next > d.from
		young := cfg.MinCompactionLagMs > 0 && now-g.stamp() < cfg.MinCompactionLagMs
		if isDirty && young || !g.sealed || g.visible < g.size {
			break
		}
		all += g.size
		if isDirty {
			dirty += g.size
			late = late || now-g.created > cfg.MaxCompactionLagMs
		}
		d.segments = p.segments[:i+1]
	}
	if dirty == 0 {
		return d, false
	}
	d.segments = slices.Clone(d.segments)
	d.ratio = float64(dirty) / float64(all)
	return d, late || d.ratio > cfg.MinCleanableRatio
}

// stamp is how old the segment's records are: the time of the latest, in ms.
func (g *segment) stamp() int64 {
	if g.maxTime < 0 {
		return g.created // no record has a time
	}
	return g.maxTime
}

// segmentMs is how long a segment takes records (KIP-354).
func segmentMs(cfg *topicconfig.Config) int64 {
	if cfg.Compact {
		return min(cfg.SegmentMs, cfg.MaxCompactionLagMs)
	}
	return cfg.SegmentMs
}

// rollStale begins a new segment when max.compaction.lag.ms wants the present one to
// be compacted. Kafka does that with the next append only, so that the last records of
// a topic that nobody writes to any more stay as they are.
func (p *partition) rollStale(cfg topicconfig.Config) error {
	if cfg.MaxCompactionLagMs == math.MaxInt64 {
		return nil
	}
	p.w.Lock()
	defer p.w.Unlock()
	p.mu.Lock()
	g, unusable := p.last(), p.usable()
	stale := unusable == nil && g != nil && g.size > 0 && p.store.ms()-g.created >= cfg.MaxCompactionLagMs
	p.mu.Unlock()
	if !stale {
		return nil
	}
	if _, err := p.roll(p.store.ms()); err != nil {
		return err
	}
	p.store.keeper.note(p, 0)
	return nil
}
