package topicadmin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	. "github.com/iggykafka/gateway/core/topicadmin"
)

// Each type of resource has the right that Kafka asks for, and its refusal; nobody
// needs one for a type that nobody knows, and without an authorizer for none.
func TestAllowedConfigs(t *testing.T) {
	t.Parallel()
	const op = kmsg.ACLOperationAlterConfigs
	for _, c := range []struct {
		kind   kmsg.ConfigResourceType
		denied Fault
		right  string
	}{
		{kmsg.ConfigResourceTypeTopic, TopicDenied, "alter_configs:topic:x"},
		{kmsg.ConfigResourceTypeGroupConfig, GroupDenied, "alter_configs:group:x"},
		{kmsg.ConfigResourceTypeBroker, ClusterDenied, "alter_configs:cluster"},
		{kmsg.ConfigResourceTypeBrokerLogger, ClusterDenied, "alter_configs:cluster"},
		{kmsg.ConfigResourceTypeClientMetrics, ClusterDenied, "alter_configs:cluster"},
		{99, Fault{}, "alter_configs:cluster"},
	} {
		ask := func(a handler.Access) Fault {
			return AllowedConfigs(t.Context(), handler.Call{Access: a}, op, c.kind, "x")
		}
		require.Equal(t, c.denied, ask(&handlertest.Access{}), "%v", c.kind)
		require.Equal(t, Fault{}, ask(handlertest.Allowing(c.right)), "%v", c.kind)
		require.Equal(t, Fault{}, ask(nil), "%v", c.kind)
	}
}

// A refusal of the cluster names the permission that is missing.
func TestAllowedCluster(t *testing.T) {
	t.Parallel()
	call := handler.Call{Access: handlertest.Allowing("describe:cluster")}
	require.Equal(t, Fault{}, AllowedCluster(t.Context(), call, kmsg.ACLOperationDescribe))
	denied := AllowedCluster(t.Context(), call, kmsg.ACLOperationAlter)
	require.Equal(t, ClusterDenied.Code, denied.Code)
	require.Equal(t, "Request needs ALTER permission.", *denied.Message)
}
