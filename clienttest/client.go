package clienttest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Record is one record as a client sends or receives it. A nil Key or Value is Kafka's null, an empty one is
// not. Partition and Offset are set on received records only: the library chooses
// the partition.
type Record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
	Time      int64    `json:"time"` // ms since the epoch
}

// Header is one header of a record. Names may repeat and their order counts.
type Header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// Offsets maps partitions to offsets.
type Offsets map[int32]int64

// Polled is what one Poll of a group member brought: the records, and the partitions it owns at that moment.
type Polled struct {
	Records    []Record `json:"records"`
	Partitions []int32  `json:"partitions"`
}

// Group is a described group, reduced to what every library shows.
type Group struct {
	State   string    `json:"state"`   // as on the wire: Stable, PreparingRebalance, …
	Members [][]int32 `json:"members"` // one entry a member: its assigned partitions of the scenario's topic
}

// Client adapts one library. Its methods return the library's error as it came. Nothing may be retried in an
// adapter beyond what the library does by itself.
type Client interface {
	CreateTopic(ctx context.Context, topic string, partitions int) error
	DeleteTopic(ctx context.Context, topic string) error
	// Produce sends the records in order, with the library's compression codec of that name (Codecs), its
	// default acknowledgement and, when it can, idempotently. It returns when all are acknowledged.
	Produce(ctx context.Context, topic, codec string, records []Record) error
	// Read returns count records, read without a group from the given offsets (partitions 0, 1 and 2).
	Read(ctx context.Context, topic string, from Offsets, count int) ([]Record, error)
	// OffsetsAt returns for partitions 0, 1 and 2 the offset of the first record at or after a time (ms since
	// the epoch).
	OffsetsAt(ctx context.Context, topic string, at int64) (Offsets, error)
	Groups(ctx context.Context) ([]string, error)
	Describe(ctx context.Context, group, topic string) (Group, error)
	// Join starts a member of the group. Where nothing is committed it starts at the earliest offset; it
	// never commits by itself; it sends a heartbeat every 500 ms, so that tests are quick.
	Join(ctx context.Context, group, topic string) (Member, error)
	Close() error
}

// Member is one member of a group, used by one goroutine.
type Member interface {
	// Poll waits at most about a second for records. It returns none when none came.
	Poll(ctx context.Context) (Polled, error)
	// Commit stores these positions for the group and returns when the server has them.
	Commit(ctx context.Context, topic string, positions Offsets) error
	// Close leaves the group.
	Close() error
}

// Codecs are the names that Produce takes.
func Codecs() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// Traits say what a library cannot do, so that the rest is tested.
type Traits struct {
	// Lacks maps what is missing to the reason, which the skipped test prints: a codec's name, or a
	// scenario's (topic, records, seek, groups, resume, restart).
	Lacks map[string]string
	// NotIdempotent: the library has no idempotent producer. Otherwise every stored batch must carry a
	// producer id.
	NotIdempotent bool
	// UnorderedHeaders: the library hands over headers as a map, so their order across different names is lost.
	UnorderedHeaders bool
	// EmptyReadsNull: the library hands over an empty value as null. It still has to write it empty.
	EmptyReadsNull bool
}

// Owned keeps the partitions that a member owns, for libraries that tell it by callbacks.
type Owned struct {
	mu  sync.Mutex
	set map[int32]bool
}

// Add notes partitions that were assigned in addition.
func (o *Owned) Add(partitions ...int32) { o.note(true, partitions) }

// Remove notes partitions that were revoked or lost.
func (o *Owned) Remove(partitions ...int32) { o.note(false, partitions) }

// List returns what is owned now.
func (o *Owned) List() []int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.set))
}

func (o *Owned) note(owned bool, partitions []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.set == nil {
		o.set = map[int32]bool{}
	}
	for _, partition := range partitions {
		if owned {
			o.set[partition] = true
		} else {
			delete(o.set, partition)
		}
	}
}

// Gather is Poll for libraries that deliver by a channel: it waits at most a second for something to come,
// and then takes what follows closely.
func Gather[T any](ctx context.Context, from <-chan T) []T {
	var out []T
	patience := time.Second
	for {
		select {
		case one := <-from:
			out, patience = append(out, one), 20*time.Millisecond
		case <-time.After(patience):
			return out
		case <-ctx.Done():
			return out
		}
	}
}
