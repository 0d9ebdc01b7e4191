package client

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"

	"github.com/iggykafka/gateway/core/backend"
)

// request is one call of the SDK, on its way to a connection that has time.
type request struct {
	op operation
	// run makes the call, by the SDK or past it. What it returns besides the error
	// it leaves where its caller looks after a nil error alone: after a deadline it
	// may still run.
	run func(*session) error
	// changes says that the call changes something, so that a lost reply leaves
	// the outcome open.
	changes bool
	// sends says that it is a send, whose errors may leave the outcome open, too.
	sends bool
	// done gets the error, once.
	done   chan error
	answer sync.Once
	// state is running until the call has returned or its time is over.
	state atomic.Int32
	// more is how much longer than others the server may take for it.
	more time.Duration
	// began is when a connection took it, and by the number of that connection.
	began time.Time
	by    uint64
	// only is the number of the one connection that may take it; 0: any may.
	only uint64
}

const (
	running int32 = iota
	returned
	expired
)

func newRequest(op operation, changes bool, run func(*session) error) *request {
	return &request{op: op, run: run, changes: changes, done: make(chan error, 1)}
}

// finish gives the caller its answer; the first one counts.
func (r *request) finish(err error) { r.finishWith(func() error { return err }) }

func (r *request) finishWith(err func() error) { r.answer.Do(func() { r.done <- err() }) }

// ErrOtherConnection: the connection that a message was to be sent by is not there
// any more. Nothing was sent. It is also a backend.ErrUnavailable.
var ErrOtherConnection = errors.New("the connection to the Iggy server is another one")

// notSent says that surely nothing has left for the server: the request may be
// made again elsewhere.
type notSent struct{ cause error }

func (n *notSent) Error() string   { return fmt.Sprintf("%v: %v", backend.ErrUnavailable, n.cause) }
func (n *notSent) Unwrap() []error { return []error{backend.ErrUnavailable, n.cause} }

func unavailable(cause error) error {
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
}

// sessionGone tells that with this code the server ends the connection, or that
// it has forgotten who is on it. Nothing was executed.
func sessionGone(code ierror.Code) bool {
	switch code {
	case ierror.DisconnectedCode, ierror.StaleClientCode, ierror.UnauthenticatedCode, ierror.NotConnectedCode,
		ierror.ClientShutdownCode, ierror.ClientNotFoundCode:
		return true
	}
	return false
}

// decided tells that with this code the server certainly did not, and will not,
// do what it was asked for: it said so before it began. Any other code of a
// send, such as one about a disk, leaves open whether the messages are there.
func decided(code ierror.Code) bool {
	switch code {
	case ierror.InvalidCommandCode, ierror.InvalidFormatCode, ierror.FeatureUnavailableCode, ierror.InvalidIdentifierCode,
		ierror.UnauthorizedCode, ierror.InvalidUtf8Code, ierror.InvalidNumberEncodingCode, ierror.InvalidSizeBytesCode,
		ierror.StreamIdNotFoundCode, ierror.StreamNameNotFoundCode, ierror.InvalidStreamNameCode, ierror.InvalidStreamIdCode,
		ierror.TopicIdNotFoundCode, ierror.TopicNameNotFoundCode, ierror.InvalidTopicNameCode, ierror.InvalidTopicIdCode,
		ierror.PartitionNotFoundCode, ierror.NoPartitionsCode, ierror.TopicFullCode,
		ierror.InvalidMessagesCountCode, ierror.TooBigUserHeadersCode, ierror.InvalidHeaderKeyCode, ierror.InvalidHeaderValueCode,
		ierror.TooBigMessagePayloadCode, ierror.TooManyMessagesCode, ierror.EmptyMessagePayloadCode,
		ierror.InvalidMessagePayloadLengthCode, ierror.InvalidMessageChecksumCode, ierror.InvalidKeyValueLengthCode,
		ierror.NonZeroOffsetCode, ierror.NonZeroTimestampCode, ierror.MissingIndexCode, ierror.InvalidIndexesByteSizeCode,
		ierror.InvalidIndexesCountCode, ierror.InvalidMessagesSizeCode, ierror.TooSmallMessageCode, ierror.InvalidOffsetCode:
		return true
	}
	return false
}

// outOfStep tells that with this code the server may have left the rest of the
// request unread, and would take it for the next one.
func outOfStep(code ierror.Code) bool {
	return code == ierror.InvalidCommandCode || code == ierror.InvalidFormatCode || code == ierror.InvalidIdentifierCode
}

// errDeadline is the cause of a connection that was given up for its silence.
var errDeadline = errors.New("the Iggy server did not answer in time")
