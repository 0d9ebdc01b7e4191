package deletetopics

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// Deletion is charged by partitions; whoever knows the code is refused when over the
// quota (KIP-599).
func TestQuota(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: name, Partitions: 3})
		require.NoError(t, err)
	}
	account := &handlertest.Account{Left: 5}
	call := admintest.Call()
	call.Account = account
	remove := func(version int16, names ...string) (codes []int16) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TimeoutMillis = version, 1000
		for _, name := range names {
			if version < 6 {
				req.TopicNames = append(req.TopicNames, name)
			} else {
				req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
			}
		}
		resp, err := h.Handle(t.Context(), call, req)
		require.NoError(t, err)
		for _, topic := range resp.(*kmsg.DeleteTopicsResponse).Topics {
			codes = append(codes, topic.ErrorCode)
			if topic.ErrorCode == 89 {
				require.Nil(t, topic.ErrorMessage)
				require.NotEqual(t, [16]byte{}, topic.TopicID)
			}
		}
		return codes
	}
	require.Equal(t, []int16{0, 0, 89, 3}, remove(6, "a", "b", "c", "nobody"))
	require.Equal(t, 6, account.Changed, "what is refused is not charged")
	require.Equal(t, []int16{89}, remove(5, "c"))
	require.Equal(t, []int16{0}, remove(4, "c"), "older clients are throttled")
	topics, err := s.AllTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, topics, 1)
}
