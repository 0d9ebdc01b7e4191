// Package describeproducers answers DescribeProducers (key 61), version 0
// (KIP-664): the idempotent producers that partitions remember, for whoever
// looks for hanging transactions, which cannot be here.
//
// # Size
//
// The answer depends on what producers did, so producers are counted and the
// answer is priced before it is built; above the frame limit the connection
// closes.
package describeproducers

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicname"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	DescribeProducers(context.Context, backend.Partition) ([]backend.ProducerState, error)
}

// New returns the handler.
func New(store Store) handler.Handler {
	check := topicadmin.TopicCheck(kmsg.ACLOperationRead)
	check.When = "the name is legal"
	return handler.New(0, 0, shape, handler.CloseConnection, describer{store}.describe, handler.Authorizes(check))
}

// none is the coordinator epoch of a producer without transactions, and the
// offset where its transaction starts.
const none = -1

// producerSize is what a producer takes in an answer, on the wire and before, in
// bytes.
const (
	producerSize   = 8 + 4 + 4 + 8 + 4 + 8 + 1
	producerMemory = int64(unsafe.Sizeof(backend.ProducerState{}) + unsafe.Sizeof(kmsg.DescribeProducersResponseTopicPartitionActiveProducer{}))
)

type describer struct{ store Store }

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeProducersRequest) (*kmsg.DescribeProducersResponse, error) {
	if err := call.Reserve(ctx, topicadmin.Cost(names(req))); err != nil {
		return nil, err
	}
	topics, refused := topicadmin.NewFinder(d.store), refusals(ctx, call, req)
	count, err := d.count(ctx, call, topics, req, refused)
	if err != nil {
		return nil, err
	}
	if err := call.Reserve(ctx, count*(producerSize+producerMemory)); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDescribeProducersResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.DescribeProducersResponseTopic{Topic: t.Topic}
		for _, index := range t.Partitions {
			if fault := refused[i]; !fault.OK() {
				out.Partitions = append(out.Partitions, refusal(index, fault))
				continue
			}
			out.Partitions = append(out.Partitions, d.one(ctx, topics, t.Topic, index))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, ctx.Err()
}

// refusals says of each topic of a request why it is not looked up, in Kafka's
// order: a name that no topic can have needs no right.
func refusals(ctx context.Context, call handler.Call, req *kmsg.DescribeProducersRequest) []topicadmin.Fault {
	faults := make([]topicadmin.Fault, len(req.Topics))
	for i := range req.Topics {
		name := req.Topics[i].Topic
		if err := topicname.Check(name); err != nil {
			faults[i] = topicadmin.Refuse(kerr.InvalidTopicException, "%v", err)
		} else if !topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationRead, name) {
			faults[i] = topicadmin.TopicDenied
		}
	}
	return faults
}

func refusal(index int32, fault topicadmin.Fault) kmsg.DescribeProducersResponseTopicPartition {
	return kmsg.DescribeProducersResponseTopicPartition{Partition: index, ErrorCode: fault.Code, ErrorMessage: fault.Message}
}

// names yields the name of each topic and, again, for each of its partitions.
func names(req *kmsg.DescribeProducersRequest) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range req.Topics {
			for range 1 + len(req.Topics[i].Partitions) {
				if !yield(req.Topics[i].Topic) {
					return
				}
			}
		}
	}
}

// count returns how many producers the answer shows, and an error when they do
// not fit into a frame. What fails here fails again when the answer is built.
func (d describer) count(ctx context.Context, call handler.Call, topics *topicadmin.Finder, req *kmsg.DescribeProducersRequest, refused []topicadmin.Fault) (int64, error) {
	producers := int64(0)
	for i := range req.Topics {
		if !refused[i].OK() {
			continue
		}
		for _, index := range req.Topics[i].Partitions {
			p, _, err := topics.Partition(ctx, req.Topics[i].Topic, index)
			if err != nil {
				continue
			}
			found, _ := d.store.DescribeProducers(ctx, p)
			producers += int64(len(found))
			if size := producers * producerSize; size > int64(call.MaxFrame) {
				return 0, fmt.Errorf("the producers of the partitions take more than %d bytes, max_frame_size is %d", size-1, call.MaxFrame)
			}
		}
	}
	return producers, ctx.Err()
}

// one answers one partition.
func (d describer) one(ctx context.Context, topics *topicadmin.Finder, topic string, index int32) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.DescribeProducersResponseTopicPartition{Partition: index}
	p, _, err := topics.Partition(ctx, topic, index)
	var producers []backend.ProducerState
	if err == nil {
		producers, err = d.store.DescribeProducers(ctx, p)
	}
	if errors.Is(err, backend.ErrUnknownTopic) {
		return refusal(index, topicadmin.Refuse(kerr.UnknownTopicOrPartition, "%s", kerr.UnknownTopicOrPartition.Description))
	}
	if err != nil {
		out.ErrorCode = errcode.Log(err)
		return out
	}
	out.ActiveProducers = make([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, len(producers))
	for i, from := range producers {
		to := &out.ActiveProducers[i]
		to.ProducerID, to.ProducerEpoch = from.ID, int32(from.Epoch)
		to.LastSequence, to.LastTimestamp = from.LastSequence, from.LastTimestamp
		to.CoordinatorEpoch, to.CurrentTxnStartOffset = none, none
	}
	return out
}
