package createtopics

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// checks are what is asked of an authorizer.
var checks = []handler.Check{
	{
		Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster,
		Code: kerr.TopicAuthorizationFailed.Code,
	},
	{
		Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		Code: kerr.TopicAuthorizationFailed.Code, When: "or else",
	},
	{
		Operation: kmsg.ACLOperationDescribeConfigs, Resource: kmsg.ACLResourceTypeTopic, Of: "each new topic",
		When: "its partitions and configs are to be shown; config_error_code is 29 then",
	},
}

// denial is the refusal of a topic, in the words that Kafka has for it here.
var denial = topicadmin.Refuse(kerr.TopicAuthorizationFailed, "Authorization failed.")

// refused returns the names that the caller may not create. Repeated ones, which are
// refused anyway, are not asked about.
func refused(ctx context.Context, call handler.Call, req *kmsg.CreateTopicsRequest, repeated map[string]bool) map[string]bool {
	if call.ShownCluster(ctx, kmsg.ACLOperationCreate) {
		return nil
	}
	denied := map[string]bool{}
	for name := range names(req) {
		if !repeated[name] && !topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationCreate, name) {
			denied[name] = true
		}
	}
	return denied
}
