package fetch_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/fetch"
)

// The authorizer is asked once for each topic, however many partitions are named and
// whatever names it, and a log that is refused is not looked at.
func TestAuthorizerIsAskedOncePerTopic(t *testing.T) {
	t.Parallel()
	const many = 100
	for _, version := range []int16{12, 13} {
		f := store("a", "hidden")
		f.add(t, "a", 0, 100)
		f.add(t, "hidden", 0, 100)
		req := request(ask{"a", 0, 0, mib}, ask{"hidden", 0, 0, mib})
		req.Version, req.MaxWaitMillis = version, 0
		for i := range req.Topics {
			topic := &req.Topics[i]
			for p := int32(1); p < many; p++ {
				more := topic.Partitions[0]
				more.Partition = p
				topic.Partitions = append(topic.Partitions, more)
			}
			if version >= 13 {
				topic.TopicID, topic.Topic = f.topics[topic.Topic], ""
			}
		}
		access := handlertest.Allowing("read:topic:a")
		resp, err := fetch.New(f, limits).Handle(t.Context(), handler.Call{Access: access}, req)
		require.NoError(t, err)
		require.Len(t, access.Asked(), 2, "v%d", version)
		require.Len(t, f.reads, 1, "v%d", version)

		topics := resp.(*kmsg.FetchResponse).Topics
		require.NotEmpty(t, topics[0].Partitions[0].RecordBatches, "v%d", version)
		for _, p := range topics[1].Partitions {
			require.Equal(t, kerr.TopicAuthorizationFailed.Code, p.ErrorCode, "v%d", version)
			require.EqualValues(t, []int64{-1, -1, -1}, []int64{p.HighWatermark, p.LastStableOffset, p.LogStartOffset})
		}
	}
}

// A refusal is no reason to answer at once: what may be read is waited for.
func TestRefusedTopicsDoNotEndTheWait(t *testing.T) {
	t.Parallel()
	f := store("a", "hidden")
	req := request(ask{"hidden", 0, 0, mib}, ask{"a", 0, 0, mib})
	req.Version, req.MaxWaitMillis, req.MinBytes = 12, 1<<30, 1
	answered := make(chan kmsg.Response)
	go func() {
		call := handler.Call{Access: handlertest.Allowing("read:topic:a")}
		resp, _ := fetch.New(f, limits).Handle(t.Context(), call, req)
		answered <- resp
	}()
	<-f.watched
	f.add(t, "a", 0, 100)
	resp := (<-answered).(*kmsg.FetchResponse)
	require.Equal(t, kerr.TopicAuthorizationFailed.Code, resp.Topics[0].Partitions[0].ErrorCode)
	require.NotEmpty(t, resp.Topics[1].Partitions[0].RecordBatches)
}
