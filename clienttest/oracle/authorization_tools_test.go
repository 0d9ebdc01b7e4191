package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// toolSubjects are the keys of administration.
var toolSubjects = []subject{
	{"Tool partitions", toolTopics, slices.Concat(partitionQuestions(), placementQuestions())},
	{"Tool configs", toolTopics, configQuestions()},
	{"Tool groups", toolTopics, removalQuestions()},
	{"Tool cluster", toolTopics, clusterQuestions()},
}

// toolAllowances are the differences of toolSubjects that are known and wanted.
var toolAllowances = []allowance{
	{`Tool .*`, `.*ErrorMessage`, `"Request Request\(.*\) needs (ALTER|DESCRIBE) permission\."`, `"Request needs (ALTER|DESCRIBE) permission\."`, "Kafka tells how it handles requests inside"},
	{`Tool configs/.*`, `.*ErrorCode`, `0`, `42`, "there are no configs of loggers, client metrics and groups"},
	{`Tool configs/.*`, `.*ErrorMessage`, `""|null|"Unexpected (node|broker) id.*`, `"Un(known|supported) resource type.*`, "the same"},
}

// toolTopics makes two topics that the user may or may not see.
func toolTopics(s *side) []kmsg.Request {
	if s.vars["tool topics"] != nil {
		return nil
	}
	s.vars["tool topics"] = true
	create := createTopics(newTopic("tools-a", 2), newTopic("tools-b", 3))
	create.Version = 7
	return []kmsg.Request{create}
}

// places are partitions of both topics, of one that is not there, and of names
// that no topic can have.
var places = []at{
	{"tools-a", 0, 0}, {"tools-a", 99, 0}, {"tools-b", 0, 0}, {"tools-b", 99, 0}, {"tools-none", 0, 0}, {"not legal", 0, 0}, {"", 0, 0},
}

// byTopic gathers places, for layouts that have a list of partitions.
func byTopic() (names []string, partitions map[string][]int32) {
	partitions = map[string][]int32{}
	for _, p := range places {
		if partitions[p.topic] == nil {
			names = append(names, p.topic)
		}
		partitions[p.topic] = append(partitions[p.topic], p.partition)
	}
	return names, partitions
}

// partitionQuestions are about partitions of topics.
func partitionQuestions() []question {
	return []question{
		{name: "delete records", min: 0, max: 2, capture: sortRecords, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.TimeoutMillis = 5000
			for _, p := range places {
				r.Topics = append(r.Topics, kmsg.DeleteRecordsRequestTopic{Topic: p.topic,
					Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: p.partition}}})
			}
			return r
		}, grants: []string{"delete topic tools-a", "delete topic tools-none", "delete topic tools-*", "read topic tools-*, alter topic tools-*",
			"delete topic *, deny delete topic tools-b", "alter cluster"}},
		{name: "ends of epochs", min: 2, max: 4, capture: sortEpochs, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrOffsetForLeaderEpochRequest()
			for _, p := range places {
				r.Topics = append(r.Topics, kmsg.OffsetForLeaderEpochRequestTopic{Topic: p.topic,
					Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{Partition: p.partition, CurrentLeaderEpoch: -1}}})
			}
			return r
		}, grants: []string{"describe topic tools-a", "read topic tools-none", "write topic tools-*", "cluster_action cluster", "describe cluster"}},
		{name: "producers", min: 0, max: 0, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeProducersRequest()
			names, partitions := byTopic()
			for _, name := range names {
				r.Topics = append(r.Topics, kmsg.DescribeProducersRequestTopic{Topic: name, Partitions: partitions[name]})
			}
			return r
		}, grants: []string{"read topic tools-a", "read topic tools-none", "describe topic tools-a", "describe cluster"}},
		growth("grow", 5000, newCount{"tools-a", 9}, newCount{"tools-b", 1}, newCount{"tools-none", 9}, newCount{"not legal", 9}),
		growth("grow twice", 5000, newCount{"tools-a", 9}, newCount{"tools-b", 9}, newCount{"tools-b", 9}),
		growth("grow without time", 0, newCount{"tools-a", 9}, newCount{"tools-b", 9}, newCount{"tools-b", 9}, newCount{"tools-none", 9}),
		growth("grow too much", 5000, newCount{"tools-a", 50_000}, newCount{"tools-b", 9}),
		described("describe", 100, nil, "tools-b", "tools-a", "tools-none", "not legal", "tools-a"),
		described("describe a page", 1, nil, "tools-b", "tools-a", "tools-none"),
		described("describe the next page", 1, cursor("tools-a", 1), "tools-b", "tools-a", "tools-none"),
		described("describe from a stranger on", 100, cursor("tools-none", 0), "tools-b", "tools-a"),
		described("describe from below nothing on", 100, cursor("tools-a", -1), "tools-b", "tools-a"),
		described("describe all from one on", 1, cursor("tools-a", 1)),
	}
}

type newCount struct {
	topic string
	count int32
}

// growth validates only, so that the topics stay as they are.
func growth(name string, timeout int32, topics ...newCount) question {
	return question{name: name, min: 0, max: 3, capture: func(_ *side, resp kmsg.Response) {
		slices.SortStableFunc(resp.(*kmsg.CreatePartitionsResponse).Topics, func(a, b kmsg.CreatePartitionsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
	}, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.TimeoutMillis, r.ValidateOnly = timeout, true
		for _, t := range topics {
			r.Topics = append(r.Topics, kmsg.CreatePartitionsRequestTopic{Topic: t.topic, Count: t.count})
		}
		return r
	}, grants: []string{"alter topic tools-a", "alter topic tools-none", "alter topic *", "create topic tools-a, alter cluster, create cluster"}}
}

func cursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
	return &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topic, Partition: partition}
}

func described(name string, limit int32, from *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) question {
	return question{name: name, capture: sortRefused, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeTopicPartitionsRequest()
		r.ResponsePartitionLimit, r.Cursor = limit, from
		for _, t := range topics {
			r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: t})
		}
		return r
	}, grants: []string{"describe topic tools-a", "read topic tools-b", "alter_configs topic tools-*", "all topic tools-a", "describe cluster"}}
}

// sortRefused sorts those topics at the end of a page that may not be described: a
// broker answers them in no order.
func sortRefused(_ *side, resp kmsg.Response) {
	topics := resp.(*kmsg.DescribeTopicPartitionsResponse).Topics
	first := slices.IndexFunc(topics, func(t kmsg.DescribeTopicPartitionsResponseTopic) bool {
		return t.ErrorCode == kerr.TopicAuthorizationFailed.Code
	})
	if first >= 0 {
		slices.SortFunc(topics[first:], func(a, b kmsg.DescribeTopicPartitionsResponseTopic) int { return byName(a.Topic, b.Topic) })
	}
}

func sortEpochs(_ *side, resp kmsg.Response) {
	slices.SortStableFunc(resp.(*kmsg.OffsetForLeaderEpochResponse).Topics, func(a, b kmsg.OffsetForLeaderEpochResponseTopic) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partitions[0].Partition, b.Partitions[0].Partition))
	})
}

// placementQuestions are about where partitions lie and who leads them.
func placementQuestions() []question {
	alter := []string{"alter cluster", "describe cluster", "alter topic *, all topic tools-a", "all cluster, deny alter cluster"}
	describe := []string{"describe cluster", "alter cluster", "describe topic *", "all cluster, deny describe cluster"}
	return []question{
		{name: "move to other directories", min: 1, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrAlterReplicaLogDirsRequest()
			for _, dir := range []string{"/nowhere", "/elsewhere"} {
				d := kmsg.AlterReplicaLogDirsRequestDir{Dir: dir}
				d.Topics = append(d.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: "tools-a", Partitions: []int32{0, 99}})
				r.Dirs = append(r.Dirs, d)
			}
			return r
		}, capture: sortMoves, grants: alter},
		{name: "directories", min: 1, max: 5, capture: learnDirs, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeLogDirsRequest()
			r.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "tools-a", Partitions: []int32{0, 99}}, {Topic: "tools-none", Partitions: []int32{0}}}
			return r
		}, grants: describe},
		elected("elect", 5000, 0, kmsg.ElectLeadersRequestTopic{Topic: "tools-a", Partitions: []int32{0, 99}}, kmsg.ElectLeadersRequestTopic{Topic: "tools-none", Partitions: []int32{0}}),
		elected("elect oddly without time", 0, 9, kmsg.ElectLeadersRequestTopic{Topic: "tools-a", Partitions: []int32{0}}),
		elected("elect nothing", 5000, 0, []kmsg.ElectLeadersRequestTopic{}...),
		{name: "elect all", min: 0, max: 2, capture: dropElected, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrElectLeadersRequest() }, grants: alter},
		{name: "elect all, oddly", min: 1, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrElectLeadersRequest()
			r.TimeoutMillis, r.ElectionType = 5000, 9
			return r
		}, grants: alter},
		reassigned("reassign", 5000, nil, []int32{1}, []int32{2}),
		reassigned("reassign without time", 0, []int32{1}),
		reassigned("reassign nothing", 5000),
		{name: "reassignments", build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrListPartitionReassignmentsRequest()
			r.TimeoutMillis = 5000
			r.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "tools-a", Partitions: []int32{0, 99}}, {Topic: "tools-none"}}
			return r
		}, grants: describe},
		{name: "all reassignments", build: func(*side, int16) kmsg.Request { return kmsg.NewPtrListPartitionReassignmentsRequest() }, grants: describe},
	}
}

func elected(name string, timeout int32, kind int8, topics ...kmsg.ElectLeadersRequestTopic) question {
	return question{name: name, min: 0, max: 2, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrElectLeadersRequest()
		r.TimeoutMillis, r.ElectionType, r.Topics = timeout, kind, append([]kmsg.ElectLeadersRequestTopic{}, topics...)
		return r
	}, grants: []string{"alter cluster", "describe cluster", "alter topic *"}}
}

func reassigned(name string, timeout int32, replicas ...[]int32) question {
	return question{name: name, min: 0, max: 1, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		r.TimeoutMillis = timeout
		for _, topic := range []string{"tools-a", "tools-none"} {
			t := kmsg.AlterPartitionAssignmentsRequestTopic{Topic: topic}
			for i, list := range replicas {
				t.Partitions = append(t.Partitions, kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: int32(i), Replicas: list})
			}
			if len(t.Partitions) > 0 {
				r.Topics = append(r.Topics, t)
			}
		}
		return r
	}, grants: []string{"alter cluster", "describe cluster", "alter topic *"}}
}
