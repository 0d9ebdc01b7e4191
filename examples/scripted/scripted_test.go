package scripted

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
)

// A consumer that is told of a rebalance by its heartbeat joins its group again.
func TestConsumerJoinsAgain(t *testing.T) {
	joins := make(chan coordinator.JoinRequest, 100)
	addr := gatewaytest.Start(t, gatewaytest.Coordinator(&coordinatortest.Fake{
		JoinFunc: func(_ context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
			joins <- r
			p := r.Protocols[0]
			return coordinator.JoinResult{Generation: 1, ProtocolType: r.ProtocolType, Protocol: p.Name, LeaderID: "me", MemberID: "me",
				Members: []coordinator.JoinedMember{{MemberID: "me", Metadata: p.Metadata}}}
		},
		SyncFunc: func(_ context.Context, r coordinator.SyncRequest) coordinator.SyncResult {
			return coordinator.SyncResult{ProtocolType: *r.ProtocolType, Protocol: *r.Protocol, Assignment: r.Assignments[0].Data}
		},
		HeartbeatFunc: func(context.Context, coordinator.HeartbeatRequest) coordinator.Code {
			return coordinator.RebalanceInProgress
		},
		LeaveFunc: func(context.Context, string, []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
			return coordinator.None, []coordinator.Code{coordinator.None}
		},
	}))
	consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup("orders"), kgo.ConsumeTopics("orders"),
		kgo.AllowAutoTopicCreation(), kgo.HeartbeatInterval(10*time.Millisecond))
	require.NoError(t, err)
	defer consumer.Close()

	require.Empty(t, (<-joins).MemberID)
	require.Equal(t, "me", (<-joins).MemberID)
}
