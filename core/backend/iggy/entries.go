package iggy

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// Keys of the ledger. The first bytes say what it is.
const (
	keyCluster   = "cluster"   // → cluster id
	keyProducers = "producers" // → first producer id that is not reserved
	keyTopic     = "t/"        // stream, 0, id in Iggy → entry
	keyPending   = "p/"        // stream, 0, name in Iggy → overrides of a topic that is being made
	keyConfigs   = "c/"        // topic → overrides
	keyOffset    = "o/"        // group, topic, partition → committed offset
	keyGroup     = "g/"        // group → its state
	keyEnd       = "e/"        // topic, partition → end of the log
	keyValue     = "v/"        // kind, 0, name → value of backend.Entries
	keyStart     = "s/"        // topic, partition → first offset that was not deleted
	keyLead      = "l/"        // topic, partition → lead of timestamps, ms
	keyVoid      = "x/"        // topic, partition → ranges of offsets that are passed over
)

// place is where a topic is in Iggy by numbers: what it is called may change.
type place struct {
	stream string
	id     uint32
}

// entry is what the gateway knows of a topic, so that it keeps its id.
type entry struct {
	ID uuid.UUID `json:"id"`
	// Created is created_at as it was last seen, in µs. It changes once: the
	// server has one time for its memory and one, later by as long as the creation
	// took, for the log that it starts from.
	Created uint64 `json:"created"`
	// Run names the run of the server in which Created was seen; "" when it could
	// not be asked.
	Run string `json:"run,omitempty"`
}

// entries are all of them.
type entries map[place]entry

func (p place) key() string {
	return string(binary.BigEndian.AppendUint32([]byte(keyTopic+p.stream+"\x00"), p.id))
}

// loadEntries reads all entries of the ledger.
func loadEntries(l ledger) (entries, error) {
	all := entries{}
	for key, value := range l.Scan(keyTopic) {
		stream, id, ok := strings.Cut(key[len(keyTopic):], "\x00")
		var e entry
		if err := json.Unmarshal(value, &e); err != nil || !ok || len(id) != 4 {
			return nil, fmt.Errorf("%w: key %q of the internal log cannot be read", backend.ErrStorage, key)
		}
		all[place{stream, binary.BigEndian.Uint32([]byte(id))}] = e
	}
	return all, nil
}

func (e entry) change(p place) (journal.Change, error) {
	b, err := json.Marshal(e)
	return journal.Change{Key: p.key(), Value: b}, err
}

// pendingKey is where the overrides of a topic are from before it is made until it
// has an entry: a topic that was made in the moment of a crash has them.
func pendingKey(at client.Topic) string { return keyPending + at.Stream + "\x00" + at.Name }

// topicKey is the key of something a topic has, or the prefix of what its
// partitions have.
func topicKey(kind string, id uuid.UUID) string { return kind + string(id[:]) }

// partitionKey is the key of something a partition has.
func partitionKey(kind string, p backend.Partition) string {
	return string(binary.BigEndian.AppendUint32([]byte(topicKey(kind, p.Topic)), uint32(p.Index)))
}

// overridesChange keeps the overrides of a topic under a key; none are not kept.
func overridesChange(key string, overrides map[string]string) (journal.Change, error) {
	if len(overrides) == 0 {
		return journal.Change{Key: key}, nil
	}
	b, err := json.Marshal(overrides)
	return journal.Change{Key: key, Value: b}, err
}

// keptOverrides returns the overrides under a key.
func keptOverrides(l ledger, key string) (map[string]string, error) {
	b, ok := l.Get(key)
	if !ok {
		return nil, nil
	}
	var overrides map[string]string
	if err := json.Unmarshal(b, &overrides); err != nil {
		return nil, fmt.Errorf("%w: key %q of the internal log: %w", backend.ErrStorage, key, err)
	}
	return overrides, nil
}
