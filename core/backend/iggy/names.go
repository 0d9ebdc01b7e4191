package iggy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/topicname"
)

// names says where in Iggy a Kafka topic is: in the default stream, under its own
// name, unless the topic map has it elsewhere.
type names struct {
	stream string                  // where topics are that the map does not name
	at     map[string]client.Topic // by Kafka name
	kafka  map[client.Topic]string
}

// newNames reads the topic map: name=stream/topic, separated by commas. A stream's
// name ends at the first slash. All faults are reported, one a line.
func newNames(c Config) (names, error) {
	n := names{stream: c.Stream, at: map[string]client.Topic{}, kafka: map[client.Topic]string{}}
	var faults []error
	for _, entry := range strings.Split(c.TopicMap, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		if err := n.add(entry, c.InternalStream); err != nil {
			faults = append(faults, err)
		}
	}
	return n, errors.Join(faults...)
}

func (n *names) add(entry, internal string) error {
	name, place, found := strings.Cut(entry, "=")
	stream, topic, slash := strings.Cut(place, "/")
	name, stream, topic = strings.TrimSpace(name), strings.TrimSpace(stream), strings.TrimSpace(topic)
	at := client.Topic{Stream: stream, Name: topic}
	switch {
	case !found || !slash || stream == "" || topic == "":
		return fmt.Errorf("%q is not an entry; write name=stream/topic", entry)
	case topicname.Check(name) != nil:
		return fmt.Errorf("%q: no Kafka topic can be named %q: 1 to %d of A-Z a-z 0-9 . _ - are", entry, name, topicname.MaxLength)
	case len(stream) > maxName || len(topic) > maxName:
		return fmt.Errorf("%q: names in Iggy have at most %d bytes", entry, maxName)
	case stream == internal:
		return fmt.Errorf("%q: stream %q is iggy.internal_stream, which is the gateway's own", entry, stream)
	case n.at[name] != (client.Topic{}):
		return fmt.Errorf("%q: topic %q has an entry already", entry, name)
	case n.kafka[at] != "":
		return fmt.Errorf("%q: topic %q points there already", entry, n.kafka[at])
	}
	n.at[name], n.kafka[at] = at, name
	return nil
}

// place returns where the Kafka topic is, or would be made.
func (n names) place(name string) client.Topic {
	if at, ok := n.at[name]; ok {
		return at
	}
	return client.Topic{Stream: n.stream, Name: name}
}

// name returns the Kafka name of a topic in Iggy, and why it has none.
func (n names) name(at client.Topic) (string, error) {
	if name, ok := n.kafka[at]; ok {
		return name, nil
	}
	if at.Stream != n.stream {
		return "", errElsewhere
	}
	if err := topicname.Check(at.Name); err != nil {
		return "", errors.New("its name is not one that a Kafka topic can have; give it one in iggy.topic_map")
	}
	if other, ok := n.at[at.Name]; ok {
		return "", fmt.Errorf("iggy.topic_map points its name at topic %q of stream %q", other.Name, other.Stream)
	}
	return at.Name, nil
}

// errElsewhere: a topic of another stream that the map does not name.
var errElsewhere = errors.New("in another stream")

// streams returns the streams that hold Kafka topics, sorted, each once.
func (n names) streams() []string {
	all := map[string]bool{n.stream: true}
	for at := range n.kafka {
		all[at.Stream] = true
	}
	return slices.Sorted(maps.Keys(all))
}
