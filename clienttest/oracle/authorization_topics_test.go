package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicSubjects are the keys of topics.
func topicSubjects() []subject {
	prepare := func(s *side) []kmsg.Request {
		create := createTopics(newTopic("topics-a", 2), newTopic("topics-b", 1))
		create.Version = 7
		return []kmsg.Request{create}
	}
	ask := append(metadataQuestions(), createQuestions()...)
	return []subject{{name: "Topics", prepare: prepare, ask: append(ask, deleteQuestions()...)}}
}

func metadataQuestions() []question {
	named := func(create, operations bool, names ...string) func(*side, int16) kmsg.Request {
		return func(s *side, v int16) kmsg.Request {
			var all []string
			for _, n := range names {
				if n == "missing" {
					n = s.attempt("topics-new")
				}
				all = append(all, n)
			}
			r := metadata(create, all...)
			r.IncludeTopicAuthorizedOperations, r.IncludeClusterAuthorizedOperations = operations, operations
			return r
		}
	}
	byID := func(s *side, _ int16) kmsg.Request {
		r := metadata(false)
		r.IncludeTopicAuthorizedOperations = true
		for _, id := range [][16]byte{s.id("id of topics-b"), s.id("id of topics-a"), noID} {
			t := kmsg.NewMetadataRequestTopic()
			t.TopicID = id
			r.Topics = append(r.Topics, t)
		}
		return r
	}
	all := func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrMetadataRequest()
		r.IncludeTopicAuthorizedOperations, r.IncludeClusterAuthorizedOperations = true, true
		return r
	}
	grants := []string{"describe topic topics-a", "read topic topics-a", "create topic topics-a", "describe_configs topic topics-a", "describe cluster", "alter cluster",
		"describe topic topics-*", "write topic topics-*, alter_configs topic topics-a", "all topic topics-a", "describe topic topics-*, all cluster",
		"all topic topics-*, deny describe topic topics-a", "describe topic topics-a, describe cluster"}
	return []question{
		{name: "Metadata", min: 0, max: 13, capture: learnTopic, build: named(false, true, "topics-b", "topics-a", "topics-none", "not legal"), grants: grants},
		{name: "Metadata of all", min: 0, max: 13, capture: learnTopic, build: all, grants: grants},
		{name: "Metadata by id", min: 12, max: 13, capture: sortIDs, build: byID, grants: grants},
		{name: "Metadata that creates", min: 0, max: 13, capture: learnTopic, build: named(true, false, "missing", "topics-a", "not legal"), grants: []string{
			"create topic topics-*", "create cluster", "describe topic topics-*", "describe topic *", "write topic topics-*",
			"describe topic topics-*, create topic topics-*", "describe topic topics-*, create cluster", "describe topic *, create topic topics-*"}},
	}
}

func createQuestions() []question {
	create := func(validate bool, timeout int32, names ...string) func(*side, int16) kmsg.Request {
		return func(s *side, _ int16) kmsg.Request {
			r := createTopics()
			for _, n := range names {
				if n == "new" || n == "new-odd" {
					n = s.attempt("topics-" + n)
				}
				t := newTopic(n, 2)
				if strings.Contains(n, "-odd") {
					t.NumPartitions = -5
				}
				r.Topics = append(r.Topics, t)
			}
			r.ValidateOnly, r.TimeoutMillis = validate, timeout
			return r
		}
	}
	grants := []string{"create topic topics-new*", "create cluster", "create topic topics-*", "create topic *", "describe_configs topic topics-*", "alter topic topics-*",
		"create topic topics-*, describe_configs topic topics-*", "create topic topics-*, alter_configs topic topics-*", "create topic topics-*, describe topic topics-*", "create cluster, describe_configs cluster",
		"create topic topics-*, deny create cluster"}
	return []question{
		{name: "CreateTopics", min: 2, max: 7, capture: sortCreated, build: create(false, 10_000, "new", "topics-a", "new-odd", "not legal"), grants: grants},
		{name: "CreateTopics, only looking", min: 2, max: 7, capture: sortCreated, build: create(true, 10_000, "new", "topics-a", "new-odd", "not legal"), grants: grants},
		{name: "CreateTopics twice", min: 2, max: 7, capture: sortCreated, build: create(false, 10_000, "topics-a", "topics-a", "topics-b"), grants: []string{"create cluster"}},
		{name: "CreateTopics at once", min: 2, max: 7, capture: sortCreated, build: create(false, 0, "topics-b")},
	}
}

// sortCreated sorts topics, of which Kafka answers the refused ones last, and their
// configs, and forgets ids.
func sortCreated(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.CreateTopicsResponse)
	slices.SortFunc(r.Topics, func(a, b kmsg.CreateTopicsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
	for i := range r.Topics {
		t := &r.Topics[i]
		if t.TopicID != ([16]byte{}) {
			t.TopicID = noID
		}
		if len(t.Configs) > 0 {
			t.Configs = t.Configs[:1]
			t.Configs[0] = kmsg.CreateTopicsResponseTopicConfig{}
		}
	}
}

func deleteQuestions() []question {
	// fresh makes the topics of one attempt.
	fresh := func(s *side, _ int16) []kmsg.Request {
		create := createTopics(newTopic(s.attempt("topics-gone-a"), 1), newTopic(s.attempt("topics-gone-b"), 1))
		create.Version = 7
		return []kmsg.Request{create}
	}
	drop := func(timeout int32, topics ...string) func(*side, int16) kmsg.Request {
		return func(s *side, v int16) kmsg.Request {
			r := kmsg.NewPtrDeleteTopicsRequest()
			r.TimeoutMillis = timeout
			for _, name := range topics {
				var t kmsg.DeleteTopicsRequestTopic
				switch id, byID := strings.CutPrefix(name, "id of "); {
				case byID && id == "nothing":
					t.TopicID = noID
				case byID:
					t.TopicID = s.id("id of " + s.attempt(id))
				case strings.HasPrefix(name, "topics-gone"):
					t.Topic = str(s.attempt(name))
				default:
					t.Topic = str(name)
				}
				if t.Topic != nil {
					r.TopicNames = append(r.TopicNames, *t.Topic)
				}
				r.Topics = append(r.Topics, t)
			}
			return r
		}
	}
	grants := []string{"delete topic topics-gone-a*", "describe topic topics-gone-a*", "read topic topics-gone-*", "delete cluster", "all cluster",
		"delete topic topics-*", "describe topic topics-*, delete topic topics-gone-b*", "describe topic *", "delete topic topics-gone-*, deny describe topic topics-gone-*"}
	return []question{
		{name: "DeleteTopics", min: 1, max: 6, capture: sortDropped, before: fresh,
			build: drop(10_000, "topics-gone-a", "topics-gone-b", "topics-none", "not legal"), grants: grants},
		{name: "DeleteTopics by id", min: 6, max: 6, capture: sortDropped, before: fresh,
			build: drop(10_000, "id of topics-gone-a", "id of topics-gone-b", "id of nothing"), grants: grants},
		{name: "DeleteTopics by both", min: 6, max: 6, capture: sortDropped, before: fresh,
			build: drop(10_000, "id of topics-gone-a", "topics-gone-a", "topics-gone-b", "id of topics-gone-b"), grants: grants},
		{name: "DeleteTopics twice", min: 6, max: 6, capture: sortDropped, before: fresh,
			build: drop(10_000, "topics-gone-a", "topics-gone-a", "id of topics-gone-a", "id of topics-gone-b", "id of topics-gone-b", "topics-gone-b")},
		{name: "DeleteTopics at once", min: 1, max: 6, capture: sortDropped, build: drop(0, "topics-a", "topics-none")},
	}
}

// sortDropped sorts topics, which Kafka answers in no order.
func sortDropped(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.DeleteTopicsResponse)
	slices.SortStableFunc(r.Topics, func(a, b kmsg.DeleteTopicsResponseTopic) int {
		return cmp.Or(byName(a.Topic, b.Topic), s.compareTopics("", "", a.TopicID, b.TopicID))
	})
}

// sortIDs sorts topics that were asked for by id, of which some have no name.
func sortIDs(s *side, resp kmsg.Response) {
	learnTopic(s, resp)
	r := resp.(*kmsg.MetadataResponse)
	slices.SortFunc(r.Topics, func(a, b kmsg.MetadataResponseTopic) int { return s.compareTopics("", "", a.TopicID, b.TopicID) })
}
