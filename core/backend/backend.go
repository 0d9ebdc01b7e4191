// Package backend is the contract between the handlers and whatever stores
// topics, partition logs, committed offsets and producer ids.
//
// # Errors
//
// Every method returns, possibly wrapped, one of this package's errors, the
// error of its context, or an error nobody foresaw. Package errcode turns them
// into Kafka codes, in one place. An error never means "done": what a method
// reports as failed with anything but ErrOutcomeUnknown or a context error was
// not written.
//
// # Batches
//
// A partition log holds Kafka record batches (magic 2) as their producers made
// them, still compressed. Base offset and partition leader epoch are set by the
// backend; the CRC does not cover them. The leader epoch is always 0.
//
// All methods are safe for concurrent use. Every implementation passes
// backendtest.Conform.
package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Backend is the whole contract. A handler asks for the part it needs.
type Backend interface {
	Topics
	Logs
	Offsets
	Groups
	Producers
	Disk
	Entries
	// ClusterID returns the id of the cluster: 22 characters of base64url, made
	// once and kept over restarts.
	ClusterID(context.Context) (string, error)
}

// Topic describes a topic at one moment. Its maps are shared: read only.
type Topic struct {
	Name string
	// ID is random, never zero, stable for the topic's life and different when
	// a topic of the same name is made again.
	ID         uuid.UUID
	Partitions int32
	// Overrides holds the configs that were set on the topic, by name.
	Overrides map[string]string
	// Config holds the effective values of the configs that take effect.
	Config topicconfig.Config
}

// NewTopic is what CreateTopic is asked for. Name and configs have been checked.
type NewTopic struct {
	Name       string
	Partitions int32
	Overrides  map[string]string
}

// Topics keeps the topics.
type Topics interface {
	// Topic finds a topic by name; ErrUnknownTopic.
	Topic(ctx context.Context, name string) (Topic, error)
	// TopicByID finds a topic by id; ErrUnknownTopic.
	TopicByID(ctx context.Context, id uuid.UUID) (Topic, error)
	// AllTopics returns every topic, sorted by name.
	AllTopics(ctx context.Context) ([]Topic, error)
	// CreateTopic makes a topic and returns it; ErrTopicExists, *ConfigError
	// for a config that this backend cannot honour, ErrTooManyTopics.
	CreateTopic(ctx context.Context, t NewTopic) (Topic, error)
	// DeleteTopic removes a topic with its records, configs, committed offsets
	// and producer state; ErrUnknownTopic.
	DeleteTopic(ctx context.Context, id uuid.UUID) error
	// GrowTopic raises the number of partitions to total; ErrUnknownTopic,
	// ErrPartitionCount when total is not above the present number.
	GrowTopic(ctx context.Context, id uuid.UUID, total int32) error
	// AlterTopic replaces the topic's config overrides by what change returns
	// for the present ones. Changes of one topic happen one after another, so
	// that two of them cannot undo each other. change must not keep or modify
	// its argument; its error is returned as it is. ErrUnknownTopic,
	// *ConfigError.
	AlterTopic(ctx context.Context, id uuid.UUID, change func(present map[string]string) (map[string]string, error)) error
}

// Partition names one partition log.
type Partition struct {
	Topic uuid.UUID
	Index int32
}

// Append is one batch for one partition.
type Append struct {
	Partition Partition
	// Batch has been checked by record.Check. Append writes base offset and
	// leader epoch into its bytes, and those of the time and CRC on a
	// LogAppendTime topic; it does not keep them.
	Batch record.Batch
}

// Appended is the outcome of one Append.
type Appended struct {
	// Err: ErrUnknownTopic, ErrUnknownPartition, ErrOutOfOrderSequence,
	// ErrInvalidProducerEpoch, ErrTooLarge, ErrUnavailable, ErrOutcomeUnknown,
	// ErrStorage.
	Err error
	// BaseOffset is the offset of the batch's first record. For a batch that an
	// idempotent producer sent again it is the offset it got the first time.
	BaseOffset int64
	// LogStart is the first offset that the partition still has.
	LogStart int64
	// AppendTime, in ms since the epoch, is set on LogAppendTime topics; else −1.
	AppendTime int64
	// Duplicate: the batch was there already, and nothing was written.
	Duplicate bool
}

// Bounds are the ends of a partition log.
type Bounds struct {
	Start int64 // first offset that the log still has
	End   int64 // offset that the next record gets; the high watermark
}

// Found is the answer to a look-up by time. Offset and Timestamp are −1 when
// there is no such record.
type Found struct {
	Offset    int64
	Timestamp int64 // ms since the epoch
}

// Read asks for batches of one partition.
type Read struct {
	Partition Partition
	Offset    int64
	// MaxBytes bounds the answer; only whole batches are returned.
	MaxBytes int
	// Buf is memory that the answer may use, when its capacity is enough.
	Buf []byte
	// AtLeastOne returns the first batch even when it is larger (KIP-74).
	AtLeastOne bool
}

// Logs keeps the records.
type Logs interface {
	// Append appends each batch to its partition; results are in the order of
	// the arguments. Batches of one partition are stored in the order of the
	// calls. It returns when all are as safe as the backend's settings promise.
	// When ctx ends first, the batches still in work report its error.
	Append(ctx context.Context, batches []Append) []Appended
	// Read returns whole batches, the first of which contains Offset, and the
	// bounds of the log at that moment. Offset = End gives no bytes and no
	// error. The bytes belong to the caller, and lie in r.Buf or are new. ErrUnknownTopic,
	// ErrUnknownPartition, ErrOffsetOutOfRange (the bounds are valid then).
	Read(ctx context.Context, r Read) ([]byte, Bounds, error)
	// Available returns how many bytes of whole batches Read would return from
	// the offset on with no limit, but stops counting at max. Errors as Read.
	Available(ctx context.Context, p Partition, offset int64, max int64) (int64, Bounds, error)
	// Bounds returns the ends of the log; ErrUnknownTopic, ErrUnknownPartition.
	Bounds(ctx context.Context, p Partition) (Bounds, error)
	// FindTime returns the first record with a timestamp of at least the given
	// ms since the epoch, also when it lies inside a compressed batch.
	FindTime(ctx context.Context, p Partition, timestamp int64) (Found, error)
	// FindMaxTime returns the largest timestamp of the log and the first
	// offset that has it.
	FindMaxTime(ctx context.Context, p Partition) (Found, error)
	// DeleteRecords moves the start of the log up to an offset: what lies below it
	// is gone for every method, and after a restart too. An offset at or below the
	// start changes nothing. It returns the start. ErrOffsetOutOfRange above the
	// end, ErrUnknownTopic, ErrUnknownPartition.
	DeleteRecords(ctx context.Context, p Partition, before int64) (start int64, err error)
	// DescribeProducers returns the idempotent producers that the partition
	// remembers, by id; ErrUnknownTopic, ErrUnknownPartition.
	DescribeProducers(ctx context.Context, p Partition) ([]ProducerState, error)
	// Watch returns a channel of capacity 1 that gets a value whenever one of
	// the partitions has grown, or ceased to exist, after the call. The caller
	// calls stop when it has finished. Unknown partitions are ignored.
	Watch(ps []Partition) (grown <-chan struct{}, stop func())
}

// ProducerState is what a partition remembers of an idempotent producer.
type ProducerState struct {
	ID           int64
	Epoch        int16
	LastSequence int32
	// LastTimestamp is when its last batch was appended, in ms since the epoch; −1
	// where that is not known.
	LastTimestamp int64
}

// Disk tells where the logs lie, and what they take.
type Disk interface {
	LogDir(ctx context.Context) (LogDir, error)
	// Sizes returns how many bytes each partition of a topic takes, by index;
	// ErrUnknownTopic.
	Sizes(ctx context.Context, topic uuid.UUID) ([]int64, error)
}

// LogDir is the place of the logs.
type LogDir struct {
	// Path is the folder, or a name of where it is, for people.
	Path string
	// Total and Usable are bytes of the volume; −1 where that is not known.
	Total, Usable int64
}

// CommittedOffset is what a group has committed for one partition.
type CommittedOffset struct {
	Offset      int64
	LeaderEpoch int32 // −1: none given
	Metadata    string
	CommitTime  time.Time
}

// Commit is a committed offset and its partition. A negative Offset deletes
// what was stored.
type Commit struct {
	Partition Partition
	CommittedOffset
}

// Offsets keeps the committed offsets of groups. They go when their topic is
// deleted, and else only when somebody asks for it: nothing expires by itself (see
// Groups.ExpireOffsets).
type Offsets interface {
	// CommitOffsets stores all commits in one step: after a crash there are
	// all of them or none. Commits of topics that no longer exist are dropped.
	// ErrTooLarge when there are offsets enough: of the commits that are stored none
	// adds to them then, whereas what was committed before may be committed anew.
	CommitOffsets(ctx context.Context, group string, commits []Commit) error
	// FetchOffsets returns what the group has committed for the partitions; a
	// partition without a commit is left out of the map. Nil partitions asks
	// for all.
	FetchOffsets(ctx context.Context, group string, ps []Partition) (map[Partition]CommittedOffset, error)
	// OffsetGroups returns the names of all groups that have committed
	// offsets, sorted.
	OffsetGroups(ctx context.Context) ([]string, error)
	// DeleteOffsets removes everything that the group has committed.
	DeleteOffsets(ctx context.Context, group string) error
}

// Groups keeps, for a coordinator, what its groups are after a restart. It is a
// coordinator.Ledger.
type Groups interface {
	// EachGroup calls each once for every group that has a saved state, committed
	// offsets or both, in order of their names; state is nil where none was saved.
	// It stops at the first error of each and returns it. each may call the
	// backend, and must not change state.
	EachGroup(ctx context.Context, each func(group string, state []byte) error) error
	// SaveGroup stores the state of a group in place of what was stored; nil
	// forgets it. After a crash the old state is there or the new one. ErrTooLarge
	// above MaxGroupState.
	SaveGroup(ctx context.Context, group string, state []byte) error
	// ExpireOffsets removes the group's committed offsets that were committed
	// before a time, but for those of topics that keep holds on to (nil: none),
	// and returns how many offsets the group has left. An offset that is committed
	// anew meanwhile is not removed.
	ExpireOffsets(ctx context.Context, group string, before time.Time, keep func(topic string) bool) (left int, err error)
}

// MaxGroupState is the longest state of a group, in bytes.
const MaxGroupState = 16 << 20

// Entries keeps small values about the cluster, such as ACLs, credentials and
// quotas: each kind is a map of its own, which whoever owns the kind reads whole at
// the start and then writes through.
type Entries interface {
	// Entries returns all values of a kind by name. The caller owns them.
	Entries(ctx context.Context, kind string) (map[string][]byte, error)
	// ChangeEntries stores and, for nil values, deletes, all in one step: after a
	// crash all changes are there or none. A value that is not there is deleted
	// without an error. ErrTooLarge when the changes together exceed MaxEntries.
	//
	// Without changes it writes nothing, and returns nil when it is known what became
	// of every change of entries that ended before with ErrOutcomeUnknown or a context
	// error: Entries has it then, or it never will be stored. Otherwise
	// ErrUnavailable or ErrOutcomeUnknown, for another try.
	ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error
}

// CheckEntries returns ErrTooLarge when changes are too large together; every
// implementation of Entries calls it.
func CheckEntries(kind string, changes map[string][]byte) error {
	size := 0
	for name, value := range changes {
		size += len(name) + len(value)
	}
	if size > MaxEntries {
		return fmt.Errorf("%w: changes of %s have %d bytes together, limit %d", ErrTooLarge, kind, size, MaxEntries)
	}
	return nil
}

// MaxEntries bounds the names and values of one change of entries, in bytes.
const MaxEntries = 1 << 20

// Producers hands out producer ids.
type Producers interface {
	// NewProducerID returns an id that was never handed out before, also not
	// before a crash.
	NewProducerID(ctx context.Context) (int64, error)
}
