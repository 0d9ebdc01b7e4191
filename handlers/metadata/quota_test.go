package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// A topic that is created on the way is charged, and not there for whoever is over the
// quota (KIP-599).
func TestQuota(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	h := open(s, defaults)
	account := &handlertest.Account{}
	call := admintest.Call()
	call.Account, call.MaxFrame = account, 1<<20
	look := func(name string) int16 {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = 9, true
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
		resp, err := h.Handle(t.Context(), call, req)
		require.NoError(t, err)
		return resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode
	}
	require.Zero(t, look("a"))
	require.EqualValues(t, defaults.DefaultPartitions, account.Changed)
	require.EqualValues(t, 3, look("b"))
	require.Zero(t, look("a"), "what is there is free")
	topics, err := s.AllTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, topics, 1)
}
