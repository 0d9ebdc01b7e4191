// Package message is the mapping between Kafka records and Iggy messages, in
// both directions and without I/O. Its layout is the one that the Kafka gateway
// of Apache Iggy writes, so that data written by either is read by both;
// README.md has it row by row and testdata/ as golden vectors.
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

var (
	// ErrTooLarge: the record does not fit into a message of Iggy.
	ErrTooLarge = errors.New("record too large for an Iggy message")
	// ErrUnreadable: the message says that a gateway wrote it, and cannot be
	// read: an unknown version, or a broken envelope. It is skipped as a gap.
	ErrUnreadable = errors.New("unreadable message")
)
