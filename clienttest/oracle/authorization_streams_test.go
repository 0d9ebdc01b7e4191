package oracle

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record/recordtest"
)

// subjects is what TestAuthorization goes through.
var subjects = slices.Concat(recordSubjects(), offsetSubjects(), groupSubjects(), topicSubjects(), toolSubjects, userSubjects(), quotaSubjects)

// allowedUnderGrants lists the differences of TestAuthorization, as allowed does.
var allowedUnderGrants = []allowance{
	{`Records/Produce.*`, `.*ErrorMessage`, `null`, `".*`, "a refused batch says what is wrong with it"},
	{`Groups/FindCoordinator of .*`, `.*ErrorMessage`, `"This most likely .*|""|"NONE"`, `"Only consumer groups .*|"Transactions .*`, "says what is served instead"},
	{`Records/Produce in a transaction/write transactional_id .*`, `.*ErrorCode`, `0|3|29|100`, `53`, "there are no transactions, whoever asks"},
	{`Records/Produce in a transaction/write transactional_id .*`, `.*(BaseOffset|LogStartOffset)`, `0`, `-1`, "the same"},
	{`Groups/FindCoordinator of a transaction/(describe|write) transactional_id .*`, `.*ErrorCode`, `0`, `53`, "the same"},
	{`Groups/FindCoordinator of a transaction/(describe|write) transactional_id .*`, `.*(Host|Port|NodeID)`, `"127.0.0.1"|<port>|1`, `""|-1`, "the same"},
	{`Records/Fetch of a replica/cluster_action cluster .*`, `.*CurrentLeader.*`, `0|1`, `-1`, "it is the one that was asked"},
}

// noTopic is a topic that is not there, and lies under the prefix of those that are.
const noTopic = "auth-none"

// noID is the id of no topic.
var noID = [16]byte{1: 9}

// authTopics makes two topics with a record in partition 0.
func authTopics(s *side) []kmsg.Request {
	create := createTopics(newTopic("auth-a", 2), newTopic("auth-b", 1))
	create.Version = 7
	return []kmsg.Request{create, producedTo(s, "auth-a"), producedTo(s, "auth-b")}
}

func producedTo(s *side, topic string) kmsg.Request {
	r := produce(s, topic, -1, 0, recordtest.Values("a").Bytes())
	r.Version = 9
	return r
}

// recordSubjects are the keys of records.
func recordSubjects() []subject {
	return []subject{{name: "Records", prepare: authTopics, ask: slices.Concat(produceQuestions(), fetchQuestions(), listOffsetsQuestions())}}
}

func produceQuestions() []question {
	send := func(s *side, acks int16, topics ...string) *kmsg.ProduceRequest {
		all := kmsg.NewPtrProduceRequest()
		all.Acks, all.TimeoutMillis = acks, 5000
		for _, t := range topics {
			all.Topics = append(all.Topics, produce(s, t, acks, 0, recordtest.Values("a").Bytes()).Topics...)
		}
		return all
	}
	// transactional is a batch of a transaction.
	transactional := func(s *side, id *string) *kmsg.ProduceRequest {
		r := send(s, -1, "auth-a", "auth-b", noTopic)
		b := r.Topics[0].Partitions[0].Records
		b[22] |= 0x10
		r.Topics[0].Partitions[0].Records = recordtest.Seal(b)
		r.TransactionID = id
		return r
	}
	return []question{
		{name: "Produce", min: 3, max: 13, capture: sortProduced, build: func(s *side, v int16) kmsg.Request {
			r := send(s, -1, "auth-a", "auth-b", noTopic)
			more := kmsg.NewProduceRequestTopicPartition()
			more.Partition, more.Records = 7, recordtest.Values("a").Bytes()
			for i := range r.Topics {
				r.Topics[i].Partitions = append(r.Topics[i].Partitions, more)
			}
			if v >= 13 {
				r.Topics[2].TopicID = noID
			}
			return r
		}, grants: []string{"write topic auth-a", "read topic auth-a", "describe topic auth-a", "write topic " + noTopic, "write topic auth-*", "idempotent_write cluster"}},
		{name: "Produce of nonsense", min: 3, max: 13, capture: sortProduced, build: func(s *side, v int16) kmsg.Request {
			r := send(s, 5, "auth-a")
			r.Topics[0].Partitions[0].Records = []byte("nonsense")
			return r
		}, grants: []string{"write topic auth-a"}},
		{name: "Produce without acks", min: 3, max: 13, build: func(s *side, _ int16) kmsg.Request { return send(s, 0, "auth-a", "auth-b") },
			grants: []string{"write topic auth-a", "write topic auth-*"}},
		{name: "Produce in a transaction", min: 3, max: 13, capture: sortProduced,
			build: func(s *side, _ int16) kmsg.Request { return transactional(s, str("tx")) },
			grants: []string{"write topic auth-a", "describe transactional_id tx",
				"write transactional_id tx", "write transactional_id tx, write topic auth-*"}},
		{name: "Produce in no transaction", min: 3, max: 13, capture: sortProduced,
			build:  func(s *side, _ int16) kmsg.Request { return transactional(s, nil) },
			grants: []string{"write transactional_id tx"}},
		{name: "InitProducerID", min: 0, max: 5, capture: forgetID, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrInitProducerIDRequest() },
			grants: []string{"idempotent_write cluster", "write topic auth-a", "write topic *", "write topic auth-*", "read topic auth-a", "write cluster",
				"all topic auth-a", "write topic auth-a, deny write topic *"}},
		{name: "InitProducerID, odd", min: 3, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.ProducerID, r.ProducerEpoch = 5, -1
			return r
		}, grants: []string{"idempotent_write cluster"}},
		{name: "InitProducerID, empty", min: 0, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.TransactionalID = str("")
			return r
		}, grants: []string{"idempotent_write cluster"}},
		{name: "InitProducerID, odd, of a transaction", min: 3, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.TransactionalID, r.ProducerID, r.ProducerEpoch = str("tx"), 5, -1
			return r
		}, grants: []string{"write transactional_id tx"}},
		{name: "InitProducerID of a transaction", min: 0, max: 5, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.TransactionalID, r.TransactionTimeoutMillis = str("tx"), 5000
			return r
		}, grants: []string{"idempotent_write cluster", "describe transactional_id tx"}},
	}
}

func forgetID(_ *side, resp kmsg.Response) {
	if r := resp.(*kmsg.InitProducerIDResponse); r.ProducerID >= 0 {
		r.ProducerID = 0
	}
}

// sortProduced sorts topics and forgets offsets, which depend on what was asked before.
func sortProduced(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.ProduceResponse)
	r.Topics = gather(r.Topics, func(t *kmsg.ProduceResponseTopic) (topicKey, *[]kmsg.ProduceResponseTopicPartition) {
		return topicKey{t.Topic, t.TopicID}, &t.Partitions
	}, func(a, b kmsg.ProduceResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.SortFunc(r.Topics, func(a, b kmsg.ProduceResponseTopic) int {
		return s.compareTopics(a.Topic, b.Topic, a.TopicID, b.TopicID)
	})
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			if p := &r.Topics[i].Partitions[j]; p.ErrorCode == 0 {
				p.BaseOffset = 0
			}
		}
	}
}

func fetchQuestions() []question {
	var all = func(s *side, v int16) *kmsg.FetchRequest {
		r := fetch(s, "auth-a", 0, 0)
		r.Topics = append(r.Topics, fetch(s, "auth-b", 0, 0).Topics[0], fetch(s, noTopic, 0, 0).Topics[0])
		for i := range r.Topics {
			more := r.Topics[i].Partitions[0]
			more.Partition = 7
			r.Topics[i].Partitions = append(r.Topics[i].Partitions, more)
		}
		if v >= 13 {
			r.Topics[2].TopicID = noID
		}
		return r
	}
	return []question{
		{name: "Fetch", min: 4, max: 18, capture: sortFetched, build: func(s *side, v int16) kmsg.Request { return all(s, v) },
			grants: []string{"read topic auth-a", "write topic auth-a", "describe topic auth-a", "read topic " + noTopic, "read topic auth-*", "cluster_action cluster"}},
		{name: "Fetch, unsure", min: 4, max: 18, capture: sortFetched, build: func(s *side, v int16) kmsg.Request {
			r := all(s, v)
			r.IsolationLevel = 1
			return r
		}, grants: []string{"read topic auth-a"}},
		{name: "Fetch, odd level", min: 4, max: 18, capture: sortFetched, build: func(s *side, v int16) kmsg.Request {
			r := all(s, v)
			r.IsolationLevel = 7
			return r
		}},
		{name: "Fetch of a replica", min: 4, max: 18, capture: sortFetched, build: func(s *side, v int16) kmsg.Request {
			r := all(s, v)
			if r.ReplicaID = 5; v >= 15 {
				r.ReplicaID, r.ReplicaState.ID = -1, 5
			}
			return r
		}, grants: []string{"read topic auth-*", "cluster_action cluster"}},
		{name: "Fetch in a session", min: 7, max: 18, capture: sortFetched, build: func(s *side, v int16) kmsg.Request {
			r := all(s, v)
			r.SessionID, r.SessionEpoch = 12345, 3
			return r
		}},
	}
}

// sortFetched sorts topics and partitions, which Kafka answers in parts, refused ones
// first, and drops what was appended meanwhile.
func sortFetched(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.FetchResponse)
	r.Topics = gather(r.Topics, func(t *kmsg.FetchResponseTopic) (topicKey, *[]kmsg.FetchResponseTopicPartition) {
		return topicKey{t.Topic, t.TopicID}, &t.Partitions
	}, func(a, b kmsg.FetchResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.SortFunc(r.Topics, func(a, b kmsg.FetchResponseTopic) int { return s.compareTopics(a.Topic, b.Topic, a.TopicID, b.TopicID) })
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			p.HighWatermark, p.LastStableOffset = min(p.HighWatermark, 1), min(p.LastStableOffset, 1)
			p.RecordBatches = p.RecordBatches[:min(len(p.RecordBatches), 1)]
		}
	}
}

func listOffsetsQuestions() []question {
	all := func(level int8) func(*side, int16) kmsg.Request {
		return func(*side, int16) kmsg.Request {
			r := listOffsets(noTopic, 0, -2)
			for _, t := range []string{"auth-b", "auth-a"} {
				for _, p := range []int32{0, 7} {
					r.Topics = append(r.Topics, listOffsets(t, p, -2).Topics...)
				}
			}
			r.Topics = append(r.Topics, listOffsets("auth-a", 1, -77).Topics...)
			r.IsolationLevel = level
			return r
		}
	}
	return []question{
		{name: "ListOffsets", min: 1, max: 11, capture: sortListed, build: all(0),
			grants: []string{"describe topic auth-a", "read topic auth-b", "describe_configs topic auth-a", "describe topic " + noTopic, "describe topic auth-*"}},
		{name: "ListOffsets, odd level", min: 2, max: 11, capture: sortListed, build: all(7)},
	}
}

// compareTopics orders topics of answers that name them in no order, by name or by
// what is shown of their ids.
func (s *side) compareTopics(a, b string, idA, idB [16]byte) int {
	shown := func(name string, id [16]byte) string {
		text := show(reflect.ValueOf(id))
		return name + cmp.Or(s.symbols[text], text)
	}
	return strings.Compare(shown(a, idA), shown(b, idB))
}

type topicKey struct {
	name string
	id   [16]byte
}

// gather puts the partitions of each topic into one place, sorted.
func gather[T, P any](topics []T, of func(*T) (topicKey, *[]P), order func(a, b P) int) (out []T) {
	at := map[topicKey]int{}
	for _, t := range topics {
		key, partitions := of(&t)
		if i, seen := at[key]; seen {
			_, first := of(&out[i])
			*first = append(*first, *partitions...)
			continue
		}
		at[key] = len(out)
		out = append(out, t)
	}
	for i := range out {
		_, partitions := of(&out[i])
		slices.SortStableFunc(*partitions, order)
	}
	return out
}

// sortListed sorts topics and partitions, which Kafka answers in parts, refused ones
// last.
func sortListed(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.ListOffsetsResponse)
	r.Topics = gather(r.Topics, func(t *kmsg.ListOffsetsResponseTopic) (topicKey, *[]kmsg.ListOffsetsResponseTopicPartition) {
		return topicKey{name: t.Topic}, &t.Partitions
	}, func(a, b kmsg.ListOffsetsResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.SortFunc(r.Topics, func(a, b kmsg.ListOffsetsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
}
