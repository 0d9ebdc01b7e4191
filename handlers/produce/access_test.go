package produce_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/produce"
)

// The authorizer is asked once for each topic, however many partitions are named and
// whatever names it, and nothing is appended to a topic that is refused.
func TestAuthorizerIsAskedOncePerTopic(t *testing.T) {
	t.Parallel()
	for _, version := range []int16{12, 13} {
		f := new(fake)
		ids := [][16]byte{f.topic("a", nil), f.topic("hidden", nil)}
		req := request(version, -1, topic("a"), topic("hidden"))
		for i := range req.Topics {
			for p := range int32(100) {
				req.Topics[i].Partitions = append(req.Topics[i].Partitions, part(p, recordtest.Values("v").Bytes()))
			}
			if version >= 13 {
				req.Topics[i].Topic, req.Topics[i].TopicID = "", ids[i]
			}
		}
		access := handlertest.Allowing("write:topic:a")
		resp, err := produce.New(f).Handle(t.Context(), handler.Call{Access: access}, req)
		require.NoError(t, err)
		require.Len(t, access.Asked(), 2, "v%d", version)
		topics := resp.(*kmsg.ProduceResponse).Topics
		require.Zero(t, topics[0].Partitions[0].ErrorCode, "v%d", version)
		for _, p := range topics[1].Partitions {
			require.Equal(t, kerr.TopicAuthorizationFailed.Code, p.ErrorCode, "v%d", version)
		}
		for _, a := range slices.Concat(f.appended...) {
			require.EqualValues(t, ids[0], a.Partition.Topic, "v%d", version)
		}
	}
}
