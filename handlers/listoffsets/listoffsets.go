// Package listoffsets answers ListOffsets (key 2): the ends of partition logs,
// and the offsets that belong to a time.
//
// Versions 1–11 are served. v2 brings the isolation level, v4 the leader epoch
// (KIP-320), v6 the flexible layout, v7 the largest timestamp (KIP-734), v8 the
// local log start (KIP-405), v9 the last tiered offset (KIP-1005), v10 a
// timeout (KIP-1075), v11 the first offset that waits to be tiered (KIP-1023).
//
// Time look-ups find the record, also inside a compressed batch. There is no
// tiered storage: its offsets are answered as Kafka answers them without.
// Without transactions both isolation levels give the same.
package listoffsets

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	backend.Logs
}

// New returns the handler.
func New(store Store) handler.Handler {
	return handler.New(1, 11, shape, handler.CloseConnection, lister{store}.list,
		handler.Authorizes(topicadmin.TopicCheck(kmsg.ACLOperationDescribe)))
}

// The timestamps that stand for something else.
const (
	latest        = -1
	earliest      = -2
	largestTime   = -3
	earliestLocal = -4
	latestTiered  = -5
	pendingUpload = -6
)

// leaderEpoch is the leader epoch of every partition.
const leaderEpoch = 0

type lister struct{ store Store }

type partitionKey struct {
	topic string
	index int32
}

func (l lister) list(ctx context.Context, call handler.Call, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	named := make(map[partitionKey]int)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			named[partitionKey{req.Topics[i].Topic, p.Partition}]++
		}
	}
	resp := kmsg.NewPtrListOffsetsResponse()
	at := make(map[string]int, len(req.Topics)) // of a topic in the answer
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		if _, seen := at[t.Topic]; !seen {
			at[t.Topic] = len(resp.Topics)
			topic := kmsg.NewListOffsetsResponseTopic()
			topic.Topic = t.Topic
			resp.Topics = append(resp.Topics, topic)
		}
		out := &resp.Topics[at[t.Topic]]
		found := topic{store: l.store, name: t.Topic}
		allowed := topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationDescribe, t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := partitionKey{t.Topic, p.Partition}
			times := named[key]
			if times == 0 {
				continue // answered
			}
			named[key] = 0
			if !allowed {
				out.Partitions = append(out.Partitions, refuse(p.Partition, kerr.TopicAuthorizationFailed))
				continue
			}
			out.Partitions = append(out.Partitions, answer(ctx, &found, req, p, times > 1))
		}
	}
	return resp, ctx.Err()
}

// topic looks a topic up when it is first needed.
type topic struct {
	store Store
	name  string
	known bool
	topic backend.Topic
	err   error
}

func (t *topic) partition(ctx context.Context, index int32) (backend.Partition, error) {
	if !t.known {
		t.topic, t.err = t.store.Topic(ctx, t.name)
		t.known = true
	}
	switch {
	case t.err != nil:
		return backend.Partition{}, t.err
	case index < 0 || index >= t.topic.Partitions:
		return backend.Partition{}, backend.ErrUnknownPartition
	}
	return backend.Partition{Topic: t.topic.ID, Index: index}, nil
}

// answer answers one partition; the checks stand in Kafka's order.
func answer(ctx context.Context, t *topic, req *kmsg.ListOffsetsRequest, p *kmsg.ListOffsetsRequestTopicPartition, repeated bool) kmsg.ListOffsetsResponseTopicPartition {
	if req.IsolationLevel != 0 && req.IsolationLevel != 1 {
		return refuse(p.Partition, kerr.InvalidRequest)
	}
	if !served(req.Version, p.Timestamp) {
		return refuse(p.Partition, kerr.UnsupportedVersion)
	}
	if repeated {
		return refuse(p.Partition, kerr.InvalidRequest)
	}
	id, err := t.partition(ctx, p.Partition)
	if err == nil && p.CurrentLeaderEpoch > leaderEpoch {
		return refuse(p.Partition, kerr.UnknownLeaderEpoch)
	}
	out := none(p.Partition)
	var found backend.Found
	if err == nil {
		found, err = find(ctx, t.store, id, p.Timestamp)
	}
	switch {
	case err != nil:
		out.ErrorCode = errcode.Log(err)
	case found.Offset >= 0:
		out.Timestamp, out.Offset, out.LeaderEpoch = found.Timestamp, found.Offset, leaderEpoch
	}
	return out
}

// none is the answer for a partition in which nothing was found.
func none(partition int32) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition, out.Timestamp, out.Offset, out.LeaderEpoch = partition, -1, -1, -1
	return out
}

func refuse(partition int32, code *kerr.Error) kmsg.ListOffsetsResponseTopicPartition {
	out := none(partition)
	out.ErrorCode = code.Code
	return out
}

// served reports whether a version knows the timestamp.
func served(version int16, timestamp int64) bool {
	switch timestamp {
	case largestTime:
		return version >= 7
	case earliestLocal:
		return version >= 8
	case latestTiered:
		return version >= 9
	case pendingUpload:
		return version >= 11
	}
	return timestamp >= earliest
}

// find returns the offset that belongs to a timestamp; −1 when there is none.
func find(ctx context.Context, store Store, id backend.Partition, timestamp int64) (backend.Found, error) {
	switch timestamp {
	case latest, earliest, earliestLocal:
		bounds, err := store.Bounds(ctx, id)
		if timestamp == latest {
			return backend.Found{Offset: bounds.End, Timestamp: -1}, err
		}
		return backend.Found{Offset: bounds.Start, Timestamp: -1}, err
	case latestTiered, pendingUpload:
		return backend.Found{Offset: -1, Timestamp: -1}, nil
	case largestTime:
		return store.FindMaxTime(ctx, id)
	}
	return store.FindTime(ctx, id, timestamp)
}
