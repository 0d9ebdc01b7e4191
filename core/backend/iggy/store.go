package iggy

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/record"
)

// Store is the backend.
type Store struct {
	cfg  Config
	data client.Data
}

// topic is a topic as it was last seen in Iggy. It is replaced as a whole when
// its description changes; its partitions stay.
type topic struct {
	id         uuid.UUID
	at         client.Topic // where it is in Iggy
	info       backend.Topic
	partitions []*partition
}

// partition is one partition of a topic, for as long as the topic has this id.
type partition struct {
	store *Store
	id    backend.Partition
	at    client.Topic // where it is in Iggy
	index uint32
	positions
	writer writer // writer.go
	tail   tail   // tail.go
}

// positions are the ends of a partition's log as far as they are known, and how
// large its messages are.
type positions struct {
	mu sync.Mutex
	// start and end are backend.Bounds; each is as old as its time says, and the
	// zero time says that it is not known.
	start, end         int64
	startedAt, endedAt time.Time
	// mean is the running mean of what a message takes in a reply, in bytes.
	mean float64
}

// The seams between the parts of this package.

// partition finds a partition: ErrUnknownTopic, ErrUnknownPartition,
// ErrUnavailable. (catalog.go)
func (s *Store) partition(context.Context, backend.Partition) (*partition, error) {
	return nil, backend.ErrUnavailable
}

// topicOf returns the topic of a partition as it is now; nil when it is gone.
// (catalog.go)
func (s *Store) topicOf(*partition) *topic { return nil }

// forget has the topic of p looked up anew, after the server said that there is
// no such topic or partition, or a log was found other than it should be.
// (catalog.go)
func (s *Store) forget(*partition) {}

// knownEnd returns the last end of p's log that the internal log has, and 0 when
// it has none. (ends.go)
func (s *Store) knownEnd(*partition) int64 { return 0 }

// sawEnd notes an end that is certain to be stored, for the internal log.
// (ends.go)
func (s *Store) sawEnd(*partition, int64) {}

// lead returns by how many ms the timestamps of records in p may be ahead of
// the time of their append, and raiseLead notes, durably and before the records
// are sent, that some are. (leads.go)
func (s *Store) lead(*partition) int64                              { return 0 }
func (s *Store) raiseLead(context.Context, *partition, int64) error { return nil }

// probe asks the server for both ends of the log, checks the end against
// knownEnd the first time and after every reconnection, and stores them in
// positions. A log that ends too early gives an ErrStorage that says so, here and
// from everything else that is done with the partition. (probe.go)
func (p *partition) probe(context.Context) (backend.Bounds, error) {
	return backend.Bounds{}, backend.ErrUnavailable
}

// appended tells readers that the batches, whose base offsets are set, are now
// in the log, one after another and the last before end: they are cached, and
// who watches is woken. The bytes are the reader's from then on. (tail.go)
func (p *partition) appended(batches []record.Batch, end int64) {}

// wake wakes who watches p. (watch.go)
func (p *partition) wake() {}

type writer struct{}

type tail struct{}
