package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record/recordtest"
)

// cutTopic has three partitions and five records in the first; the others are
// compacted only, and both.
const cutTopic, keyedTopic, bothTopic = "oracle-cut", "oracle-keyed", "oracle-both"

// at names a partition, with an offset or a leader epoch.
type at struct {
	topic     string
	partition int32
	value     int64
}

func partitionSteps() []step {
	create := func(t kmsg.CreateTopicsRequestTopic) step {
		return step{name: "create " + t.Topic, min: 7, max: 7, capture: learnOnly, build: func(*side, int16) kmsg.Request { return createTopics(t) }}
	}
	fill := step{name: "fill", min: 9, max: 9, build: func(s *side, _ int16) kmsg.Request {
		return produce(s, cutTopic, -1, 0, recordtest.Values("a", "b", "c", "d", "e").From(77, 0, 0).Bytes())
	}}
	start := step{name: "where it starts", min: 5, max: 5, build: func(*side, int16) kmsg.Request { return listOffsets(cutTopic, 0, -2) }}
	return slices.Concat(
		[]step{create(newTopic(cutTopic, 3)), create(newTopic(keyedTopic, 1, "cleanup.policy", "compact")),
			create(newTopic(bothTopic, 1, "cleanup.policy", "compact,delete")), fill},
		epochSteps(), producerSteps(), recordSteps(), []step{start}, epochSteps(),
		dirSteps(), electionSteps(), moveSteps(), brokerSteps(),
	)
}

// learnOnly captures the ids of new topics; the configs are compared elsewhere.
func learnOnly(s *side, resp kmsg.Response) {
	learnTopic(s, resp)
	for i := range resp.(*kmsg.CreateTopicsResponse).Topics {
		resp.(*kmsg.CreateTopicsResponse).Topics[i].Configs = nil
	}
}

func recordSteps() []step {
	cut := func(name string, timeout int32, parts ...at) step {
		return step{name: name, min: 0, max: 2, capture: sortRecords, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.TimeoutMillis = timeout
			for _, p := range parts {
				r.Topics = append(r.Topics, kmsg.DeleteRecordsRequestTopic{Topic: p.topic,
					Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: p.partition, Offset: p.value}}})
			}
			return r
		}}
	}
	return []step{
		cut("cut", 5000, at{cutTopic, 0, 2}),
		cut("cut below the start", 5000, at{cutTopic, 0, 1}, at{cutTopic, 1, 0}, at{cutTopic, 2, -1}),
		cut("cut what is not there", 5000, at{cutTopic, 0, 6}, at{cutTopic, 1, -2}, at{cutTopic, 3, 0}, at{cutTopic, -1, 0},
			at{"oracle-nobody", 0, -2}, at{"not legal", 0, 0}, at{"", 0, 0}),
		cut("cut by policy", 5000, at{keyedTopic, 0, 99}, at{keyedTopic, 1, 0}, at{bothTopic, 0, 0}),
		cut("cut twice", 5000, at{cutTopic, 0, 99}, at{bothTopic, 0, 0}, at{cutTopic, 0, 3}),
		cut("cut without time", -1, at{cutTopic, 0, 4}),
		cut("cut nothing", 5000),
	}
}

// sortRecords sorts the answer: a broker answers in no order.
func sortRecords(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.DeleteRecordsResponse)
	slices.SortFunc(r.Topics, func(a, b kmsg.DeleteRecordsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
	for _, t := range r.Topics {
		slices.SortFunc(t.Partitions, func(a, b kmsg.DeleteRecordsResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
}

func epochSteps() []step {
	ask := func(name string, current int32, parts ...at) step {
		return step{name: name, min: 2, max: 4, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrOffsetForLeaderEpochRequest()
			for _, p := range parts {
				r.Topics = append(r.Topics, kmsg.OffsetForLeaderEpochRequestTopic{Topic: p.topic,
					Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{Partition: p.partition, CurrentLeaderEpoch: current, LeaderEpoch: int32(p.value)}}})
			}
			return r
		}}
	}
	return []step{
		ask("epochs", -1, at{cutTopic, 0, 0}, at{cutTopic, 1, 0}, at{cutTopic, 0, 1}, at{cutTopic, 0, -1}, at{cutTopic, 0, -5}, at{cutTopic, 0, 0}),
		ask("epochs of this leader", 0, at{cutTopic, 0, 0}),
		ask("epochs of a later leader", 1, at{cutTopic, 0, 0}, at{"oracle-nobody", 0, 0}, at{cutTopic, 9, 0}),
		ask("epochs of an earlier leader", -7, at{cutTopic, 0, 0}),
		ask("epochs of what is not there", -1, at{cutTopic, -1, 0}, at{"not legal", 0, 0}, at{"", 0, 0}),
	}
}

func producerSteps() []step {
	ask := func(name string, topic string, partitions ...int32) step {
		return step{name: name, min: 0, max: 0, capture: forgetTimes, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeProducersRequest()
			r.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: partitions}}
			return r
		}}
	}
	return []step{
		ask("producers", cutTopic, 0, 1, 0, 9, -1),
		ask("producers of a stranger", "oracle-nobody", 0),
		ask("producers of an illegal topic", "not legal", 0),
		ask("producers of no partition", "oracle-nobody"),
	}
}

// forgetTimes leaves of a producer's time whether it is known.
func forgetTimes(_ *side, resp kmsg.Response) {
	for _, t := range resp.(*kmsg.DescribeProducersResponse).Topics {
		for _, p := range t.Partitions {
			for i := range p.ActiveProducers {
				p.ActiveProducers[i].LastTimestamp = min(p.ActiveProducers[i].LastTimestamp, 0)
			}
		}
	}
}

func dirSteps() []step {
	type topic = kmsg.DescribeLogDirsRequestTopic
	describe := func(name string, topics ...topic) step {
		return step{name: name, min: 1, max: 5, capture: learnDirs, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeLogDirsRequest()
			r.Topics = append([]topic{}, topics...)
			return r
		}}
	}
	move := func(name string, moves ...func(s *side) kmsg.AlterReplicaLogDirsRequestDir) step {
		return step{name: name, min: 1, max: 2, capture: sortMoves, build: func(s *side, _ int16) kmsg.Request {
			r := kmsg.NewPtrAlterReplicaLogDirsRequest()
			for _, m := range moves {
				r.Dirs = append(r.Dirs, m(s))
			}
			return r
		}}
	}
	to := func(dir, topic string, partitions ...int32) func(*side) kmsg.AlterReplicaLogDirsRequestDir {
		return func(s *side) kmsg.AlterReplicaLogDirsRequestDir {
			return kmsg.AlterReplicaLogDirsRequestDir{Dir: cmp.Or(s.text(dir), "/nowhere"), Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: partitions}}}
		}
	}
	const home, away = "log dir", ""
	return []step{
		describe("dirs", topic{Topic: cutTopic, Partitions: []int32{0, 9, -1, 0}}, topic{Topic: "not legal", Partitions: []int32{0}},
			topic{Topic: bothTopic, Partitions: []int32{0}}, topic{Topic: cutTopic, Partitions: []int32{1, 0}}),
		describe("dirs of no topic"),
		describe("dirs of no partition", topic{Topic: cutTopic}),
		describe("dirs of a stranger", topic{Topic: "oracle-nobody", Partitions: []int32{0}}),
		{name: "dirs of all", min: 1, max: 5, capture: learnDirs, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() }},
		move("move home", to(home, cutTopic, 0, 9, -1), to(home, "oracle-nobody", 0), to(home, "not legal", 0)),
		move("move away", to(away, cutTopic, 0, 9), to(away, "oracle-nobody", 0)),
		move("move home and away", to(home, cutTopic, 0, 0), to(away, cutTopic, 0, 1)),
		move("move away and home", to(away, cutTopic, 0, 1), to(home, cutTopic, 0), to(home, bothTopic, 0)),
		move("move nothing", to(away, cutTopic)),
	}
}

// learnDirs captures the directory, sorts what is in it, and forgets what is a
// matter of the machine: the volume, and the topics that only a broker has.
func learnDirs(s *side, resp kmsg.Response) {
	for i := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		d := &resp.(*kmsg.DescribeLogDirsResponse).Dirs[i]
		s.learn("log dir", d.Dir)
		d.TotalBytes, d.UsableBytes = 0, 0
		d.Topics = slices.DeleteFunc(d.Topics, func(t kmsg.DescribeLogDirsResponseDirTopic) bool { return strings.HasPrefix(t.Topic, "__") })
		slices.SortFunc(d.Topics, func(a, b kmsg.DescribeLogDirsResponseDirTopic) int { return strings.Compare(a.Topic, b.Topic) })
		for _, t := range d.Topics {
			slices.SortFunc(t.Partitions, func(a, b kmsg.DescribeLogDirsResponseDirTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
}

func sortMoves(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.AlterReplicaLogDirsResponse)
	slices.SortFunc(r.Topics, func(a, b kmsg.AlterReplicaLogDirsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
	for _, t := range r.Topics {
		slices.SortFunc(t.Partitions, func(a, b kmsg.AlterReplicaLogDirsResponseTopicPartition) int {
			return cmp.Compare(a.Partition, b.Partition)
		})
	}
}

func electionSteps() []step {
	type topic = kmsg.ElectLeadersRequestTopic
	elect := func(name string, min int16, kind int8, timeout int32, topics ...topic) step {
		return step{name: name, min: min, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrElectLeadersRequest()
			r.ElectionType, r.TimeoutMillis, r.Topics = kind, timeout, append([]topic{}, topics...)
			return r
		}}
	}
	all := func(name string, min int16, kind int8, timeout int32) step {
		return step{name: name, min: min, max: 2, capture: dropElected, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrElectLeadersRequest()
			r.ElectionType, r.TimeoutMillis = kind, timeout
			return r
		}}
	}
	some := topic{Topic: cutTopic, Partitions: []int32{0, 9, -1, 0}}
	return []step{
		elect("elect", 0, 0, 5000, some, topic{Topic: "oracle-nobody", Partitions: []int32{0}}, topic{Topic: "not legal", Partitions: []int32{0}},
			topic{Topic: cutTopic}, topic{Topic: "oracle-nobody"}),
		elect("elect uncleanly", 1, 1, 5000, some),
		elect("elect oddly", 1, 2, 5000, some),
		elect("elect without time", 0, 0, 0, some),
		elect("elect oddly without time", 1, 2, -1, some),
		elect("elect nothing", 0, 0, 0),
		elect("elect nothing, oddly", 1, 2, 5000),
		all("elect all", 0, 0, 5000),
		all("elect all uncleanly", 1, 1, 5000),
		all("elect all oddly", 1, -1, 5000),
		all("elect all without time", 0, 0, 0),
	}
}

// dropElected sorts the topics and forgets those that only a broker has.
func dropElected(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.ElectLeadersResponse)
	r.Topics = slices.DeleteFunc(r.Topics, func(t kmsg.ElectLeadersResponseTopic) bool { return strings.HasPrefix(t.Topic, "__") })
	slices.SortFunc(r.Topics, func(a, b kmsg.ElectLeadersResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
}

func moveSteps() []step {
	move := func(name string, change func(*kmsg.AlterPartitionAssignmentsRequest), topic string, partition int32, replicas ...[]int32) step {
		return step{name: name, min: 0, max: 1, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			t := kmsg.AlterPartitionAssignmentsRequestTopic{Topic: topic}
			for _, list := range replicas {
				t.Partitions = append(t.Partitions, kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: partition, Replicas: list})
			}
			r.Topics = append(r.Topics, t)
			if change != nil {
				change(r)
			}
			return r
		}}
	}
	list := func(name string, timeout int32, topics ...string) step {
		return step{name: name, min: 0, max: 0, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrListPartitionReassignmentsRequest()
			r.TimeoutMillis = timeout
			for _, t := range topics {
				r.Topics = append(r.Topics, kmsg.ListPartitionReassignmentsRequestTopic{Topic: t, Partitions: []int32{0, 9}})
			}
			return r
		}}
	}
	lists := [][]int32{{1}, {2}, {1, 2}, {2, 3}, {}, {1, 1}, {2, 2}, {1, 1, 2}, {2, 2, 1}, {3, 2, -1}, nil}
	fixed := func(r *kmsg.AlterPartitionAssignmentsRequest) { r.AllowReplicationFactorChange = false }
	late := func(r *kmsg.AlterPartitionAssignmentsRequest) { r.TimeoutMillis = 0; fixed(r) }
	none := func(r *kmsg.AlterPartitionAssignmentsRequest) { r.Topics = nil; late(r) }
	return []step{
		move("reassign", nil, cutTopic, 0, lists...),
		move("reassign with the factor fixed", fixed, cutTopic, 0, lists...),
		move("reassign without time", late, cutTopic, 0, lists...),
		move("reassign nothing", none, cutTopic, 0),
		move("reassign a partition that is not there", nil, cutTopic, 9, lists...),
		move("reassign a stranger", nil, "oracle-nobody", 0, lists...),
		move("reassign an illegal topic", nil, "not legal", 0, lists...),
		move("reassign no partition", nil, "oracle-nobody", 0),
		list("reassignments", 5000),
		list("reassignments without time", -1),
		list("reassignments of some", 5000, cutTopic, "oracle-nobody", "not legal"),
	}
}

// brokerSteps leaves the broker itself alone: Kafka would unregister it.
func brokerSteps() []step {
	leave := func(name string, id int32) step {
		return step{name: name, min: 0, max: 0, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrUnregisterBrokerRequest()
			r.BrokerID = id
			return r
		}}
	}
	return []step{leave("unregister a stranger", 7), leave("unregister nobody", -1)}
}
