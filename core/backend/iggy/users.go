package iggy

import (
	"context"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// Place is where a topic is in Iggy by numbers, as permissions name it.
type Place struct{ Stream, Topic uint32 }

// Places are the streams that hold Kafka topics, and those topics, by their numbers.
type Places struct {
	// Streams are the names of the streams.
	Streams map[uint32]string
	// Missing says that one of the streams is not there; it would be made with its first
	// topic.
	Missing bool
	// Topics are the names of the topics to Kafka clients.
	Topics map[Place]string
}

// User returns a user of the Iggy server and what it may do: client.ErrNoUser,
// backend.ErrUnavailable; code 41 (client.Code) where the gateway's own user lacks the
// permission read_users.
func (s *Store) User(ctx context.Context, name string) (iggcon.UserInfoDetails, error) {
	if err := s.up(); err != nil {
		return iggcon.UserInfoDetails{}, err
	}
	return s.server.User(ctx, name)
}

// UserNames returns the names of all users of the Iggy server. Errors as User.
func (s *Store) UserNames(ctx context.Context) ([]string, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	return s.server.UserNames(ctx)
}

// CheckPassword asks the Iggy server whether a user has a password:
// client.ErrWrongPassword, client.ErrInactive. Any other error means that it could not
// be found out.
func (s *Store) CheckPassword(ctx context.Context, name, password string) error {
	if err := s.up(); err != nil {
		return err
	}
	return s.server.CheckPassword(ctx, name, password)
}

// StreamOf returns the stream in which a topic is, or would be made. It asks nobody.
func (s *Store) StreamOf(topic string) string { return s.names.place(topic).Stream }

// Mapped reports whether there are topics in more than one stream, as iggy.topic_map
// has it.
func (s *Store) Mapped() bool { return len(s.names.at) > 0 }

// Places returns where topics are, as it is now or was a second ago.
func (s *Store) Places(ctx context.Context) (Places, error) {
	if err := s.up(); err != nil {
		return Places{}, err
	}
	if err := s.look(ctx, time.Now().Add(-fresh)); err != nil {
		return Places{}, err
	}
	all := Places{Streams: map[uint32]string{}, Topics: map[Place]string{}}
	ids := map[string]uint32{}
	for _, name := range s.names.streams() {
		stream, err := s.server.Stream(ctx, name)
		switch {
		case missing(err):
			all.Missing = true
			continue
		case err != nil:
			return Places{}, err
		}
		ids[name], all.Streams[stream.Id] = stream.Id, name
	}
	for _, t := range s.catalog.topics() {
		if stream, ok := ids[t.seen.stream]; ok {
			all.Topics[Place{stream, t.seen.id}] = t.info.Name
		}
	}
	return all, nil
}
