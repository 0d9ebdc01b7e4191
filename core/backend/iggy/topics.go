package iggy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// maxTopics is how many topics a stream may have: Iggy 0.8.0 takes more, and mixes
// them up with the first ones.
const maxTopics = 4096

// change begins a call that changes topics, over topics as they are now. Without an
// error, s.unlockAdmin ends it.
func (s *Store) change(ctx context.Context) error {
	if err := s.up(); err != nil {
		return err
	}
	if err := s.lockAdmin(ctx); err != nil {
		return err
	}
	s.catalog.mu.RLock()
	began := s.catalog.began
	s.catalog.mu.RUnlock()
	if time.Since(began) <= absent {
		return nil
	}
	if err := s.lookNow(ctx); err != nil {
		s.unlockAdmin()
		return err
	}
	return nil
}

// known finds a topic; admin is held.
func (s *Store) known(id uuid.UUID) (*topic, error) {
	if t, _, _ := s.catalog.id(id); t != nil {
		return t, nil
	}
	return nil, backend.ErrUnknownTopic
}

// changeKnown begins a call that changes a topic, as change does.
func (s *Store) changeKnown(ctx context.Context, id uuid.UUID) (*topic, error) {
	if err := s.change(ctx); err != nil {
		return nil, err
	}
	t, err := s.known(id)
	if err != nil {
		s.unlockAdmin()
	}
	return t, err
}

// CreateTopic implements backend.Topics. The overrides that Iggy does not hold are
// in the internal log first: a topic that is there has them, whenever the gateway
// ends.
func (s *Store) CreateTopic(ctx context.Context, n backend.NewTopic) (backend.Topic, error) {
	none := backend.Topic{}
	if n.Partitions < 1 {
		return none, backend.ErrPartitionCount
	}
	if err := s.change(ctx); err != nil {
		return none, err
	}
	defer s.unlockAdmin()
	if t, _ := s.catalog.name(n.Name); t != nil {
		return none, backend.ErrTopicExists
	}
	if err := refuseCompaction(s.configs, nil, n.Overrides); err != nil {
		return none, err
	}
	at := s.names.place(n.Name)
	if err := s.room(at.Stream); err != nil {
		return none, err
	}
	pending := pendingKey(at)
	overrides, err := overridesChange(pending, n.Overrides)
	if err != nil {
		return none, err
	}
	_, left := s.ledger.Get(pending)
	if left || overrides.Value != nil {
		if err := s.ledger.Commit(ctx, []journal.Change{overrides}); err != nil {
			return none, err
		}
	}
	if err := s.make(ctx, at, n); err != nil {
		if overrides.Value != nil && !errors.Is(err, backend.ErrOutcomeUnknown) {
			_ = s.ledger.Commit(ctx, []journal.Change{{Key: pending}}) // or the next start
		}
		return none, s.topicError(n.Name, err)
	}
	if err := s.lookNow(ctx); err != nil {
		return none, fmt.Errorf("%w: topic %s is made, but: %w", backend.ErrOutcomeUnknown, n.Name, err)
	}
	t, _ := s.catalog.name(n.Name)
	if t == nil {
		return none, fmt.Errorf("%w: topic %s was made and has gone", backend.ErrOutcomeUnknown, n.Name)
	}
	return t.info, nil
}

// room returns why a stream cannot have one more topic; admin is held.
func (s *Store) room(stream string) error {
	s.catalog.mu.RLock()
	defer s.catalog.mu.RUnlock()
	if n := s.catalog.counts[stream]; n >= maxTopics {
		return fmt.Errorf("%w: stream %s has %d topics, and with more than %d Iggy mixes up their data; delete some, or map this topic to another stream with iggy.topic_map",
			backend.ErrTooManyTopics, stream, n, maxTopics)
	}
	return nil
}

// make makes the topic in Iggy. Iggy takes no topic whose size is below that of one
// segment, but lets it be set afterwards, with just the effect that Kafka's clients
// expect: of each partition only the segment that is written to stays.
func (s *Store) make(ctx context.Context, at client.Topic, n backend.NewTopic) error {
	want := settingsOf(s.configs.Resolve(n.Overrides), n.Partitions)
	err := s.makeWith(ctx, at, n.Partitions, want)
	if client.Code(err) != ierror.InvalidTopicSizeCode {
		return err
	}
	if err := s.makeWith(ctx, at, n.Partitions, settings{want.expiry, unlimited}); err != nil {
		return err
	}
	err = s.sure(ctx, s.server.UpdateTopic(ctx, at, want.expiry, want.size))
	if err != nil {
		if undo := s.server.DeleteTopic(ctx, at); undo != nil {
			s.log.Warn("a topic was made whose retention.bytes could not be set; delete it or set it",
				zap.String("topic", n.Name), zap.Error(undo))
		}
	}
	return err
}

func (s *Store) makeWith(ctx context.Context, at client.Topic, partitions int32, with settings) error {
	make := func() error {
		_, err := s.server.CreateTopic(ctx, at, client.TopicSettings{
			Partitions: uint32(partitions), Expiry: with.expiry, MaxSize: with.size,
		})
		return err
	}
	err := make()
	if missing(err) { // the stream was deleted
		if _, err := s.server.EnsureStream(ctx, at.Stream); err != nil {
			return err
		}
		err = make()
	}
	var lost *client.Lost
	if !errors.As(err, &lost) {
		return err
	}
	if settled := s.server.Settle(ctx, lost); settled != nil {
		return err
	}
	details, err := s.server.Topic(ctx, at)
	switch {
	case missing(err):
		return fmt.Errorf("%w: the connection ended before topic %s was made", backend.ErrUnavailable, at.Name)
	case err != nil:
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	case details.PartitionsCount != uint32(partitions):
		return fmt.Errorf("%w: topic %s has %d of %d partitions", backend.ErrOutcomeUnknown, at.Name, details.PartitionsCount, partitions)
	}
	return nil
}

// sure turns the loss of a request that changes a setting into an answer, where the
// server can tell: nil is one that has to be looked at, not one that was done.
func (s *Store) sure(ctx context.Context, err error) error {
	var lost *client.Lost
	if errors.As(err, &lost) && s.server.Settle(ctx, lost) == nil {
		return nil
	}
	return err
}

// topicError gives the server's refusals their names here. Of those that clients get
// no name for, the log tells.
func (s *Store) topicError(topic string, err error) error {
	switch code := client.Code(err); {
	case code == ierror.TopicNameAlreadyExistsCode || code == ierror.TopicIdAlreadyExistsCode:
		return backend.ErrTopicExists
	case code == ierror.InvalidTopicSizeCode:
		return &backend.ConfigError{Name: retentionBytes, Reason: "times the number of partitions it is below the size of one segment of the Iggy server, which refuses that; raise it, or lower the server's system.segment.size"}
	case code == ierror.UnauthorizedCode:
		s.log.Error("Iggy does not let the gateway change a topic; give its user the permission manage_topics of the stream",
			zap.String("topic", topic), zap.Error(err))
	case missing(err):
		return backend.ErrUnknownTopic
	case code != 0:
		s.log.Error("Iggy could not change a topic; its own log says why", zap.String("topic", topic), zap.Error(err))
	}
	return err
}

// DeleteTopic implements backend.Topics. Iggy comes first: when the gateway ends in
// the middle, the next start removes what the topic has left. What is on its way to the
// topic is waited for before anybody else who changes one has to wait.
func (s *Store) DeleteTopic(ctx context.Context, id uuid.UUID) error {
	before, err := s.topicByID(ctx, id)
	if err != nil {
		return err
	}
	release, err := before.quiet(ctx, s.cfg.RequestTimeout+quietPatience)
	if err != nil {
		return err
	}
	defer release()
	t, err := s.changeKnown(ctx, id)
	if err != nil {
		return err
	}
	defer s.unlockAdmin()
	if len(t.partitions) != len(before.partitions) {
		return fmt.Errorf("%w: topic %s has just got partitions", backend.ErrUnavailable, t.info.Name)
	}
	if err := s.sure(ctx, s.server.DeleteTopic(ctx, t.at)); err != nil && !missing(err) {
		return s.topicError(t.info.Name, err)
	}
	err = s.lookNow(ctx)
	if _, there := s.known(id); there != nil {
		if err != nil {
			s.log.Warn("what a deleted topic has left is removed later", zap.String("topic", t.info.Name), zap.Error(err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: topic %s was not deleted", backend.ErrUnavailable, t.info.Name)
}

// GrowTopic implements backend.Topics. The size grows first: a topic that keeps
// more than it should for a moment loses nothing.
func (s *Store) GrowTopic(ctx context.Context, id uuid.UUID, total int32) error {
	t, err := s.changeKnown(ctx, id)
	if err != nil {
		return err
	}
	defer s.unlockAdmin()
	if total <= t.info.Partitions {
		return backend.ErrPartitionCount
	}
	want := settingsOf(t.info.Config, total)
	if want.size != t.seen.has.size {
		err := s.sure(ctx, s.server.UpdateTopic(ctx, t.at, t.seen.has.expiry, want.size))
		if err != nil {
			return s.topicError(t.info.Name, err)
		}
	}
	if err := s.sure(ctx, s.server.AddPartitions(ctx, t.at, uint32(total-t.info.Partitions))); err != nil {
		return s.topicError(t.info.Name, err)
	}
	if err := s.lookNow(ctx); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	t, err = s.known(id)
	if err == nil && t.info.Partitions < total {
		return fmt.Errorf("%w: topic %s has %d partitions still", backend.ErrUnavailable, t.info.Name, t.info.Partitions)
	}
	return err
}

// AlterTopic implements backend.Topics.
func (s *Store) AlterTopic(ctx context.Context, id uuid.UUID, change func(map[string]string) (map[string]string, error)) error {
	t, err := s.changeKnown(ctx, id)
	if err != nil {
		return err
	}
	defer s.unlockAdmin()
	overrides, err := change(t.info.Overrides)
	if err != nil {
		return err
	}
	if maps.Equal(overrides, t.info.Overrides) {
		return nil
	}
	if err := refuseCompaction(s.configs, t.info.Overrides, overrides); err != nil {
		return err
	}
	// Iggy comes first, as it may refuse.
	want := settingsOf(s.configs.Resolve(overrides), t.info.Partitions)
	if !want.same(t.seen.has) {
		if err := s.sure(ctx, s.server.UpdateTopic(ctx, t.at, want.expiry, want.size)); err != nil {
			return s.topicError(t.info.Name, err)
		}
	}
	kept, err := overridesChange(topicKey(keyConfigs, id), overrides)
	if err != nil {
		return err
	}
	if err := s.ledger.Commit(ctx, []journal.Change{kept}); err != nil {
		return err
	}
	return s.altered(ctx, t, want)
}

// altered publishes a topic whose overrides are new.
func (s *Store) altered(ctx context.Context, t *topic, want settings) error {
	s.catalog.drop(t)
	if err := s.lookNow(ctx); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	now, err := s.known(t.id)
	if err == nil && !now.seen.has.same(want) {
		return fmt.Errorf("%w: the settings of topic %s in Iggy are not what was asked for", backend.ErrOutcomeUnknown, t.info.Name)
	}
	return err
}
