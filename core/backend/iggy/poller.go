package iggy

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

const (
	// shortestLook is the time between two looks for records of native clients
	// where some have just come.
	shortestLook = 10 * time.Millisecond
	// partitionsPerLook is from how many watched partitions of a topic on the
	// whole topic is asked for instead of each of them.
	partitionsPerLook = 3
)

// lookout looks for records of native Iggy clients in the partitions that are
// watched: one goroutine, and none while nobody watches.
type lookout struct {
	mu      sync.Mutex
	watched map[*partition]int // by how many calls of Watch
	running bool
	more    chan struct{} // capacity 1: a partition has come
}

// lookFor has the partitions looked at. Where nobody else writes, nothing comes
// unseen.
func (s *Store) lookFor(ps []*partition) {
	l := &s.lookout
	if s.cfg.SoleWriter || len(ps) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched == nil {
		l.watched, l.more = map[*partition]int{}, make(chan struct{}, 1)
	}
	for _, p := range ps {
		l.watched[p]++
	}
	if !l.running {
		began := s.server.Generation()
		l.running = s.run(func(ctx context.Context) { s.lookAround(ctx, began) })
		return
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (s *Store) lookNoMore(ps []*partition) {
	l := &s.lookout
	if s.cfg.SoleWriter {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range ps {
		if l.watched[p]--; l.watched[p] <= 0 {
			delete(l.watched, p)
		}
	}
}

// pace is how often a topic is looked at.
type pace struct {
	next     time.Time
	interval time.Duration
}

// lookAround looks at the watched partitions until there are none, or the store
// ends. generation is that of the client when the first of them was watched: with
// a later one the server may have been away, and whoever waits looks again, also
// where it was back before anybody missed it.
func (s *Store) lookAround(ctx context.Context, generation uint64) {
	paces := map[client.Topic]*pace{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	away := false
	for {
		topics := s.lookout.topics()
		if topics == nil {
			return
		}
		now := time.Now()
		next := now.Add(s.longestLook())
		for at, ps := range topics {
			pc := paces[at]
			if pc == nil {
				pc = &pace{next: now.Add(shortestLook), interval: shortestLook}
				paces[at] = pc
			}
			if !now.Before(pc.next) {
				grew, err := s.glance(ctx, at, ps)
				missed := errors.Is(err, backend.ErrUnavailable)
				if latest := s.server.Generation(); !missed && (away || latest != generation) {
					generation = latest
					s.lookout.wakeAll()
				}
				away = missed
				pc.after(grew, missed, s.longestLook())
			}
			if pc.next.Before(next) {
				next = pc.next
			}
		}
		for at := range paces {
			if topics[at] == nil {
				delete(paces, at)
			}
		}
		timer.Reset(max(time.Until(next), 0))
		select {
		case <-ctx.Done():
			s.lookout.stop()
			return
		case <-s.lookout.more:
		case <-timer.C:
		}
	}
}

// longestLook is the longest time between two looks.
func (s *Store) longestLook() time.Duration { return max(s.cfg.PollInterval, shortestLook) }

// after sets when to look again: soon where something came, later and later where
// nothing does, and not before long while the server is away.
func (p *pace) after(grew, away bool, longest time.Duration) {
	switch {
	case away:
		p.interval = longest
	case grew:
		p.interval = shortestLook
	default:
		p.interval = min(p.interval*3/2, longest)
	}
	p.next = time.Now().Add(p.interval)
}

// topics returns the watched partitions by topic; without any the lookout is
// over.
func (l *lookout) topics() map[client.Topic][]*partition {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.watched) == 0 {
		l.running = false
		return nil
	}
	topics := map[client.Topic][]*partition{}
	for p := range l.watched {
		topics[p.at] = append(topics[p.at], p)
	}
	return topics
}

func (l *lookout) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
}

func (l *lookout) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.watched {
		p.watchers.Wake()
	}
}

// glance looks at partitions of one topic, and reports whether one has grown. What
// has is woken by whoever notes it.
func (s *Store) glance(ctx context.Context, at client.Topic, ps []*partition) (grew bool, err error) {
	before := make([]int64, len(ps))
	for i, p := range ps {
		before[i] = p.lowest()
	}
	unsure := ps
	if len(ps) >= partitionsPerLook {
		if unsure, err = s.lookAtTopic(ctx, at, ps); err != nil {
			return false, err
		}
	}
	for _, p := range unsure {
		if err = p.lookEnd(ctx); err != nil && !vanished(err) {
			return false, err
		}
		if err != nil {
			p.watchers.Wake()
		}
	}
	for i, p := range ps {
		grew = grew || p.lowest() > before[i]
	}
	return grew, err
}

func vanished(err error) bool {
	return errors.Is(err, backend.ErrUnknownTopic) || errors.Is(err, backend.ErrUnknownPartition)
}

// lookAtTopic asks for all partitions of a topic at once, and returns those that
// are to be asked for alone: the answer has zeros for a partition that is still
// being loaded after a restart of the server, and counts messages that are still
// being written, which a kill of the server takes away again. Polls wait for them.
func (s *Store) lookAtTopic(ctx context.Context, at client.Topic, ps []*partition) (unsure []*partition, err error) {
	asked := make([]asking, len(ps))
	for i, p := range ps {
		asked[i] = p.asks()
	}
	details, err := s.server.Topic(ctx, at)
	if err != nil {
		if client.Code(err) != 0 {
			return ps, nil // their own answers say what it is
		}
		return nil, err
	}
	found := make(map[uint32]*iggcon.PartitionContract, len(details.Partitions))
	for i := range details.Partitions {
		found[details.Partitions[i].Id] = &details.Partitions[i]
	}
	for i, p := range ps {
		d := found[p.index]
		if d == nil || d.SegmentsCount == 0 || d.CurrentOffset >= math.MaxInt64 {
			unsure = append(unsure, p)
			continue
		}
		end := int64(d.CurrentOffset) + 1
		if d.CurrentOffset == 0 && d.MessagesCount == 0 {
			end = min(p.lowest(), 1)
		}
		if end != p.lowest() {
			unsure = append(unsure, p)
			continue
		}
		p.noteEnd(asked[i], end, true)
	}
	return unsure, nil
}
