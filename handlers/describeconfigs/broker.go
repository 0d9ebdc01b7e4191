package describeconfigs

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// describeBroker returns the configs of this node; the empty name, which asks
// for the defaults that are set for all brokers at run time, has none.
func (s server) describeBroker(req *kmsg.DescribeConfigsRequest, name string) resource {
	if name == "" {
		return resource{}
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return resource{fault: topicadmin.Refuse(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)}
	case int32(id) != s.node.ID:
		return resource{fault: topicadmin.Refuse(kerr.InvalidRequest,
			"Unexpected broker id, expected %d or empty string, but received %s", s.node.ID, name)}
	}
	var configs []config
	for _, name := range slices.Sorted(maps.Keys(s.broker.Values)) {
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		value := s.broker.Values[name]
		c.Name, c.Value, c.ReadOnly, c.ConfigType = name, &value, true, brokerType(name)
		c.Source = kmsg.ConfigSourceDefaultConfig
		if s.broker.Set[name] {
			c.Source = kmsg.ConfigSourceStaticBrokerConfig
		}
		if req.IncludeSynonyms {
			c.ConfigSynonyms = append(c.ConfigSynonyms, synonym(&topicconfig.Synonym{Name: name, Value: value, Source: c.Source}))
		}
		configs = append(configs, c)
	}
	return resource{configs: configs}
}

// brokerType returns the type that Kafka 4.4 gives for a broker config.
func brokerType(name string) kmsg.ConfigType {
	switch name {
	case "auto.create.topics.enable", "delete.topic.enable":
		return kmsg.ConfigTypeBoolean
	case "log.cleanup.policy":
		return kmsg.ConfigTypeList
	case "log.message.timestamp.type":
		return kmsg.ConfigTypeString
	case "log.retention.ms", "log.retention.bytes", "connections.max.idle.ms":
		return kmsg.ConfigTypeLong
	}
	return kmsg.ConfigTypeInt
}
