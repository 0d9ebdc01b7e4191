package iggy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// fresh is how old the catalog may be before it is looked up anew.
	fresh = time.Second
	// absent is for how long a topic that was looked for and not found is taken
	// for missing: clients that keep asking cost the server one look in this time.
	absent = 100 * time.Millisecond
	// patience is how long a question waits for a new look before it is answered
	// from the old one.
	patience = 200 * time.Millisecond
)

// catalog holds the topics as they were last seen. Topics that are known are
// served from it, also while Iggy is away; one that is not known has the server
// asked.
type catalog struct {
	mu     sync.RWMutex
	byName map[string]*topic
	byID   map[uuid.UUID]*topic
	sorted []backend.Topic
	// counts are the topics of each stream, native ones included.
	counts map[string]int
	// began is when the last look that succeeded began; the zero time: never.
	began time.Time
	// doubted are topics that the server did not know, and since when.
	doubted map[uuid.UUID]time.Time

	flight  *flight // the look that is under way
	failure error   // of the last look, if it failed
	failed  time.Time
}

// flight is a look that is under way; who needs one waits for it together.
type flight struct {
	began time.Time
	done  chan struct{}
	err   error // valid once done is closed
}

func (c *catalog) size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.byID)
}

// topics returns all topics as they are known.
func (c *catalog) topics() []*topic {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*topic, 0, len(c.byID))
	for _, t := range c.byID {
		all = append(all, t)
	}
	return all
}

// id finds a topic; since is the time of the look that this answer needs.
func (c *catalog) id(id uuid.UUID) (t *topic, since time.Time, stale bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byID[id], c.doubted[id], time.Since(c.began) > fresh
}

func (c *catalog) name(name string) (t *topic, stale bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name], time.Since(c.began) > fresh
}

// partition finds a partition: ErrUnknownTopic, ErrUnknownPartition,
// ErrUnavailable. A known one costs no request.
func (s *Store) partition(ctx context.Context, id backend.Partition) (*partition, error) {
	t, err := s.topicByID(ctx, id.Topic)
	if err != nil {
		return nil, err
	}
	if int(id.Index) >= len(t.partitions) {
		// It may have been added by other means than the gateway.
		if err := s.look(ctx, time.Now().Add(-absent)); err != nil {
			return nil, err
		}
		if t, _, _ = s.catalog.id(id.Topic); t == nil {
			return nil, backend.ErrUnknownTopic
		}
	}
	if id.Index < 0 || int(id.Index) >= len(t.partitions) {
		return nil, backend.ErrUnknownPartition
	}
	return t.partitions[id.Index], nil
}

// topicByID finds a topic. One that is known is answered at once and looked up in
// the background; one that is not, or that the server did not know, has to be
// looked up first.
func (s *Store) topicByID(ctx context.Context, id uuid.UUID) (*topic, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	if id == uuid.Nil {
		return nil, backend.ErrUnknownTopic
	}
	t, since, stale := s.catalog.id(id)
	switch {
	case t == nil:
		since = time.Now().Add(-absent)
	case since.IsZero():
		if stale {
			s.lookSoon()
		}
		return t, nil
	}
	if err := s.look(ctx, since); err != nil {
		return nil, err
	}
	if t, _, _ = s.catalog.id(id); t == nil {
		return nil, backend.ErrUnknownTopic
	}
	return t, nil
}

// topicOf returns the topic of a partition as it is now; nil when it is gone.
func (s *Store) topicOf(p *partition) *topic {
	t, _, _ := s.catalog.id(p.id.Topic)
	if t == nil || int(p.index) >= len(t.partitions) || t.partitions[p.index] != p {
		return nil
	}
	return t
}

// forget has the topic of p looked up anew, after the server said that there is
// no such topic or partition, or a log was found other than it should be: who asks
// for it next waits for that.
func (s *Store) forget(p *partition) {
	c := &s.catalog
	c.mu.Lock()
	if c.byID[p.id.Topic] != nil {
		if c.doubted == nil {
			c.doubted = map[uuid.UUID]time.Time{}
		}
		c.doubted[p.id.Topic] = time.Now()
	}
	c.mu.Unlock()
	s.lookSoon()
}

// look returns when a look that began at the given time or later has succeeded, or
// with the error of one that has not.
func (s *Store) look(ctx context.Context, notBefore time.Time) error {
	for {
		f, err := s.flight(notBefore)
		if f == nil {
			return err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !f.began.Before(notBefore) {
			return f.err
		}
	}
}

// flight returns the look to wait for, or none when the answer is known already.
func (s *Store) flight(notBefore time.Time) (*flight, error) {
	c := &s.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.began.Before(notBefore):
		return nil, nil
	case c.flight != nil:
		return c.flight, nil
	case c.failure != nil && !c.failed.Before(notBefore):
		return nil, c.failure
	}
	f := &flight{began: time.Now(), done: make(chan struct{})}
	if !s.run(func(ctx context.Context) { s.land(f, s.refresh(ctx)) }) {
		return nil, backend.ErrUnavailable
	}
	c.flight = f
	return f, nil
}

// land ends a look.
func (s *Store) land(f *flight, err error) {
	c := &s.catalog
	c.mu.Lock()
	c.flight, c.failure, f.err = nil, err, err
	if err != nil {
		c.failed = f.began
	}
	c.mu.Unlock()
	close(f.done)
}

// lookSoon begins a look and waits for nothing. After one that failed it lets
// some time pass.
func (s *Store) lookSoon() { _, _ = s.flight(time.Now().Add(-absent)) }

// patiently waits for a new look, but not for long, and takes what is known when
// there is none.
func (s *Store) patiently(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = s.look(ctx, time.Now().Add(-fresh))
}

// Topic implements backend.Topics.
func (s *Store) Topic(ctx context.Context, name string) (backend.Topic, error) {
	if err := s.up(); err != nil {
		return backend.Topic{}, err
	}
	t, stale := s.catalog.name(name)
	if t != nil && stale {
		s.patiently(ctx)
		t, _ = s.catalog.name(name)
	}
	if t == nil {
		if err := s.look(ctx, time.Now().Add(-absent)); err != nil {
			return backend.Topic{}, err
		}
		if t, _ = s.catalog.name(name); t == nil {
			return backend.Topic{}, backend.ErrUnknownTopic
		}
	}
	return t.info, nil
}

// TopicByID implements backend.Topics.
func (s *Store) TopicByID(ctx context.Context, id uuid.UUID) (backend.Topic, error) {
	if t, _, stale := s.catalog.id(id); t != nil && stale && s.up() == nil {
		s.patiently(ctx)
	}
	t, err := s.topicByID(ctx, id)
	if err != nil {
		return backend.Topic{}, err
	}
	return t.info, nil
}

// AllTopics implements backend.Topics.
func (s *Store) AllTopics(ctx context.Context) ([]backend.Topic, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	if _, stale := s.catalog.name(""); stale {
		s.patiently(ctx)
	}
	s.catalog.mu.RLock()
	defer s.catalog.mu.RUnlock()
	return slices.Clone(s.catalog.sorted), nil
}

// publish replaces what is known. It returns the partitions that there were and no
// longer are.
func (c *catalog) publish(began time.Time, next []*topic, counts map[string]int) (gone []*partition) {
	byName, byID := make(map[string]*topic, len(next)), make(map[uuid.UUID]*topic, len(next))
	sorted := make([]backend.Topic, 0, len(next))
	stays := map[*partition]bool{}
	for _, t := range next {
		byName[t.info.Name], byID[t.id] = t, t
		sorted = append(sorted, t.info)
		for _, p := range t.partitions {
			stays[p] = true
		}
	}
	slices.SortFunc(sorted, func(a, b backend.Topic) int { return strings.Compare(a.Name, b.Name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.byID {
		for _, p := range t.partitions {
			if !stays[p] {
				gone = append(gone, p)
			}
		}
	}
	c.byName, c.byID, c.sorted = byName, byID, sorted
	c.looked(began, counts)
	return gone
}

// looked notes that all is as it was; mu is held.
func (c *catalog) looked(began time.Time, counts map[string]int) {
	c.began, c.counts = began, counts
	for id, since := range c.doubted {
		if !since.After(began) {
			delete(c.doubted, id)
		}
	}
}

// drop makes the next look describe the topic anew.
func (c *catalog) drop(t *topic) {
	again := *t
	again.seen = seen{}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[t.id] == t {
		c.byID[t.id], c.byName[t.info.Name] = &again, &again
	}
}
