package iggy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// maxCreation is the longest time between the two created_at of a topic when the
// server is known to have started again in between, and maxCreationUnasked when it
// does not let the gateway ask.
const (
	maxCreation        = uint64(time.Minute / time.Microsecond)
	maxCreationUnasked = uint64(time.Second / time.Microsecond)
)

// namespace is what ids of topics are made in.
var namespace = uuid.MustParse("6e9b6a5e-8f0b-4f56-9b5c-5d1d4ab9f6a1")

// seen is what a look tells of a topic.
type seen struct {
	place
	name       string // Kafka's
	at         client.Topic
	created    uint64 // µs
	partitions int32
	has        settings
}

// refresh looks at all topics.
func (s *Store) refresh(ctx context.Context) error {
	if err := s.lockAdmin(ctx); err != nil {
		return err
	}
	defer s.unlockAdmin()
	return s.lookNow(ctx)
}

func (s *Store) lockAdmin(ctx context.Context) error {
	select {
	case s.admin <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) unlockAdmin() { <-s.admin }

// lookNow asks for all topics and publishes them; admin is held. A topic that is
// new is published once its entry is in the ledger: what is stored under its id
// must be found after the next restart of the server.
func (s *Store) lookNow(ctx context.Context) error {
	began := time.Now()
	all, counts, next, changes, err := s.survey(ctx)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := s.ledger.Commit(ctx, changes); err != nil {
			return err
		}
	}
	topics := make([]*topic, 0, len(all))
	same := true
	for i, one := range all {
		t, old, err := s.topicFrom(one, next[i].ID)
		if err != nil {
			return err
		}
		same = same && old
		topics = append(topics, t)
	}
	replaced := s.note(all, next)
	if same && len(topics) == s.catalog.size() {
		s.catalog.mu.Lock()
		s.catalog.looked(began, counts)
		s.catalog.mu.Unlock()
	} else {
		for _, p := range s.catalog.publish(began, topics, counts) {
			p.drop()
		}
	}
	return s.purge(ctx, all, replaced)
}

// maxSurveys bounds how often a look begins anew because of new connections, which
// come one after another after a start.
const maxSurveys = 20

// survey lists the topics and finds their entries. What is noted of a new one comes
// from two requests, its created_at and the run of the server, which are of the same
// run when no connection was made since before the first: the server is asked anew
// otherwise.
func (s *Store) survey(ctx context.Context) (all []seen, counts map[string]int, next []entry, changes []journal.Change, err error) {
	for range maxSurveys {
		generation := s.server.Generation()
		if all, counts, err = s.list(ctx); err != nil {
			return nil, nil, nil, nil, err
		}
		if next, changes, err = s.identify(ctx, all); err != nil {
			return nil, nil, nil, nil, err
		}
		if len(changes) == 0 || s.server.Generation() == generation {
			return all, counts, next, changes, nil
		}
	}
	return nil, nil, nil, nil, fmt.Errorf("%w: connections to Iggy come and go", backend.ErrUnavailable)
}

// list returns the topics that Kafka clients may see, and the number of all topics
// of each stream.
func (s *Store) list(ctx context.Context) ([]seen, map[string]int, error) {
	var all []seen
	counts, hidden := map[string]int{}, map[client.Topic]bool{}
	for _, stream := range s.names.streams() {
		topics, err := s.server.Topics(ctx, stream)
		if err != nil && !missing(err) {
			return nil, nil, err
		}
		counts[stream] = len(topics)
		for _, t := range topics {
			at := client.Topic{Stream: stream, Name: t.Name}
			name, err := s.names.name(at)
			if err != nil {
				if err != errElsewhere {
					hidden[at] = true
					s.hide(at, err)
				}
				continue
			}
			all = append(all, seen{
				place: place{stream, t.Id}, name: name, at: at, created: t.CreatedAt,
				partitions: int32(t.PartitionsCount), has: settings{t.MessageExpiry, t.MaxTopicSize},
			})
		}
	}
	s.hidden = hidden
	return all, counts, nil
}

// hide says once that clients do not see a topic.
func (s *Store) hide(at client.Topic, why error) {
	if !s.hidden[at] {
		s.log.Warn("a topic of Iggy is not shown to Kafka clients",
			zap.String("stream", at.Stream), zap.String("topic", at.Name), zap.String("reason", why.Error()))
	}
}

// missing reports that the server has no such stream or topic.
func missing(err error) bool {
	switch client.Code(err) {
	case ierror.StreamIdNotFoundCode, ierror.StreamNameNotFoundCode, ierror.TopicIdNotFoundCode, ierror.TopicNameNotFoundCode, ierror.ResourceNotFoundCode:
		return true
	}
	return false
}

// identify finds the entry of each topic, or makes one; the changes keep what is
// new.
func (s *Store) identify(ctx context.Context, all []seen) ([]entry, []journal.Change, error) {
	var changes []journal.Change
	out := make([]entry, len(all))
	run, asked := "", false
	for i, one := range all {
		e, known := s.entries[one.place]
		if known && e.Created == one.created {
			out[i] = e
			continue
		}
		if !asked {
			var err error
			if run, err = s.serverRun(ctx); err != nil {
				return nil, nil, err
			}
			asked = true
		}
		if known && e.restarted(one.created, run) {
			e.Created, e.Run = one.created, run
			out[i] = e
			change, err := e.change(one.place)
			if err != nil {
				return nil, nil, err
			}
			changes = append(changes, change)
			continue
		}
		e = entry{ID: topicID(one), Created: one.created, Run: run}
		adopted, err := s.adopt(e, one)
		if err != nil {
			return nil, nil, err
		}
		out[i], changes = e, append(changes, adopted...)
	}
	return out, changes, nil
}

// topicID makes the id of a topic.
func topicID(one seen) uuid.UUID {
	b := binary.BigEndian.AppendUint64(nil, one.created)
	b = binary.BigEndian.AppendUint32(b, one.id)
	return uuid.NewSHA1(namespace, append(b, one.stream...))
}

// restarted reports that a created_at other than the one that was noted belongs to
// the same topic, because the server has started since.
func (e entry) restarted(created uint64, run string) bool {
	if created < e.Created || e.Run == run && run != "" {
		return false
	}
	if e.Run == "" || run == "" {
		return created-e.Created <= maxCreationUnasked
	}
	return created-e.Created <= maxCreation
}

// serverRun names this run of the server, or gives "" when it does not say. One that
// is away has to be asked later: without its answer a topic that was made again
// could be taken for the one before, and the other way round.
func (s *Store) serverRun(ctx context.Context) (string, error) {
	stats, err := s.server.Stats(ctx)
	switch {
	case err == nil:
		return fmt.Sprintf("%d@%d", stats.ProcessId, stats.StartTime), nil
	case ctx.Err() != nil, errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, client.ErrBadReply):
		return "", err
	}
	return "", nil
}

// adopt returns the changes that keep a new entry, with the overrides that its
// creation left.
func (s *Store) adopt(e entry, one seen) ([]journal.Change, error) {
	change, err := e.change(one.place)
	if err != nil {
		return nil, err
	}
	changes := []journal.Change{change}
	if overrides, ok := s.ledger.Get(pendingKey(one.at)); ok {
		changes = append(changes, journal.Change{Key: topicKey(keyConfigs, e.ID), Value: overrides},
			journal.Change{Key: pendingKey(one.at)})
	}
	return changes, nil
}

// topicFrom describes a topic, and reports whether that is the one that is known
// already.
func (s *Store) topicFrom(one seen, id uuid.UUID) (t *topic, same bool, err error) {
	old, _, _ := s.catalog.id(id)
	if old != nil && old.seen == one {
		return old, true, nil
	}
	kept, err := keptOverrides(s.ledger, topicKey(keyConfigs, id))
	if err != nil {
		return nil, false, err
	}
	overrides := shownOverrides(s.configs, kept, one.partitions, one.has)
	t = &topic{
		id: id, at: one.at, seen: one,
		info: backend.Topic{
			Name: one.name, ID: id, Partitions: one.partitions,
			Overrides: overrides, Config: s.configs.Resolve(overrides),
		},
		sizes: &sizes{},
	}
	if old != nil && old.at == one.at {
		t.partitions = slices.Clone(old.partitions[:min(len(old.partitions), int(one.partitions))])
	}
	for i := len(t.partitions); i < int(one.partitions); i++ {
		t.partitions = append(t.partitions, s.newPartition(backend.Partition{Topic: id, Index: int32(i)}, one.at))
	}
	return t, false, nil
}

// newPartition makes a partition of which nothing is known.
func (s *Store) newPartition(id backend.Partition, at client.Topic) *partition {
	p := &partition{
		store: s, id: id, at: at, index: uint32(id.Index),
		writer: writer{turn: make(chan struct{}, 1)}, trim: trim{turn: make(chan struct{}, 1)},
	}
	s.loadTrim(p)
	s.loadVoids(p)
	return p
}

// note takes over the entries of what was seen. It returns the ids of topics whose
// place another one has now.
func (s *Store) note(all []seen, next []entry) (replaced []uuid.UUID) {
	for i, one := range all {
		if old, ok := s.entries[one.place]; ok && old.ID != next[i].ID {
			replaced = append(replaced, old.ID)
		}
		s.entries[one.place] = next[i]
	}
	return replaced
}
