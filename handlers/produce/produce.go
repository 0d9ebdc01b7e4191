// Package produce answers Produce (key 0): it checks the record batches of a
// request and has the backend append them.
//
// Versions 3–13 are served; 0–2, whose message formats are gone (KIP-724), are
// advertised all the same, because older librdkafka reads a minimum above 0 as
// a broker without compression. v7 brings zstd (KIP-110), v8 record errors and
// messages (KIP-467), v9 is flexible, v13 names topics by id (KIP-516).
//
// A batch is stored as it was sent, still compressed. Idempotent producers
// (KIP-98) are served by the backend; transactions are not: a transactional id
// or a transactional batch gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, the one
// code at which all clients give up at once. The leader hints of v10 (KIP-951)
// are never sent.
package produce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/distinct"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/security"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	backend.Logs
}

// longest is the time that an append may take whatever the producer asks for.
const longest = 30 * time.Second

// New returns the handler.
func New(store Store) handler.Handler {
	return handler.New(3, 13, shape, handler.CloseConnection, producer{store}.produce,
		handler.AdvertiseFrom(0), handler.Uses(security.ProducedBytes), handler.Authorizes(checks...))
}

// checks are what is asked of an authorizer.
var checks = []handler.Check{
	{
		Operation: kmsg.ACLOperationWrite, Resource: kmsg.ACLResourceTypeTransactionalId, Of: "the transactional id",
		Code: kerr.TransactionalIDAuthorizationFailed.Code, When: "a batch belongs to a transaction",
	},
	{
		Operation: kmsg.ACLOperationWrite, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		Code: kerr.TopicAuthorizationFailed.Code,
	},
}

type producer struct{ store Store }

func (p producer) produce(ctx context.Context, call handler.Call, req *kmsg.ProduceRequest) (*kmsg.ProduceResponse, error) {
	limit := longest
	if ask := time.Duration(req.TimeoutMillis) * time.Millisecond; 0 < ask && ask < longest {
		limit = ask
	}
	// What has arrived is written, as by Kafka, even when its producer has gone:
	// one with acks=0 may close its connection right after the last request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()

	r := plan(req)
	c := checker{store: p.store, call: call, req: req, now: time.Now().UnixMilli(), listed: maxRejected}
	c.transaction = inTransaction(ctx, call, req, r)
	appends := make([]backend.Append, 0, len(r.entries))
	waiting := make([]*entry, 0, len(r.entries))
	for i := range r.entries {
		e := &r.entries[i]
		batch, err := c.check(ctx, e)
		if err != nil {
			return nil, err
		}
		if e.code == 0 {
			appends = append(appends, backend.Append{Partition: backend.Partition{Topic: e.id, Index: e.index}, Batch: batch})
			waiting = append(waiting, e)
		}
	}
	if len(appends) > 0 {
		for i, a := range p.store.Append(ctx, appends) {
			e := waiting[i]
			e.appended = a
			e.code = topicCode(req.Version, a.Err, errcode.Log(a.Err))
		}
	}
	if req.Acks == 0 {
		return nil, r.firstFailure()
	}
	return r.response(), nil
}

// inTransaction reports whether a request belongs to a transaction. Whoever may not
// use its id is told the same, so the authorizer is only asked for the audit.
func inTransaction(ctx context.Context, call handler.Call, req *kmsg.ProduceRequest, w *work) bool {
	named := req.TransactionID != nil && *req.TransactionID != ""
	batch := slices.ContainsFunc(w.entries, func(e entry) bool { return record.InTransaction(e.records) })
	if named && batch {
		call.Allowed(ctx, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, *req.TransactionID)
	}
	return named || batch
}

// topicCode is code, or what clients that name topics by id expect in place of
// "unknown topic".
func topicCode(version int16, err error, code int16) int16 {
	if version >= 13 && errors.Is(err, backend.ErrUnknownTopic) {
		return kerr.UnknownTopicID.Code
	}
	return code
}

// entry is one partition of a request and its outcome.
type entry struct {
	topic   *kmsg.ProduceRequestTopic
	index   int32
	records []byte
	id      uuid.UUID // of the topic, once found

	code     int16
	message  string
	rejected []kmsg.ProduceResponseTopicPartitionErrorRecord
	appended backend.Appended
}

func (e *entry) fail(code *kerr.Error, format string, args ...any) {
	e.code, e.message = code.Code, fmt.Sprintf(format, args...)
}

// work holds the partitions of a request, each once: of several entries for a
// partition the last counts. Topics and partitions keep the order in which
// they first appear.
type work struct {
	entries []entry
	topics  []kmsg.ProduceResponseTopic
	topic   []int // of an entry, in topics
}

func plan(req *kmsg.ProduceRequest) *work {
	total := 0
	for i := range req.Topics {
		total += len(req.Topics[i].Partitions)
	}
	w := &work{entries: make([]entry, 0, total), topic: make([]int, 0, total)}
	once := distinct.New(len(req.Topics), total)
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		at, first := once.Topic(t.Topic, t.TopicID)
		if first {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			w.topics = append(w.topics, topic)
		}
		for _, p := range t.Partitions {
			if n, first := once.Partition(at, p.Partition); first {
				w.entries = append(w.entries, entry{topic: t, index: p.Partition, records: p.Records})
				w.topic = append(w.topic, at)
			} else {
				w.entries[n].records = p.Records
			}
		}
	}
	return w
}

// response makes the answer. It is called once.
func (w *work) response() *kmsg.ProduceResponse {
	for i := range w.entries {
		e := &w.entries[i]
		p := kmsg.NewProduceResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorRecords = e.index, e.code, e.rejected
		p.BaseOffset, p.LogAppendTime, p.LogStartOffset = -1, -1, -1
		if e.code == 0 {
			p.BaseOffset, p.LogAppendTime, p.LogStartOffset = e.appended.BaseOffset, e.appended.AppendTime, e.appended.LogStart
		}
		if e.message != "" {
			p.ErrorMessage = kmsg.StringPtr(e.message)
		}
		t := &w.topics[w.topic[i]]
		t.Partitions = append(t.Partitions, p)
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.Topics = w.topics
	return resp
}

// faults are the codes of what is no client's doing.
var faults = []int16{
	kerr.NotLeaderForPartition.Code, kerr.RequestTimedOut.Code, kerr.KafkaStorageError.Code, kerr.UnknownServerError.Code,
}

// firstFailure is how a producer with acks=0, which reads no answers, learns
// that something went wrong: its connection closes. A fault comes before what the
// client can bring about as often as it likes, which is a handler.Refusal.
func (w *work) firstFailure() error {
	var refusal error
	for i := range w.entries {
		switch e := &w.entries[i]; {
		case e.code == 0:
		case slices.Contains(faults, e.code):
			return e.failure()
		case refusal == nil:
			refusal = &handler.Refusal{Err: e.failure()}
		}
	}
	return refusal
}

// failure is an entry's code as an error.
func (e *entry) failure() error {
	cause := kerr.ErrorForCode(e.code)
	switch {
	case e.appended.Err != nil:
		cause = e.appended.Err
	case e.message != "":
		cause = errors.New(e.message)
	}
	name := e.topic.Topic
	if name == "" {
		name = uuid.UUID(e.topic.TopicID).String()
	}
	return fmt.Errorf("produce with acks=0, topic %q, partition %d: %w", name, e.index, cause)
}
