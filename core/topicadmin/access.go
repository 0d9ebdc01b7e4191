package topicadmin

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// Faults of a caller who may not do something, in Kafka's words. They are the same
// whether the topic or group is there or not.
var (
	TopicDenied   = Refuse(kerr.TopicAuthorizationFailed, "Topic authorization failed.")
	GroupDenied   = Refuse(kerr.GroupAuthorizationFailed, "Group authorization failed.")
	ClusterDenied = Refuse(kerr.ClusterAuthorizationFailed, "Cluster authorization failed.")
)

// AllowedCluster asks for an operation on the cluster, for the keys that Kafka's
// controller answers: a refusal names the permission that is needed.
func AllowedCluster(ctx context.Context, call handler.Call, op kmsg.ACLOperation) Fault {
	if call.AllowedCluster(ctx, op) {
		return Fault{}
	}
	return Refuse(kerr.ClusterAuthorizationFailed, "Request needs %s permission.", op)
}

// ClusterCheck declares a check of the cluster that refuses the request as a whole.
func ClusterCheck(op kmsg.ACLOperation) handler.Check {
	return handler.Check{Operation: op, Resource: kmsg.ACLResourceTypeCluster, Code: kerr.ClusterAuthorizationFailed.Code}
}

// TopicCheck declares a check of each topic of a request.
func TopicCheck(op kmsg.ACLOperation) handler.Check {
	return handler.Check{Operation: op, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic", Code: kerr.TopicAuthorizationFailed.Code}
}

// AllowedTopic asks for an operation on a topic.
func AllowedTopic(ctx context.Context, call handler.Call, op kmsg.ACLOperation, topic string) bool {
	return call.Allowed(ctx, op, kmsg.ACLResourceTypeTopic, topic)
}

// ConfigChecks declares the checks of AllowedConfigs.
func ConfigChecks(op kmsg.ACLOperation) []handler.Check {
	topic, group, cluster := TopicCheck(op), handler.Check{
		Operation: op, Resource: kmsg.ACLResourceTypeGroup, Of: "each group", Code: kerr.GroupAuthorizationFailed.Code,
	}, ClusterCheck(op)
	topic.When, group.When, cluster.When = "the resource is a topic", "the resource is a group",
		"the resource is a broker, its loggers or client metrics"
	return []handler.Check{topic, group, cluster}
}

// AllowedConfigs asks whether the caller may see or change the configs of a
// resource. A resource of an unknown type needs no right: there is none.
func AllowedConfigs(ctx context.Context, call handler.Call, op kmsg.ACLOperation, kind kmsg.ConfigResourceType, name string) Fault {
	on, denied := kmsg.ACLResourceTypeCluster, ClusterDenied
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		on, denied = kmsg.ACLResourceTypeTopic, TopicDenied
	case kmsg.ConfigResourceTypeGroupConfig:
		on, denied = kmsg.ACLResourceTypeGroup, GroupDenied
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeClientMetrics:
		name = security.ClusterName
	default:
		return Fault{}
	}
	if call.Allowed(ctx, op, on, name) {
		return Fault{}
	}
	return denied
}
