package createpartitions

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// Growth is charged by the partitions that come, validated or not; whoever knows the
// code is refused when over the quota (KIP-599).
func TestQuota(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 2})
	require.NoError(t, err)
	account := &handlertest.Account{Left: 5}
	call := admintest.Call()
	call.Account = account
	grow := func(version int16, count int32, validateOnly bool) int16 {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.TimeoutMillis, req.ValidateOnly = version, 1000, validateOnly
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "a", Count: count}, {Topic: "nobody", Count: 50}}
		resp, err := h.Handle(t.Context(), call, req)
		require.NoError(t, err)
		return codes(resp)[0]
	}
	require.Zero(t, grow(3, 5, false))
	require.Zero(t, grow(3, 8, true))
	require.Equal(t, 6, account.Changed)
	require.EqualValues(t, 89, grow(3, 8, false))
	require.EqualValues(t, 89, grow(3, 8, true))
	require.EqualValues(t, 37, grow(3, 4, false), "a fault comes first")
	require.Equal(t, 6, account.Changed, "what is refused is not charged")
	require.Zero(t, grow(2, 6, false), "older clients are throttled")
	topic, err := s.Topic(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 6, topic.Partitions)
}
