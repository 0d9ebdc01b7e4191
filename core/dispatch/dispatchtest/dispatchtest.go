// Package dispatchtest holds handlers for the tests of everything above the
// handler contract: a few real keys, each answered by a function that the test
// gives. Between them they have both policies, flexible and legacy versions, an
// answer to unsupported versions, records, and silence.
package dispatchtest

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
)

// Func answers the requests of one key.
type Func[Q, R any] func(context.Context, handler.Call, Q) (R, error)

// ApiVersions serves versions 0 to 4 of key 18 by listing the table, and
// answers every other version as Kafka does: layout 0, code 35, one row.
func ApiVersions() handler.Handler {
	shape := guard.Body(3, guard.String().Since(3), guard.String().Since(3))
	policy := handler.InvalidRequest(func(r *kmsg.ApiVersionsResponse, code int16) { r.ErrorCode = code })
	unsupported := func(call handler.Call) kmsg.Response {
		r := kmsg.NewPtrApiVersionsResponse()
		r.ErrorCode = kerr.UnsupportedVersion.Code
		for _, api := range call.APIs {
			if api.Key == r.Key() {
				r.ApiKeys = append(r.ApiKeys, row(api))
			}
		}
		return r
	}
	return handler.New(0, 4, shape, policy, apiVersions, handler.Unsupported(unsupported))
}

func apiVersions(_ context.Context, call handler.Call, _ *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	r := kmsg.NewPtrApiVersionsResponse()
	for _, api := range call.APIs {
		r.ApiKeys = append(r.ApiKeys, row(api))
	}
	return r, nil
}

func row(api handler.Range) kmsg.ApiVersionsResponseApiKey {
	return kmsg.ApiVersionsResponseApiKey{ApiKey: api.Key, MinVersion: api.Min, MaxVersion: api.Max}
}

// Heartbeat serves versions 0 to 4 of key 12. A nil fn answers code 0.
func Heartbeat(fn Func[*kmsg.HeartbeatRequest, *kmsg.HeartbeatResponse]) handler.Handler {
	shape := guard.Body(4, guard.String(), guard.Int32(), guard.String(),
		guard.String().Since(3).NullableSince(3))
	policy := handler.InvalidRequest(func(r *kmsg.HeartbeatResponse, code int16) { r.ErrorCode = code })
	if fn == nil {
		fn = func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			return kmsg.NewPtrHeartbeatResponse(), nil
		}
	}
	return handler.New(0, 4, shape, policy, fn)
}

// DescribeGroups serves versions 0 to 6 of key 15; bad bodies close.
func DescribeGroups(fn Func[*kmsg.DescribeGroupsRequest, *kmsg.DescribeGroupsResponse]) handler.Handler {
	shape := guard.Body(5, guard.Array[string](guard.String()), guard.Bool().Since(3))
	return handler.New(0, 6, shape, handler.CloseConnection, fn)
}

// Produce serves versions 3 to 11 of key 0 and answers nothing to acks=0.
func Produce() handler.Handler {
	shape := guard.Body(9, guard.String().Nullable(), guard.Int16(), guard.Int32(),
		guard.Array[kmsg.ProduceRequestTopic](guard.String(),
			guard.Array[kmsg.ProduceRequestTopicPartition](guard.Int32(), guard.Bytes().Nullable())))
	return handler.New(3, 11, shape, handler.CloseConnection, produce, handler.AdvertiseFrom(0))
}

func produce(_ context.Context, _ handler.Call, req *kmsg.ProduceRequest) (*kmsg.ProduceResponse, error) {
	if req.Acks == 0 {
		return nil, nil
	}
	resp := kmsg.NewPtrProduceResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition = p.Partition
			partition.BaseOffset = int64(len(p.Records))
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp, nil
}

// Fetch serves versions 4 to 11 of key 1: its answer holds records as they are
// given, in one partition.
func Fetch(records func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error)) handler.Handler {
	shape := guard.Body(12, guard.Int32(), guard.Int32(), guard.Int32(), guard.Int32(), guard.Int8(),
		guard.Int32().Since(7), guard.Int32().Since(7),
		guard.Array[kmsg.FetchRequestTopic](guard.String(),
			guard.Array[kmsg.FetchRequestTopicPartition](guard.Int32(), guard.Int32().Since(9), guard.Int64(),
				guard.Int64().Since(5), guard.Int32())),
		guard.Array[kmsg.FetchRequestForgottenTopic](guard.String(), guard.Array[int32](guard.Int32())).Since(7),
		guard.String().Since(11))
	fn := func(ctx context.Context, call handler.Call, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
		bytes, err := records(ctx, call, req)
		if err != nil {
			return nil, err
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = bytes
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, partition)
		resp := kmsg.NewPtrFetchResponse()
		resp.Topics = append(resp.Topics, topic)
		return resp, nil
	}
	return handler.New(4, 11, shape, handler.CloseConnection, fn, handler.Sized(fetchSize), handler.Parts(fetchParts))
}

func fetchSize(r *kmsg.FetchResponse) int {
	size := 1 << 10
	fetchParts(r, func(records *[]byte) { size += len(*records) })
	return size
}

func fetchParts(r *kmsg.FetchResponse, each func(*[]byte)) {
	for _, t := range r.Topics {
		for i := range t.Partitions {
			each(&t.Partitions[i].RecordBatches)
		}
	}
}
