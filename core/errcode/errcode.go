// Package errcode turns the errors of a backend into Kafka error codes: the one
// place where the two meet. What a code should be depends on who reads it, so
// there is a function for each kind of request; all but −1 make stock clients
// try again.
package errcode

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/backend"
)

// Log is the code of an error about the log of a partition: of Produce,
// ListOffsets, DeleteRecords, OffsetForLeaderEpoch and DescribeProducers; 0 for nil.
func Log(err error) int16 {
	return code(err, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.KafkaStorageError)
}

// Fetch is the code of an error of Fetch; 0 for nil. It never is
// REQUEST_TIMED_OUT, which the Java consumer throws at its user.
func Fetch(err error) int16 {
	return code(err, kerr.NotLeaderForPartition, kerr.NotLeaderForPartition, kerr.KafkaStorageError)
}

// Offsets is the code of an error about committed offsets; 0 for nil.
func Offsets(err error) int16 {
	if errors.Is(err, backend.ErrTooLarge) {
		return kerr.InvalidCommitOffsetSize.Code
	}
	return code(err, kerr.CoordinatorLoadInProgress, kerr.CoordinatorLoadInProgress, kerr.CoordinatorLoadInProgress)
}

// Topics is the code of an error about topics and configs; 0 for nil.
func Topics(err error) int16 {
	return code(err, kerr.NotController, kerr.RequestTimedOut, kerr.KafkaStorageError)
}

// Disk is the code of an error about where logs lie: of DescribeLogDirs and
// AlterReplicaLogDirs; 0 for nil. A store that cannot be reached reads as a
// directory that is offline.
func Disk(err error) int16 {
	return code(err, kerr.KafkaStorageError, kerr.KafkaStorageError, kerr.KafkaStorageError)
}

// plain holds the errors that mean the same to every request.
var plain = []struct {
	err  error
	code *kerr.Error
}{
	{backend.ErrUnknownTopic, kerr.UnknownTopicOrPartition},
	{backend.ErrUnknownPartition, kerr.UnknownTopicOrPartition},
	{backend.ErrTopicExists, kerr.TopicAlreadyExists},
	{backend.ErrTooManyTopics, kerr.PolicyViolation},
	{backend.ErrPartitionCount, kerr.InvalidPartitions},
	{backend.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
	{backend.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
	{backend.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
	{backend.ErrTooLarge, kerr.MessageTooLarge},
}

func code(err error, unavailable, unknown, storage *kerr.Error) int16 {
	if err == nil {
		return 0
	}
	for _, p := range plain {
		if errors.Is(err, p.err) {
			return p.code.Code
		}
	}
	var refused *backend.ConfigError
	switch {
	case errors.As(err, &refused):
		return kerr.InvalidConfig.Code
	case errors.Is(err, backend.ErrUnavailable):
		return unavailable.Code
	case errors.Is(err, backend.ErrOutcomeUnknown),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unknown.Code
	case errors.Is(err, backend.ErrStorage):
		return storage.Code
	}
	return kerr.UnknownServerError.Code
}
