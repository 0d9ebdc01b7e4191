package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// streams are run in this order; the later ones use the topic of the first.
var streams = []stream{
	{"Versions", versionSteps},
	{"Topics", topicSteps},
	{"Configs", configSteps},
	{"Produce", produceSteps},
	{"Fetch", fetchSteps},
	{"ListOffsets", listOffsetsSteps},
	{"Offsets", offsetSteps},
	{"Groups", groupSteps},
	{"Partitions", partitionSteps},
	{"Tools", toolSteps},
	{"Quotas", quotaSteps},
	{"Users", userSteps},
	{"Delete", deleteSteps},
}

// keysOf keeps the rows of the keys that the gateway serves: a broker has more.
func servedRows(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.ApiVersionsResponse)
	served := map[int16]bool{}
	for _, k := range []int16{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 32, 33, 34, 35, 37, 42, 43, 44, 45, 46, 47, 50, 51, 55, 57, 60, 61, 64, 65, 66, 74, 75} {
		served[k] = true
	}
	r.ApiKeys = slices.DeleteFunc(r.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return !served[k.ApiKey] })
	slices.SortFunc(r.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	// Features are a broker's own business.
	r.SupportedFeatures, r.FinalizedFeatures, r.FinalizedFeaturesEpoch, r.ZkMigrationReady = nil, nil, -1, false
}

func versionSteps() []step {
	ask := func(name, software, version string) step {
		return step{name: name, min: 3, max: 5, capture: servedRows, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion = software, version
			r.ClusterID, r.NodeID = nil, -1
			return r
		}}
	}
	find := func(name string, kind int8, max int16, keys ...string) step {
		return step{name: name, min: 0, max: max, build: func(_ *side, v int16) kmsg.Request {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.CoordinatorType = kind
			if v < 4 {
				r.CoordinatorKey = keys[0]
			} else {
				r.CoordinatorKeys = keys
			}
			return r
		}}
	}
	cluster := func(endpoint int8, min int16) step {
		return step{name: "cluster " + string(rune('0'+endpoint)), min: min, max: 2,
			capture: func(s *side, resp kmsg.Response) {
				if r := resp.(*kmsg.DescribeClusterResponse); r.ClusterID != "" {
					s.learn("cluster id", r.ClusterID)
				}
			},
			build: func(*side, int16) kmsg.Request {
				r := kmsg.NewPtrDescribeClusterRequest()
				r.EndpointType, r.IncludeClusterAuthorizedOperations = endpoint, true
				return r
			}}
	}
	return []step{
		cluster(1, 0),
		cluster(2, 1),
		cluster(7, 1),
		{name: "early", min: 0, max: 2, capture: servedRows, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrApiVersionsRequest() }},
		{name: "unknown", min: 6, max: 7, capture: servedRows, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrApiVersionsRequest() }},
		ask("named", "oracle", "1.0-x"),
		ask("bad name", "-oracle", "1"),
		ask("no version", "oracle", ""),
		{name: "wrong cluster", min: 5, max: 5, capture: servedRows, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion, r.ClusterID, r.NodeID = "o", "1", str("elsewhere"), 1
			return r
		}},
		{name: "half an identity", min: 5, max: 5, capture: servedRows, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion, r.ClusterID, r.NodeID = "o", "1", nil, 1
			return r
		}},
		find("coordinator", 0, 6, "a", "b", "a"),
		find("coordinator of an odd kind", 9, 6, "a"),
		{name: "producer id", min: 0, max: 5,
			capture: func(_ *side, resp kmsg.Response) {
				r := resp.(*kmsg.InitProducerIDResponse)
				r.ProducerID = min(r.ProducerID, 0) // any id is as good as another
			},
			build: func(*side, int16) kmsg.Request { return kmsg.NewPtrInitProducerIDRequest() }},
		{name: "producer id with half a state", min: 3, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.ProducerID = 5
			return r
		}},
		{name: "producer id of an empty transaction", min: 0, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.TransactionalID = str("")
			return r
		}},
	}
}

// mainTopic is made by topicSteps and used by the later streams.
const mainTopic = "oracle"

func topicSteps() []step {
	create := func(name string, topics func(v int16) []kmsg.CreateTopicsRequestTopic, change ...func(*kmsg.CreateTopicsRequest)) step {
		return step{name: name, min: 2, max: 7, capture: learnTopic, build: func(_ *side, v int16) kmsg.Request {
			r := createTopics(topics(v)...)
			for _, c := range change {
				c(r)
			}
			return r
		}}
	}
	one := func(t kmsg.CreateTopicsRequestTopic) func(int16) []kmsg.CreateTopicsRequestTopic {
		return func(int16) []kmsg.CreateTopicsRequestTopic { return []kmsg.CreateTopicsRequestTopic{t} }
	}
	assigned := newTopic("oracle-assigned", -1)
	assigned.ReplicationFactor = -1
	assigned.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{1}}, {Partition: 1, Replicas: []int32{1}}}
	gap := assigned
	gap.Topic = "oracle-gap"
	gap.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{1}}, {Partition: 2, Replicas: []int32{1}}}
	foreign := assigned
	foreign.Topic = "oracle-foreign"
	foreign.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{7}}}
	both := assigned
	both.Topic, both.NumPartitions = "oracle-both", 2
	replicas := newTopic("oracle-replicas", 1)
	replicas.ReplicationFactor = 3

	grow := func(name, topic string, count int32, min int16, change ...func(*kmsg.CreatePartitionsRequestTopic)) step {
		return step{name: name, min: min, max: 3, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrCreatePartitionsRequest()
			r.TimeoutMillis = 5000
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = topic, count
			for _, c := range change {
				c(&t)
			}
			r.Topics = append(r.Topics, t)
			return r
		}}
	}
	growTo := func(counts ...int32) func(*kmsg.CreatePartitionsRequestTopic) {
		return func(t *kmsg.CreatePartitionsRequestTopic) {
			for _, c := range counts {
				t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: []int32{c}})
			}
		}
	}
	look := func(name string, min, max int16, names ...string) step {
		return step{name: name, min: min, max: max, capture: learnTopic, build: func(*side, int16) kmsg.Request { return metadata(false, names...) }}
	}
	partitions := func(name string, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) step {
		return step{name: name, min: 0, max: 0, capture: dropInternal, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeTopicPartitionsRequest()
			r.ResponsePartitionLimit, r.Cursor = limit, cursor
			for _, t := range topics {
				r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: t})
			}
			return r
		}}
	}
	return []step{
		{name: "main topic", min: 7, max: 7, capture: learnTopic, build: func(*side, int16) kmsg.Request { return createTopics(newTopic(mainTopic, 3)) }},
		create("fresh", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(perVersion("fresh", v), 2, "retention.ms", "1000000", "cleanup.policy", "compact,delete")}
		}),
		create("exists", one(newTopic(mainTopic, 1))),
		create("twice", one(newTopic("oracle-twice", 1)), func(r *kmsg.CreateTopicsRequest) { r.Topics = append(r.Topics, r.Topics[0]) }),
		create("validate", one(newTopic("oracle-validate", 1)), func(r *kmsg.CreateTopicsRequest) { r.ValidateOnly = true }),
		create("no time", one(newTopic("oracle-no-time", 1)), func(r *kmsg.CreateTopicsRequest) { r.TimeoutMillis = 0 }),
		create("defaults", func(v int16) []kmsg.CreateTopicsRequestTopic {
			t := newTopic(perVersion("defaults", v), -1)
			t.ReplicationFactor = -1
			return []kmsg.CreateTopicsRequestTopic{t}
		}),
		create("no partitions", one(newTopic("oracle-zero", 0))),
		create("illegal", one(newTopic("not legal", 1))),
		create("dots", one(newTopic("..", 1))),
		create("empty name", one(newTopic("", 1))),
		create("long name", one(newTopic(strings.Repeat("x", 250), 1))),
		create("unknown config", one(newTopic("oracle-config", 1, "no.such.config", "1"))),
		create("bad config", one(newTopic("oracle-config", 1, "retention.ms", "soon"))),
		create("config out of range", one(newTopic("oracle-config", 1, "max.message.bytes", "-5"))),
		create("replicas", one(replicas)),
		create("gap in the assignment", one(gap)),
		create("foreign node", one(foreign)),
		create("assignment and count", one(both)),
		{name: "assigned", min: 7, max: 7, capture: learnTopic, build: func(*side, int16) kmsg.Request { return createTopics(assigned) }},

		look("one", 0, 13, mainTopic),
		look("repeated", 1, 13, mainTopic, mainTopic),
		look("unknown", 4, 13, "oracle-nobody"),
		look("illegal name", 4, 13, "not legal"),
		look("none", 1, 13),
		{name: "by id", min: 12, max: 13, capture: learnTopic, build: func(s *side, _ int16) kmsg.Request {
			r := metadata(false)
			for _, id := range [][16]byte{s.id("id of " + mainTopic), {1, 2, 3}} {
				t := kmsg.NewMetadataRequestTopic()
				t.TopicID = id
				r.Topics = append(r.Topics, t)
			}
			return r
		}},
		{name: "operations", min: 8, max: 13, capture: learnTopic, build: func(*side, int16) kmsg.Request {
			r := metadata(false, mainTopic)
			r.IncludeTopicAuthorizedOperations, r.IncludeClusterAuthorizedOperations = true, true
			return r
		}},

		grow("grow a stranger", "oracle-nobody", 4, 0),
		grow("grow to less", mainTopic, 2, 0),
		grow("grow to the same", mainTopic, 3, 0),
		grow("grow by a wrong list", mainTopic, 5, 0, growTo(1)),
		grow("grow on a foreign node", mainTopic, 4, 0, growTo(9)),
		{name: "grow twice", min: 0, max: 3, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrCreatePartitionsRequest()
			r.TimeoutMillis = 5000
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = "oracle-assigned", 9
			r.Topics = append(r.Topics, t, t)
			return r
		}},
		grow("grow", "oracle-assigned", 3, 3),
		look("grown", 9, 9, "oracle-assigned"),

		partitions("describe two", 100, nil, mainTopic, "oracle-assigned", mainTopic),
		partitions("describe a stranger", 100, nil, "oracle-nobody", mainTopic, "not legal"),
		partitions("describe a page", 2, nil, mainTopic, "oracle-assigned"),
		partitions("describe from a cursor", 2, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: mainTopic, Partition: 2}, mainTopic, "oracle-assigned"),
		partitions("describe from a bad cursor", 2, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: mainTopic, Partition: -1}, mainTopic),
		partitions("describe from another cursor", 2, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: "zzz"}, mainTopic),
		partitions("describe none", -1, nil, mainTopic),
	}
}

// dropInternal forgets the topics that only a broker has.
func dropInternal(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.DescribeTopicPartitionsResponse)
	for _, t := range r.Topics {
		if t.Topic != nil && t.TopicID != ([16]byte{}) {
			s.learn("id of "+*t.Topic, t.TopicID)
		}
	}
	r.Topics = slices.DeleteFunc(r.Topics, func(t kmsg.DescribeTopicPartitionsResponseTopic) bool { return t.IsInternal })
}

func configSteps() []step {
	const topic, broker = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	describe := func(name string, kind kmsg.ConfigResourceType, resource string, keys ...string) step {
		return step{name: name, min: 1, max: 4, capture: sortConfigs, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeConfigsRequest()
			r.IncludeSynonyms = len(keys) == 1
			q := kmsg.NewDescribeConfigsRequestResource()
			q.ResourceType, q.ResourceName, q.ConfigNames = kind, resource, keys
			r.Resources = append(r.Resources, q)
			return r
		}}
	}
	alter := func(name string, kind kmsg.ConfigResourceType, resource string, pairs ...*string) step {
		return step{name: "alter " + name, min: 0, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrAlterConfigsRequest()
			q := kmsg.NewAlterConfigsRequestResource()
			q.ResourceType, q.ResourceName = kind, resource
			for i := 0; i+1 < len(pairs); i += 2 {
				c := kmsg.NewAlterConfigsRequestResourceConfig()
				c.Name, c.Value = *pairs[i], pairs[i+1]
				q.Configs = append(q.Configs, c)
			}
			r.Resources = append(r.Resources, q)
			return r
		}}
	}
	change := func(name string, kind kmsg.ConfigResourceType, resource string, op kmsg.IncrementalAlterConfigOp, key string, value *string, more ...func(*kmsg.IncrementalAlterConfigsRequest)) step {
		return step{name: "change " + name, min: 0, max: 1, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrIncrementalAlterConfigsRequest()
			q := kmsg.NewIncrementalAlterConfigsRequestResource()
			q.ResourceType, q.ResourceName = kind, resource
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Op, c.Value = key, op, value
			q.Configs = append(q.Configs, c)
			r.Resources = append(r.Resources, q)
			for _, m := range more {
				m(r)
			}
			return r
		}}
	}
	const set, unset, add, subtract = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete, kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	twice := func(r *kmsg.IncrementalAlterConfigsRequest) {
		r.Resources[0].Configs = append(r.Resources[0].Configs, r.Resources[0].Configs[0])
	}
	return []step{
		describe("all of a topic", topic, mainTopic),
		describe("one of a topic", topic, mainTopic, "retention.ms"),
		describe("some of a topic", topic, "fresh-v7", "retention.ms", "cleanup.policy", "no.such.config"),
		describe("a stranger", topic, "oracle-nobody"),
		describe("an illegal topic", topic, "not legal"),
		describe("a broker that is not", broker, "77"),
		describe("an odd broker", broker, "x"),
		describe("the number of partitions", broker, "1", "num.partitions"),
		alter("a topic", topic, "fresh-v6", str("retention.ms"), str("5000")),
		alter("nothing", topic, "fresh-v6"),
		alter("an unknown key", topic, "fresh-v6", str("no.such.config"), str("1")),
		alter("a bad value", topic, "fresh-v6", str("retention.ms"), str("soon")),
		alter("a null", topic, "fresh-v6", str("retention.ms"), nil),
		alter("a key twice", topic, "fresh-v6", str("retention.ms"), str("1"), str("retention.ms"), str("2")),
		alter("nothing of a broker's", broker, "1"),
		alter("a stranger", topic, "oracle-nobody", str("retention.ms"), str("1")),
		alter("an illegal topic", topic, "not legal", str("retention.ms"), str("1")),
		change("set", topic, "fresh-v5", set, "retention.ms", str("7000")),
		change("append", topic, "fresh-v5", add, "cleanup.policy", str("delete")),
		change("subtract", topic, "fresh-v5", subtract, "cleanup.policy", str("compact")),
		change("append to a number", topic, "fresh-v5", add, "retention.ms", str("1")),
		change("delete", topic, "fresh-v5", unset, "retention.ms", nil),
		change("delete an unknown key", topic, "fresh-v5", unset, "no.such.config", nil),
		change("set a null", topic, "fresh-v5", set, "retention.ms", nil),
		change("a key twice", topic, "fresh-v5", set, "retention.ms", str("1"), twice),
		change("a stranger", topic, "oracle-nobody", set, "retention.ms", str("1")),
		change("an odd operation", topic, "fresh-v5", 9, "retention.ms", str("1")),
		change("delete of a broker's", broker, "1", unset, "leader.replication.throttled.rate", nil),
		change("delete of every broker's", broker, "", unset, "no.such.config", nil),
		change("set of a broker's", broker, "1", set, "log.dirs", str("a")),
		describe("what is left of v5", topic, "fresh-v5", "retention.ms", "cleanup.policy"),
		describe("what is left of v6", topic, "fresh-v6", "retention.ms", "cleanup.policy"),
	}
}

// sortConfigs sorts entries by name: a broker answers in no order.
func sortConfigs(_ *side, resp kmsg.Response) {
	for _, res := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		slices.SortFunc(res.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(a.Name, b.Name) })
	}
}

func deleteSteps() []step {
	drop := func(name string, min, max int16, build func(s *side, v int16) []kmsg.DeleteTopicsRequestTopic) step {
		return step{name: name, min: min, max: max, capture: learnDeleted, build: func(s *side, v int16) kmsg.Request {
			r := kmsg.NewPtrDeleteTopicsRequest()
			r.TimeoutMillis, r.Topics = 10_000, build(s, v)
			for _, t := range r.Topics {
				if t.Topic != nil {
					r.TopicNames = append(r.TopicNames, *t.Topic)
				}
			}
			return r
		}}
	}
	named := func(names ...string) func(*side, int16) []kmsg.DeleteTopicsRequestTopic {
		return func(*side, int16) (out []kmsg.DeleteTopicsRequestTopic) {
			for _, n := range names {
				out = append(out, kmsg.DeleteTopicsRequestTopic{Topic: str(n)})
			}
			return out
		}
	}
	return []step{
		drop("a stranger", 1, 6, named("oracle-nobody")),
		drop("an illegal name", 1, 6, named("not legal")),
		drop("one", 1, 6, func(_ *side, v int16) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{{Topic: str(perVersion("defaults", max(v, 2)))}}
		}),
		drop("by id", 6, 6, func(s *side, _ int16) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{{TopicID: s.id("id of fresh-v7")}, {TopicID: [16]byte{9}}}
		}),
		drop("by nothing", 6, 6, func(*side, int16) []kmsg.DeleteTopicsRequestTopic { return make([]kmsg.DeleteTopicsRequestTopic, 1) }),
		drop("twice", 6, 6, func(s *side, _ int16) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{{Topic: str("oracle-assigned")}, {TopicID: s.id("id of oracle-assigned")}}
		}),
	}
}

// learnDeleted captures the ids of topics that were made before answers had them.
func learnDeleted(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.DeleteTopicsResponse)
	for _, t := range r.Topics {
		if t.Topic != nil {
			s.learn("id of "+*t.Topic, t.TopicID)
		}
	}
	slices.SortStableFunc(r.Topics, func(a, b kmsg.DeleteTopicsResponseTopic) int { return byName(a.Topic, b.Topic) })
}

// byName orders topics, those without a name first: a broker answers topics
// that were asked for by id in no order.
func byName(a, b *string) int {
	name := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return strings.Compare(name(a), name(b))
}
