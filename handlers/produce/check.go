package produce

import (
	"context"
	"errors"
	"math"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// maxRejected is how many bad records the answer to one request lists; each
// takes some 200 bytes, and a batch can hold millions.
const maxRejected = 1000

// zstdVersion is the version that brought zstd.
const zstdVersion = 7

// checker checks the partitions of one request.
type checker struct {
	store  Store
	call   handler.Call
	req    *kmsg.ProduceRequest
	now    int64 // ms since the epoch
	listed int   // bad records that may still be listed
	held   int64 // memory for decoders that the request was charged for

	// transaction: the request belongs to one, with all its partitions.
	transaction bool

	// The topic that was looked up last; the partitions of a topic follow each
	// other.
	of    *kmsg.ProduceRequestTopic
	topic backend.Topic
	err   error
	// denied: the caller may not write to the topic.
	denied bool
}

// check goes through all that can be wrong with an entry, in Kafka's order, and
// sets the entry's code. The batch is to be appended when that is 0. An error
// closes the connection.
func (c *checker) check(ctx context.Context, e *entry) (record.Batch, error) {
	if c.transaction {
		e.fail(kerr.TransactionalIDAuthorizationFailed, "Transactions are not served.")
		return record.Batch{}, nil
	}
	config, ok := c.find(ctx, e)
	if !ok {
		return record.Batch{}, nil
	}
	batch, broken := c.header(e, config)
	if e.code != 0 {
		return batch, nil
	}
	if broken != nil {
		e.fail(kerr.CorruptMessage, "%v", broken)
		return batch, nil
	}
	// Decoders work one after the other, so the largest is what counts.
	if need := batch.DecoderMemory(); need > c.held {
		if err := c.call.Reserve(ctx, need-c.held); err != nil {
			return batch, err
		}
		c.held = need
	}
	latest, err := record.Check(ctx, batch, c.rules(config))
	if err != nil {
		c.refuse(e, err)
		return batch, nil
	}
	if !config.LogAppendTime && (latest != batch.MaxTimestamp || batch.LogAppendTime()) {
		batch.SetCreateTime(latest)
	}
	return batch, nil
}

// find looks the topic up.
func (c *checker) find(ctx context.Context, e *entry) (topicconfig.Config, bool) {
	if c.of != e.topic {
		c.of = e.topic
		c.lookUp(ctx, e.topic)
	}
	switch {
	case c.denied:
		e.code = kerr.TopicAuthorizationFailed.Code
	case c.err != nil:
		e.code = topicCode(c.req.Version, c.err, errcode.Log(c.err))
	case e.index < 0 || e.index >= c.topic.Partitions:
		e.code = kerr.UnknownTopicOrPartition.Code
	}
	e.id = c.topic.ID
	return c.topic.Config, e.code == 0
}

// lookUp finds a topic that the caller may write to. A name is looked up only after
// the authorizer was asked; an id, which is no secret, has to be looked up to ask.
func (c *checker) lookUp(ctx context.Context, t *kmsg.ProduceRequestTopic) {
	c.topic, c.err = backend.Topic{Name: t.Topic}, nil
	switch byID := c.req.Version >= 13; {
	case byID && t.TopicID == uuid.Nil:
		c.err = backend.ErrUnknownTopic
	case byID:
		c.topic, c.err = c.store.TopicByID(ctx, t.TopicID)
	}
	c.denied = c.err == nil && !c.call.Allowed(ctx, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic, c.topic.Name)
	if c.req.Version < 13 && !c.denied {
		c.topic, c.err = c.store.Topic(ctx, t.Topic)
	}
}

// header checks what needs no look at the records. A header that makes no
// sense is reported apart, because some checks of the request come before it.
func (c *checker) header(e *entry, config topicconfig.Config) (batch record.Batch, broken error) {
	batch, rest, err := record.Parse(e.records)
	if errors.Is(err, record.ErrCorrupt) {
		broken = err
	} else if err != nil {
		e.fail(kerr.InvalidRecord, "%v", err)
		return batch, nil
	}
	// Bytes that are no whole batch are dropped from the end, as in Kafka.
	switch _, _, err := record.Parse(rest); {
	case errors.Is(err, record.ErrShort):
	case broken != nil:
	case errors.Is(err, record.ErrCorrupt):
		broken = err
	default:
		e.fail(kerr.InvalidRecord, "%v: more than one batch", record.ErrInvalid)
		return batch, nil
	}
	switch {
	case batch.Codec() == record.Zstd && c.req.Version < zstdVersion:
		e.fail(kerr.UnsupportedCompressionType, "Produce requests with version %d are not allowed to use zstd compression.", c.req.Version)
	case c.req.Acks < -1 || c.req.Acks > 1:
		e.fail(kerr.InvalidRequiredAcks, "acks is %d, not -1, 0 or 1", c.req.Acks)
	case len(batch.Bytes) > int(config.MaxMessageBytes):
		e.fail(kerr.MessageTooLarge, "The record batch has %d bytes, which exceeds the maximum of %d (max.message.bytes).",
			len(batch.Bytes), config.MaxMessageBytes)
	}
	return batch, broken
}

// rules turns a topic's config into what its records must keep.
func (c *checker) rules(config topicconfig.Config) record.Rules {
	rules := record.Rules{
		MaxRecordBytes: config.MaxDecompressedBytes,
		Keys:           config.Compact,
		LogAppendTime:  config.LogAppendTime,
		Earliest:       c.now - config.TimestampBeforeMaxMs,
		Latest:         math.MaxInt64,
		MaxRejected:    c.listed,
	}
	if config.TimestampAfterMaxMs < math.MaxInt64-c.now {
		rules.Latest = c.now + config.TimestampAfterMaxMs
	}
	return rules
}

// refuse sets the code of what was found in the records.
func (c *checker) refuse(e *entry, err error) {
	var rejected *record.Rejected
	switch {
	case errors.Is(err, record.ErrCorrupt):
		e.fail(kerr.CorruptMessage, "%v", err)
	case errors.Is(err, record.ErrTimestamp):
		e.fail(kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp")
	case errors.Is(err, record.ErrInvalid):
		e.fail(kerr.InvalidRecord, "%v", err)
	default:
		e.code = errcode.Log(err)
	}
	if errors.As(err, &rejected) {
		c.listed -= len(rejected.Records)
		for _, r := range rejected.Records {
			x := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			x.RelativeOffset, x.ErrorMessage = r.Index, kmsg.StringPtr(r.Reason)
			e.rejected = append(e.rejected, x)
		}
	}
}
