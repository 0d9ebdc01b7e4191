package oracle

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Short constructors for requests, so that a stream reads as a list.

func str(s string) *string { return &s }

// perVersion names a thing so that each version has its own.
func perVersion(name string, v int16) string { return fmt.Sprintf("%s-v%d", name, v) }

func createTopics(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis, r.Topics = 10_000, topics
	return r
}

func newTopic(name string, partitions int32, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], str(configs[i+1])
		t.Configs = append(t.Configs, c)
	}
	return t
}

// learnTopic captures the ids that CreateTopics and Metadata answer.
func learnTopic(s *side, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range r.Topics {
			if t.TopicID != ([16]byte{}) {
				s.learn("id of "+t.Topic, t.TopicID)
			}
		}
	case *kmsg.MetadataResponse:
		if r.ClusterID != nil {
			s.learn("cluster id", *r.ClusterID)
		}
		for _, t := range r.Topics {
			if t.Topic != nil && t.TopicID != ([16]byte{}) {
				s.learn("id of "+*t.Topic, t.TopicID)
			}
		}
		slices.SortStableFunc(r.Topics, func(a, b kmsg.MetadataResponseTopic) int { return byName(a.Topic, b.Topic) })
	}
}

func metadata(create bool, names ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.AllowAutoTopicCreation, r.Topics = create, []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = str(n)
		r.Topics = append(r.Topics, t)
	}
	return r
}

func produce(s *side, topic string, acks int16, partition int32, batch []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, s.id("id of "+topic)
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func fetch(s *side, topic string, partition int32, offset int64) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.MaxWaitMillis, r.MinBytes, r.SessionEpoch = 1<<20, 0, 0, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, s.id("id of "+topic)
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func listOffsets(topic string, partition int32, timestamps ...int64) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, ts := range timestamps {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, ts
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

func commit(s *side, group, member string, generation int32, topic string, partition int32, offset int64, metadata *string) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, s.id("id of "+topic)
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata, p.LeaderEpoch = partition, offset, metadata, -1
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// offsetFetch asks for one group in the layout of the version.
func offsetFetch(s *side, version int16, group string, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	if version < 8 {
		r.Group = group
		if topic != "" {
			t := kmsg.NewOffsetFetchRequestTopic()
			t.Topic, t.Partitions = topic, partitions
			r.Topics = append(r.Topics, t)
		}
		return r
	}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = group, -1
	if topic != "" {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID, t.Partitions = topic, s.id("id of "+topic), partitions
		g.Topics = append(g.Topics, t)
	}
	r.Groups = append(r.Groups, g)
	return r
}

func join(group, member string, protocols ...string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = group, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 30_000
	for _, name := range protocols {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte("metadata of "+name)
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

func syncGroup(group, member string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	r.ProtocolType, r.Protocol = str("consumer"), str("range")
	for i := 0; i+1 < len(assignments); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assignments[i], []byte(assignments[i+1])
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	return r
}

func heartbeat(group, member string, generation int32) *kmsg.HeartbeatRequest {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	return r
}

// leave asks for one member in the layout of the version.
func leave(version int16, group string, members ...string) *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group = group
	if version < 3 {
		r.MemberID = members[0]
		return r
	}
	for _, id := range members {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		r.Members = append(r.Members, m)
	}
	return r
}

func describeGroups(groups ...string) *kmsg.DescribeGroupsRequest {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Groups = groups
	return r
}

// learnMember captures the caller's member id under a name.
func learnMember(name string) func(*side, kmsg.Response) {
	return func(s *side, resp kmsg.Response) {
		if r, ok := resp.(*kmsg.JoinGroupResponse); ok && r.MemberID != "" {
			s.learn(name, r.MemberID)
		}
	}
}
