// Package deleterecords answers DeleteRecords (key 21), versions 0 to 2
// (KIP-107): it moves the starts of logs up to offsets, and what lies below them
// is gone. Version 2 is flexible; the layout is otherwise the same.
//
// Each partition stands for itself. The offset −1 stands for the end of the log.
package deleterecords

import (
	"context"
	"time"

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
	Bounds(context.Context, backend.Partition) (backend.Bounds, error)
	DeleteRecords(ctx context.Context, p backend.Partition, before int64) (start int64, err error)
}

// New returns the handler.
func New(store Store) handler.Handler {
	return handler.New(0, 2, shape, handler.CloseConnection, deleter{store}.delete,
		handler.Authorizes(topicadmin.TopicCheck(kmsg.ACLOperationDelete)))
}

// The offset that stands for the end of the log, and the low watermark of a
// partition with an error.
const (
	end  = -1
	none = -1
)

type deleter struct{ store Store }

func (d deleter) delete(ctx context.Context, call handler.Call, req *kmsg.DeleteRecordsRequest) (*kmsg.DeleteRecordsResponse, error) {
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	work, cancel := ctx, context.CancelFunc(func() {})
	if req.TimeoutMillis > 0 { // Kafka deletes what it can without waiting, also when there is no time
		work, cancel = context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	}
	defer cancel()

	topics := topicadmin.NewFinder(d.store)
	resp := merge(req)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		allowed := topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationDelete, t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if !allowed {
				p.LowWatermark, p.ErrorCode = none, kerr.TopicAuthorizationFailed.Code
				continue
			}
			p.LowWatermark, p.ErrorCode = d.one(work, topics, t.Topic, p.Partition, p.LowWatermark)
		}
	}
	return resp, ctx.Err()
}

// cost is the memory that the answer takes.
func cost(req *kmsg.DeleteRecordsRequest) int64 {
	partitions := 0
	for i := range req.Topics {
		partitions += 1 + len(req.Topics[i].Partitions)
	}
	return int64(partitions) * topicadmin.PartitionCost
}

// merge returns the answer with one entry for each topic and partition that the
// request names, in the order of their first appearance. In the place of the low
// watermark stands the offset that is asked for last.
func merge(req *kmsg.DeleteRecordsRequest) *kmsg.DeleteRecordsResponse {
	type key struct{ topic, partition int32 }
	resp := kmsg.NewPtrDeleteRecordsResponse()
	topics, partitions := map[string]int32{}, map[key]int{}
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		at, seen := topics[t.Topic]
		if !seen {
			at = int32(len(resp.Topics)) // #nosec G115 -- below the number of topics in a frame
			topics[t.Topic] = at
			resp.Topics = append(resp.Topics, kmsg.DeleteRecordsResponseTopic{Topic: t.Topic})
		}
		out := &resp.Topics[at]
		for _, p := range t.Partitions {
			k := key{at, p.Partition}
			if again, seen := partitions[k]; seen {
				out.Partitions[again].LowWatermark = p.Offset
				continue
			}
			partitions[k] = len(out.Partitions)
			out.Partitions = append(out.Partitions, kmsg.DeleteRecordsResponseTopicPartition{Partition: p.Partition, LowWatermark: p.Offset})
		}
	}
	return resp
}

// one deletes the records of one partition below an offset. The checks stand in
// Kafka's order.
func (d deleter) one(ctx context.Context, topics *topicadmin.Finder, topic string, index int32, offset int64) (int64, int16) {
	if err := ctx.Err(); err != nil {
		return none, errcode.Log(err)
	}
	p, found, err := topics.Partition(ctx, topic, index)
	switch {
	case err != nil:
		return none, errcode.Log(err)
	case found.Config.Compact && !found.Config.Delete:
		return none, kerr.PolicyViolation.Code
	case offset < end:
		return none, kerr.OffsetOutOfRange.Code
	case offset == end:
		bounds, err := d.store.Bounds(ctx, p)
		if err != nil {
			return none, errcode.Log(err)
		}
		offset = bounds.End
	}
	start, err := d.store.DeleteRecords(ctx, p, offset)
	if err != nil {
		return none, errcode.Log(err)
	}
	return start, 0
}
