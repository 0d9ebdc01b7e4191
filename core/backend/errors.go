package backend

import (
	"errors"
	"fmt"
)

// The errors of a backend; each method says which it returns.
var (
	ErrUnknownTopic     = errors.New("unknown topic")
	ErrUnknownPartition = errors.New("unknown partition")
	ErrTopicExists      = errors.New("topic already exists")
	ErrTooManyTopics    = errors.New("no room for another topic")
	ErrPartitionCount   = errors.New("the number of partitions can only be raised")
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrOutOfOrderSequence: an idempotent producer's batch neither follows its
	// last one nor repeats one of its last five.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: a batch of an epoch that a newer one replaced.
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")
	// ErrTooLarge: a record, or what a batch holds once it is decompressed, is more
	// than the store takes.
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable: the store cannot be reached; surely nothing was written.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrOutcomeUnknown: the store went away in the middle; the data may or may
	// not have been written.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrStorage: the disk of the embedded store failed.
	ErrStorage = errors.New("storage error")
)

// ConfigError refuses one topic config.
type ConfigError struct {
	Name   string
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("config %s: %s", e.Name, e.Reason) }
