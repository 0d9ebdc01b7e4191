package createtopics

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// Creation is charged by partitions, validated or not; whoever knows the code is
// refused when over the quota (KIP-599).
func TestQuota(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	account := &handlertest.Account{Left: 5}
	call := admintest.Call()
	call.Account = account
	create := func(version int16, validateOnly bool, names ...string) (codes []int16) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis, req.ValidateOnly = version, 1000, validateOnly
		for _, name := range names {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, 1
			req.Topics = append(req.Topics, topic)
		}
		resp, err := h.Handle(t.Context(), call, req)
		require.NoError(t, err)
		for _, topic := range resp.(*kmsg.CreateTopicsResponse).Topics {
			codes = append(codes, topic.ErrorCode)
			if topic.ErrorCode == 89 {
				require.Nil(t, topic.ErrorMessage)
			}
		}
		return codes
	}
	require.Equal(t, []int16{0}, create(7, true, "a"))
	require.Equal(t, 3, account.Changed)
	require.Equal(t, []int16{0, 17, 89}, create(6, false, "a", "not legal", "b"))
	require.Equal(t, 6, account.Changed, "neither faults nor refusals are charged")
	require.Equal(t, []int16{36, 89}, create(7, true, "a", "b"), "a fault comes first")
	require.Equal(t, []int16{0, 0}, create(5, false, "c", "d"), "older clients are throttled")
	topics, err := s.AllTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, topics, 3)
}
