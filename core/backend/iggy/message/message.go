// Package message is the mapping between Kafka records and Iggy messages, in
// both directions and without I/O. Its layout is the one that the Kafka gateway
// of Apache Iggy writes, so that data written by either is read by both;
// README.md has it row by row and testdata/ as golden vectors.
//
// The paths that carry data are [FromBatch], from a producer's batch to
// messages, and [Batcher], from messages to batches for consumers. Both copy a
// record's value at most once and allocate nothing per record.
package message

import (
	"errors"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// Record is a Kafka record as it lies in a log. Nil means null, for keys,
// values and header values; a slice of length 0 means empty.
type Record struct {
	Timestamp int64 // ms since the epoch; -1: none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one header of a record. Names may repeat; the order counts.
type Header struct {
	Name  []byte
	Value []byte
}

// Message is an Iggy message.
type Message = iggcon.IggyMessage

// ID is the id of a message; see NewID.
type ID = iggcon.MessageID

// The bounds of an Iggy server, in bytes.
const (
	// MaxPayload is the largest payload of a message; none is empty.
	MaxPayload = 64_000_000
	// MaxUserHeaders is the largest block of user headers.
	MaxUserHeaders = 100_000
	// maxField is the longest name or value of a user header; none is empty.
	maxField = 255
	// Overhead is what a message takes in a request or a reply beside its
	// payload and its user headers: its header, and its place in the index that
	// a request has.
	Overhead = iggcon.MessageHeaderSize + 16
)

var (
	// ErrTooLarge: the record does not fit into a message of Iggy, or the
	// messages of a batch are more than they may be.
	ErrTooLarge = errors.New("record too large for an Iggy message")
	// ErrUnreadable: the message says that a gateway wrote it and cannot be
	// read: an unknown version, a broken envelope; or its user headers cannot be
	// read at all. It is skipped as a gap.
	ErrUnreadable = errors.New("unreadable message")
)
