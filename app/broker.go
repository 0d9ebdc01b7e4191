package app

import (
	"fmt"
	"strconv"

	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// broker returns the configs of this node as DescribeConfigs shows them: under
// Kafka's names, and marked as set where the user's configuration set the key
// that they come from. Keys of ours without a counterpart in Kafka are not
// shown, because admin tools would not know what to make of them.
func (l loaded) broker(topics *topicconfig.Catalog) settings.Broker {
	c := l.Config
	b := settings.Broker{Values: map[string]string{}, Set: map[string]bool{}}
	show := func(name, key, value string) {
		b.Values[name] = value
		if _, set := l.origin[key]; set {
			b.Set[name] = true
		}
	}
	node := strconv.Itoa(int(c.NodeID))
	show("broker.id", "node_id", node)
	show("node.id", "node_id", node)
	show("num.partitions", "topics.default_partitions", fmt.Sprint(c.Topics.DefaultPartitions))
	show("auto.create.topics.enable", "topics.auto_create", fmt.Sprint(c.Topics.AutoCreate))
	show("delete.topic.enable", "topics.delete_enable", fmt.Sprint(c.Topics.DeleteEnable))
	show("message.max.bytes", "message.max_bytes", fmt.Sprint(c.Message.MaxBytes))
	show("socket.request.max.bytes", "max_frame_size", fmt.Sprint(c.Server.MaxFrameSize))
	show("connections.max.idle.ms", "idle_timeout", fmt.Sprint(c.Server.IdleTimeout.Milliseconds()))
	show("fetch.max.bytes", "fetch.max_bytes", fmt.Sprint(c.Fetch.MaxBytes))
	show("offset.metadata.max.bytes", "offsets.metadata_max", fmt.Sprint(c.Offsets.MetadataMax))
	show("group.min.session.timeout.ms", "groups.min_session_timeout", fmt.Sprint(c.Groups.MinSessionTimeout.Milliseconds()))
	show("group.max.session.timeout.ms", "groups.max_session_timeout", fmt.Sprint(c.Groups.MaxSessionTimeout.Milliseconds()))
	show("group.initial.rebalance.delay.ms", "groups.initial_rebalance_delay", fmt.Sprint(c.Groups.InitialRebalanceDelay.Milliseconds()))
	show("group.max.size", "groups.max_members", fmt.Sprint(c.Groups.MaxMembers))
	show("producer.id.expiration.ms", "producer.id_expiration", fmt.Sprint(c.Producer.IDExpiration.Milliseconds()))
	// No key of ours changes these.
	b.Values["default.replication.factor"] = "1"
	for name, topicConfig := range map[string]string{
		"log.retention.ms":           "retention.ms",
		"log.retention.bytes":        "retention.bytes",
		"log.cleanup.policy":         "cleanup.policy",
		"log.message.timestamp.type": "message.timestamp.type",
	} {
		definition, _ := topics.Lookup(topicConfig)
		b.Values[name] = definition.Default
	}
	return b
}
