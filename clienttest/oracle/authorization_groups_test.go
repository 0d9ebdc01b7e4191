package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetSubjects are the keys of committed offsets.
func offsetSubjects() []subject {
	topics := []string{"offsets-b", "offsets-a", "offsets-none"}
	prepare := func(s *side) []kmsg.Request {
		create := createTopics(newTopic("offsets-a", 2), newTopic("offsets-b", 1))
		create.Version = 7
		a := commit(s, "auth-offsets", "", -1, "offsets-a", 0, 5, str("kept"))
		b := commit(s, "auth-offsets", "", -1, "offsets-b", 0, 6, str("kept"))
		a.Version, b.Version = 9, 9
		return []kmsg.Request{create, a, b}
	}
	ids := func(s *side, topic string) [16]byte {
		if id := s.id("id of " + topic); id != ([16]byte{}) {
			return id
		}
		return noID
	}
	write := func(group string) func(s *side, _ int16) kmsg.Request {
		return func(s *side, _ int16) kmsg.Request {
			r := commit(s, group, "", -1, "offsets-a", 0, 5, str("kept"))
			r.Topics = nil
			for _, t := range topics {
				more := commit(s, group, "", -1, t, 0, 5, str("kept")).Topics[0]
				more.TopicID = ids(s, t)
				more.Partitions = append(more.Partitions, commit(s, group, "", -1, t, 7, 5, str("kept")).Topics[0].Partitions...)
				r.Topics = append(r.Topics, more)
			}
			return r
		}
	}
	read := func(named bool, groups ...string) func(s *side, v int16) kmsg.Request {
		return func(s *side, v int16) kmsg.Request {
			all := offsetFetch(s, v, groups[0], "")
			all.Groups = nil
			for _, g := range groups {
				one := offsetFetch(s, v, g, "")
				if named {
					for _, t := range topics {
						r := offsetFetch(s, v, g, t, 0, 7)
						one.Topics = append(one.Topics, r.Topics...)
						for _, group := range r.Groups {
							group.Topics[0].TopicID = ids(s, t)
							one.Groups[0].Topics = append(one.Groups[0].Topics, group.Topics...)
						}
					}
				}
				all.Topics = one.Topics
				all.Groups = append(all.Groups, one.Groups...)
			}
			return all
		}
	}
	grants := []string{"read group auth-offsets", "describe group auth-offsets", "read topic offsets-*",
		"read group auth-offsets, read topic offsets-a", "read group auth-offsets, describe topic offsets-a", "describe group auth-*, describe topic offsets-b",
		"read group auth-offsets, read topic offsets-none", "read group auth-offsets, read topic offsets-*"}
	return []subject{{name: "Offsets", prepare: prepare, ask: []question{
		{name: "OffsetCommit", min: 2, max: 10, build: write("auth-offsets"), capture: sortCommitted, grants: grants},
		{name: "OffsetCommit of no name", min: 2, max: 10, build: write("")},
		{name: "OffsetFetch", min: 1, max: 10, build: read(true, "auth-offsets", "auth-none"), capture: sortFetchedOffsets, grants: grants},
		{name: "OffsetFetch of one", min: 1, max: 10, build: read(true, "auth-none"), capture: sortFetchedOffsets, grants: []string{"describe group auth-*, describe topic offsets-a"}},
		{name: "OffsetFetch of all", min: 2, max: 10, build: read(false, "auth-offsets", "auth-none"), capture: sortFetchedOffsets, grants: grants},
	}}}
}

// sortFetchedOffsets sorts topics and partitions, which Kafka answers in parts.
func sortFetchedOffsets(s *side, resp kmsg.Response) {
	sortOffsets(s, resp)
	r := resp.(*kmsg.OffsetFetchResponse)
	slices.SortFunc(r.Topics, func(a, b kmsg.OffsetFetchResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
	for _, g := range r.Groups {
		slices.SortFunc(g.Topics, func(a, b kmsg.OffsetFetchResponseGroupTopic) int {
			return s.compareTopics(a.Topic, b.Topic, a.TopicID, b.TopicID)
		})
	}
}

// sortGroups sorts groups, which a broker answers by where it keeps them.
func sortGroups(_ *side, resp kmsg.Response) {
	slices.SortFunc(resp.(*kmsg.DescribeGroupsResponse).Groups, func(a, b kmsg.DescribeGroupsResponseGroup) int {
		return strings.Compare(a.Group, b.Group)
	})
}

// sortCommitted sorts topics and partitions, which Kafka answers in parts.
func sortCommitted(s *side, resp kmsg.Response) {
	r := resp.(*kmsg.OffsetCommitResponse)
	r.Topics = gather(r.Topics, func(t *kmsg.OffsetCommitResponseTopic) (topicKey, *[]kmsg.OffsetCommitResponseTopicPartition) {
		return topicKey{t.Topic, t.TopicID}, &t.Partitions
	}, func(a, b kmsg.OffsetCommitResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.SortFunc(r.Topics, func(a, b kmsg.OffsetCommitResponseTopic) int {
		return s.compareTopics(a.Topic, b.Topic, a.TopicID, b.TopicID)
	})
}

// groupSubjects are the keys of groups.
func groupSubjects() []subject {
	prepare := func(s *side) []kmsg.Request {
		create := createTopics(newTopic("groups-a", 1))
		create.Version = 7
		a, b := commit(s, "auth-group", "", -1, "groups-a", 0, 5, nil), commit(s, "auth-other", "", -1, "groups-a", 0, 5, nil)
		a.Version, b.Version = 9, 9
		return []kmsg.Request{create, a, b}
	}
	grants := []string{"read group auth-group", "describe group auth-group", "delete group auth-group", "describe cluster", "all group auth-*"}
	find := func(kind int8, keys ...string) func(*side, int16) kmsg.Request {
		return func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.CoordinatorType, r.CoordinatorKey, r.CoordinatorKeys = kind, keys[0], keys
			return r
		}
	}
	describe := func(groups ...string) func(*side, int16) kmsg.Request {
		return func(*side, int16) kmsg.Request {
			r := describeGroups(groups...)
			r.IncludeAuthorizedOperations = true
			return r
		}
	}
	return []subject{{name: "Groups", prepare: prepare, ask: []question{
		{name: "FindCoordinator", min: 0, max: 6, build: find(0, "auth-group", "auth-other", "auth-group"), grants: grants},
		{name: "FindCoordinator of a transaction", min: 1, max: 6, build: find(1, "tx", "other"),
			grants: []string{"write topic *", "describe transactional_id tx", "write transactional_id t*"}},
		{name: "FindCoordinator of an odd kind", min: 1, max: 6, build: find(7, "tx", "other"), grants: []string{"write topic *"}},
		{name: "FindCoordinator of a share group", min: 1, max: 6, build: find(2, "tx", "other"), grants: []string{"read group *", "cluster_action cluster"}},
		{name: "JoinGroup", min: 0, max: 9, build: func(*side, int16) kmsg.Request { return join("auth-group", "nobody", "range") }, grants: grants},
		{name: "JoinGroup, odd", min: 0, max: 9, build: func(*side, int16) kmsg.Request {
			r := join("auth-group", "", "range")
			r.SessionTimeoutMillis, r.Protocols = -1, nil
			return r
		}, grants: grants},
		{name: "JoinGroup of no name", min: 0, max: 9, build: func(*side, int16) kmsg.Request { return join("", "", "range") }},
		{name: "SyncGroup", min: 0, max: 5, build: func(*side, int16) kmsg.Request { return syncGroup("auth-group", "nobody", 1) }, grants: grants},
		{name: "SyncGroup without a protocol", min: 0, max: 5, build: func(*side, int16) kmsg.Request {
			r := syncGroup("auth-group", "nobody", 1)
			r.Protocol, r.ProtocolType = nil, nil
			return r
		}, grants: []string{"read group auth-group"}},
		{name: "Heartbeat", min: 0, max: 4, build: func(*side, int16) kmsg.Request { return heartbeat("auth-group", "nobody", 1) }, grants: grants},
		{name: "LeaveGroup", min: 0, max: 5, build: func(_ *side, v int16) kmsg.Request { return leave(v, "auth-group", "nobody", "no one") }, grants: grants},
		{name: "DescribeGroups", min: 0, max: 6, build: describe("auth-other", "auth-group", "auth-none", "other"), capture: sortGroups, grants: grants},
		{name: "ListGroups", min: 0, max: 5, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }, capture: groupsOf("auth-"), grants: grants},
	}}}
}
