// Package client is what the gateway uses of an Iggy server: a pool of
// connections around the Go SDK that adds what the SDK does not have: deadlines
// that hold, redialling, an answer at once while the server is away, TLS without
// Nagle's delay, and bounds on what a reply may cost. Messages, of which there
// are many, go past the SDK.
package client

import (
	"context"
	"errors"
	"fmt"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"

	"github.com/iggykafka/gateway/core/backend"
)

// Topic names a topic of a stream.
type Topic struct{ Stream, Name string }

// Polled is the answer to a poll. The messages alias one buffer of the reply's
// size: who keeps one of them keeps all. Who is done with all of them may call
// Release, once.
type Polled struct {
	// Current is the offset of the partition's last message; 0 also when it
	// never had one.
	Current  uint64
	Messages []iggcon.IggyMessage

	memory *[]byte // of the reply
}

// Release lets the next poll use the memory of this reply: nobody may look at a
// message any more, nor call it again.
func (p Polled) Release() {
	if p.memory != nil && cap(*p.memory) <= maxPooled {
		replies.Put(p.memory)
	}
}

// Data is the part of a Client that moves messages.
type Data interface {
	// Send appends the messages to a partition, all or none, in one request.
	//
	// backend.ErrUnavailable: surely nothing was, or will be, written. *Lost,
	// which is a backend.ErrOutcomeUnknown: the connection ended before the reply,
	// or the server answered with an error of its disk or its insides (then Code
	// has it). An ierror.IggyError otherwise: the server refused (Code). ctx
	// bounds the wait for a connection alone: once the request is on its way it
	// is the request timeout that bounds it. The messages must not be changed
	// meanwhile.
	Send(ctx context.Context, t Topic, partition uint32, messages []iggcon.IggyMessage) error
	// Poll reads at most count messages. Errors as Send; a lost reply gives
	// backend.ErrUnavailable, as nothing can have changed. Of these, a reply above
	// Config.MaxReplyBytes is ErrReplyTooLarge, too, and one that cannot be read
	// ErrBadReply.
	Poll(ctx context.Context, t Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (Polled, error)
	// Settle returns when the server has certainly finished with the request
	// that was lost, whatever became of it: only then is the tail of the log the
	// truth about it.
	Settle(ctx context.Context, lost *Lost) error
}

// Writer is Data for who has to know by which connection messages go: as long as
// it is the same one, they go to a server that has not been restarted meanwhile.
type Writer interface {
	Data
	// SendBy is Send by one connection alone, whose number an earlier call has
	// returned; 0 stands for any. Where the one is gone it is ErrOtherConnection.
	// Without an error it returns the number of the connection.
	SendBy(ctx context.Context, connection uint64, t Topic, partition uint32, messages []iggcon.IggyMessage) (uint64, error)
}

// Topics is the part of a Client that manages streams and topics. Errors as
// Poll for what only reads, and as Send for what changes something.
type Topics interface {
	// EnsureStream makes the stream when it is missing and returns it.
	EnsureStream(ctx context.Context, name string) (iggcon.Stream, error)
	Topics(ctx context.Context, stream string) ([]iggcon.Topic, error)
	Topic(ctx context.Context, t Topic) (*iggcon.TopicDetails, error)
	// CreateTopic takes any number of partitions: requests above the server's
	// limit of 1,000 are split, and a topic that could not get all of its
	// partitions is deleted again. maxSize is never sent as 0.
	CreateTopic(ctx context.Context, t Topic, s TopicSettings) (*iggcon.TopicDetails, error)
	// UpdateTopic reads the topic, changes these two settings and leaves all
	// others as they are.
	UpdateTopic(ctx context.Context, t Topic, expiry iggcon.Duration, maxSize uint64) error
	AddPartitions(ctx context.Context, t Topic, more uint32) error
	DeleteTopic(ctx context.Context, t Topic) error
}

// Peers is the part of a Client that knows who is connected to the server. The
// journal tells by it whether the gateway that owned it is still there.
type Peers interface {
	// Locals returns the addresses of our ends of the connections that are
	// logged in now, as host:port. It asks nobody.
	Locals() []string
	// Clients returns the addresses of all clients that the server lists, of
	// ours too. Errors as Poll; code 41 when the user may not ask.
	Clients(ctx context.Context) ([]string, error)
}

// TopicSettings is what a topic is made with.
type TopicSettings struct {
	Partitions uint32
	// Expiry is in µs; iggcon.IggyExpiryNeverExpire keeps everything.
	Expiry iggcon.Duration
	// MaxSize is in bytes, of all partitions together; math.MaxUint64 has no end.
	MaxSize uint64
}

// Lost says that a request was on its way when its connection ended: it may have
// been executed, may be executed yet, or never will be. Settle waits for the end
// of that. It is a backend.ErrOutcomeUnknown.
type Lost struct {
	// connection is the address by which the server lists the connection among
	// its clients, for as long as it works on what came from it.
	connection string
	// silent: it ended because no reply came in time.
	silent bool
	cause  error
}

func (l *Lost) Error() string { return fmt.Sprintf("%v: %v", backend.ErrOutcomeUnknown, l.cause) }

// Unwrap makes it a backend.ErrOutcomeUnknown.
func (l *Lost) Unwrap() []error { return []error{backend.ErrOutcomeUnknown, l.cause} }

// Code returns the server's code of an error, or 0 when the server is not where
// it came from.
func Code(err error) ierror.Code {
	var refused ierror.IggyError
	if errors.As(err, &refused) {
		return refused.Code()
	}
	return 0
}

// Unreadable reports whether an error says that there is a message among those asked
// for that the server itself cannot read, which a kill can leave behind for good.
func Unreadable(err error) bool {
	code := Code(err)
	return code == ierror.InvalidOffsetCode || code == ierror.InvalidMessageChecksumCode
}
