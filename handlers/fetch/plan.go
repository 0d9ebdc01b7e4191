package fetch

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/distinct"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
)

// leaderEpoch is the leader epoch of every partition.
const leaderEpoch = 0

// entry is one partition of a request and its outcome.
type entry struct {
	topic     int // in work.topics
	ask       *kmsg.FetchRequestTopicPartition
	partition backend.Partition

	code      int16
	available int64 // bytes that can be read, as far as they were counted
	bounds    backend.Bounds
	records   []byte
}

// limit is how many bytes the client takes from the partition.
func (e *entry) limit() int { return max(0, int(e.ask.PartitionMaxBytes)) }

// work is one request on its way to an answer. It holds each partition once:
// of several entries for one the last counts. Topics and partitions keep the
// order in which they first appear.
type work struct {
	store    Store
	call     handler.Call
	maxBytes int
	minBytes int64
	byID     bool

	entries []entry
	topics  []*kmsg.FetchRequestTopic
	failed  bool // a partition has an error that is not worth waiting with
}

func plan(req *kmsg.FetchRequest) *work {
	total := 0
	for i := range req.Topics {
		total += len(req.Topics[i].Partitions)
	}
	w := &work{byID: req.Version >= 13, entries: make([]entry, 0, total)}
	once := distinct.New(len(req.Topics), total)
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		at, first := once.Topic(t.Topic, t.TopicID)
		if first {
			w.topics = append(w.topics, t)
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if n, first := once.Partition(at, p.Partition); first {
				w.entries = append(w.entries, entry{topic: at, ask: p})
			} else {
				w.entries[n].ask = p
			}
		}
	}
	return w
}

func (w *work) failAll(code int16) {
	for i := range w.entries {
		w.entries[i].code = code
	}
}

// resolve looks the topics up and checks what needs no log.
func (w *work) resolve(ctx context.Context, req *kmsg.FetchRequest) {
	replica := req.ReplicaID
	if req.Version >= 15 {
		replica = req.ReplicaState.ID
	}
	if replica >= 0 && !w.call.AllowedCluster(ctx, kmsg.ACLOperationClusterAction) {
		w.failAll(kerr.TopicAuthorizationFailed.Code)
		return
	}
	topics := make([]backend.Topic, len(w.topics))
	errs := make([]error, len(w.topics))
	for i, t := range w.topics {
		topics[i], errs[i] = w.lookUp(ctx, t, replica < 0)
	}
	for i := range w.entries {
		e := &w.entries[i]
		e.partition = backend.Partition{Topic: topics[e.topic].ID, Index: e.ask.Partition}
		switch err := errs[e.topic]; {
		case errors.Is(err, errDenied):
			e.code = kerr.TopicAuthorizationFailed.Code
		case err != nil:
			w.fail(e, err)
		case e.ask.Partition < 0 || e.ask.Partition >= topics[e.topic].Partitions:
			w.fail(e, backend.ErrUnknownPartition)
		case replica >= 0: // another broker: there is none
			e.code, w.failed = kerr.NotLeaderForPartition.Code, true
		case e.ask.CurrentLeaderEpoch > leaderEpoch:
			e.code, w.failed = kerr.UnknownLeaderEpoch.Code, true
		case e.ask.LastFetchedEpoch > leaderEpoch:
			e.code, w.failed = kerr.OffsetOutOfRange.Code, true
		}
	}
}

// errDenied marks topics that the client may not read.
var errDenied = errors.New("not allowed to read the topic")

// lookUp finds a topic that the caller may read. A name is looked up only after the
// authorizer was asked; an id, which is no secret, has to be looked up to ask.
func (w *work) lookUp(ctx context.Context, t *kmsg.FetchRequestTopic, client bool) (topic backend.Topic, err error) {
	topic.Name = t.Topic
	if w.byID {
		if t.TopicID == uuid.Nil {
			return topic, backend.ErrUnknownTopic
		}
		if topic, err = w.store.TopicByID(ctx, t.TopicID); err != nil {
			return topic, err
		}
	}
	if client && !w.call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, topic.Name) {
		return topic, errDenied
	}
	if !w.byID {
		return w.store.Topic(ctx, topic.Name)
	}
	return topic, nil
}

// fail sets the code of an error. One that a client cannot help, such as a
// topic that is not there yet, does not end the wait of its other partitions.
func (w *work) fail(e *entry, err error) {
	e.code, e.available = errcode.Fetch(err), 0
	switch {
	case errors.Is(err, backend.ErrUnknownTopic) && w.byID:
		e.code = kerr.UnknownTopicID.Code
	case errors.Is(err, backend.ErrUnknownTopic), errors.Is(err, backend.ErrUnknownPartition):
	default:
		w.failed = true
	}
}

// overhead is what an answer takes beside its records, at most.
func (w *work) overhead() int {
	const fixed, perTopic, perPartition = 32, 32, 64
	n := fixed + len(w.entries)*perPartition
	for _, t := range w.topics {
		n += perTopic + len(t.Topic)
	}
	return n
}

// response makes the topics of the answer.
func (w *work) response(req *kmsg.FetchRequest) []kmsg.FetchResponseTopic {
	out := make([]kmsg.FetchResponseTopic, len(w.topics))
	for i, t := range w.topics {
		out[i] = kmsg.NewFetchResponseTopic()
		out[i].Topic, out[i].TopicID = t.Topic, t.TopicID
	}
	for i := range w.entries {
		e := &w.entries[i]
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode = e.ask.Partition, e.code
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		p.RecordBatches = []byte{} // null would be legal, but Kafka never sends it
		if e.code == 0 {
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = e.bounds.End, e.bounds.End, e.bounds.Start
			if e.records != nil {
				p.RecordBatches = e.records
			}
		}
		// Kafka answers [] for partitions it does not know or show, whatever the level.
		unknown := e.code == kerr.UnknownTopicOrPartition.Code || e.code == kerr.UnknownTopicID.Code ||
			e.code == kerr.TopicAuthorizationFailed.Code
		if req.IsolationLevel != 0 || unknown {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		t := &out[e.topic]
		t.Partitions = append(t.Partitions, p)
	}
	return out
}
