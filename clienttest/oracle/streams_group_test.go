package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func offsetSteps() []step {
	const group = "oracle-offsets"
	put := func(name string, min int16, topic string, partition int32, offset int64, metadata *string) step {
		return step{name: name, min: min, max: 10, build: func(s *side, _ int16) kmsg.Request {
			return commit(s, group, "", -1, topic, partition, offset, metadata)
		}}
	}
	get := func(name string, min int16, g, topic string, partitions ...int32) step {
		return step{name: name, min: min, max: 10, capture: sortOffsets, build: func(s *side, v int16) kmsg.Request {
			return offsetFetch(s, v, g, topic, partitions...)
		}}
	}
	return []step{
		put("commit", 2, mainTopic, 0, 5, str("note")),
		put("commit null metadata", 2, mainTopic, 1, 6, nil),
		put("commit long metadata", 2, mainTopic, 2, 6, str(strings.Repeat("m", 5000))),
		put("commit to a stranger", 2, "oracle-nobody", 0, 1, nil),
		put("commit to no partition", 2, mainTopic, 99, 1, nil),
		{name: "commit as a member of nothing", min: 2, max: 10, build: func(s *side, _ int16) kmsg.Request {
			return commit(s, "oracle-absent", "m", 3, mainTopic, 0, 1, nil)
		}},
		get("fetch", 1, group, mainTopic, 0, 1, 2),
		get("fetch from a stranger", 1, group, "oracle-nobody", 0),
		get("fetch of no partition", 1, group, mainTopic, 99),
		get("fetch of no group", 1, "oracle-absent", mainTopic, 0),
		get("fetch all", 2, group, ""),
		{name: "fetch the empty list", min: 8, max: 10, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrOffsetFetchRequest()
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group, g.MemberEpoch, g.Topics = group, -1, []kmsg.OffsetFetchRequestGroupTopic{}
			r.Groups = append(r.Groups, g, g)
			return r
		}},
		put("commit −1", 2, mainTopic, 0, -1, nil),
		get("fetch after −1", 9, group, mainTopic, 0),
	}
}

func sortOffsets(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.OffsetFetchResponse)
	for _, t := range r.Topics {
		slices.SortFunc(t.Partitions, func(a, b kmsg.OffsetFetchResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	for _, g := range r.Groups {
		for _, t := range g.Topics {
			slices.SortFunc(t.Partitions, func(a, b kmsg.OffsetFetchResponseGroupTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
}

// groupSteps tell the life of one group of one member for each JoinGroup
// version, so that nothing has to wait for a second connection.
func groupSteps() []step {
	var steps []step
	add := func(name string, min, max int16, build func(s *side, v int16) kmsg.Request, capture ...func(*side, kmsg.Response)) {
		st := step{name: name, min: min, max: max, build: build}
		if len(capture) > 0 {
			st.capture = capture[0]
		}
		steps = append(steps, st)
	}
	add("join nowhere", 0, 9, func(*side, int16) kmsg.Request { return join("", "", "range") })
	add("join for too short", 0, 9, func(_ *side, v int16) kmsg.Request {
		r := join(perVersion("oracle-short", v), "", "range")
		r.SessionTimeoutMillis = 1
		return r
	})
	add("join as a stranger", 0, 9, func(_ *side, v int16) kmsg.Request { return join(perVersion("oracle-stranger", v), "nobody", "range") })
	add("join without protocols", 0, 3, func(_ *side, v int16) kmsg.Request { return join(perVersion("oracle-none", v), "") })
	add("heartbeat to nobody", 0, 4, func(*side, int16) kmsg.Request { return heartbeat("oracle-absent", "m", 1) })
	add("heartbeat nowhere", 0, 4, func(*side, int16) kmsg.Request { return heartbeat("", "m", 1) })
	add("sync with nobody", 0, 5, func(*side, int16) kmsg.Request { return syncGroup("oracle-absent", "m", 1) })
	add("leave nobody", 0, 5, func(_ *side, v int16) kmsg.Request { return leave(v, "oracle-absent", "m") })
	add("leave nowhere", 0, 5, func(_ *side, v int16) kmsg.Request { return leave(v, "", "m") })
	add("describe nobody", 0, 6, func(*side, int16) kmsg.Request { return describeGroups("oracle-absent", "oracle-absent-too") })

	for v := int16(0); v <= 9; v++ {
		group, member := perVersion("oracle-group", v), perVersion("member", v)
		generation := func() int32 { return 1 }
		if v >= 4 {
			add("join asks for an id", v, v, func(*side, int16) kmsg.Request { return join(group, "", "range", "roundrobin") }, learnMember(member))
		}
		add("join", v, v, func(s *side, _ int16) kmsg.Request { return join(group, s.text(member), "range", "roundrobin") }, learnMember(member))
		add("heartbeat before the sync of "+group, 4, 4, func(s *side, _ int16) kmsg.Request { return heartbeat(group, s.text(member), generation()) })
		syncVersion := min(v, 5)
		add("sync of "+group, syncVersion, syncVersion, func(s *side, _ int16) kmsg.Request {
			return syncGroup(group, s.text(member), generation(), s.text(member), "assignment")
		})
		add("heartbeat of "+group, 0, 4, func(s *side, _ int16) kmsg.Request { return heartbeat(group, s.text(member), generation()) })
		add("heartbeat of an old "+group, 4, 4, func(s *side, _ int16) kmsg.Request { return heartbeat(group, s.text(member), 0) })
		add("heartbeat of a stranger in "+group, 4, 4, func(s *side, _ int16) kmsg.Request { return heartbeat(group, "stranger", 1) })
	}
	// The group of JoinGroup v9 is looked at from every side.
	const group, member = "oracle-group-v9", "member-v9"
	add("commit as a member", 2, 10, func(s *side, _ int16) kmsg.Request {
		return commit(s, group, s.text(member), 1, mainTopic, 0, 1, nil)
	})
	add("commit in the wrong generation", 2, 10, func(s *side, _ int16) kmsg.Request {
		return commit(s, group, s.text(member), 7, mainTopic, 0, 1, nil)
	})
	add("commit as a stranger", 2, 10, func(s *side, _ int16) kmsg.Request {
		return commit(s, group, "stranger", 1, mainTopic, 0, 1, nil)
	})
	add("commit from outside", 2, 10, func(s *side, _ int16) kmsg.Request { return commit(s, group, "", -1, mainTopic, 0, 1, nil) })
	add("sync again", 0, 5, func(s *side, _ int16) kmsg.Request { return syncGroup(group, s.text(member), 1) })
	add("sync in the wrong generation", 0, 5, func(s *side, _ int16) kmsg.Request { return syncGroup(group, s.text(member), 9) })
	add("sync with another protocol", 5, 5, func(s *side, _ int16) kmsg.Request {
		r := syncGroup(group, s.text(member), 1)
		r.Protocol = str("roundrobin")
		return r
	})
	add("sync without a protocol", 5, 5, func(s *side, _ int16) kmsg.Request {
		r := syncGroup(group, s.text(member), 1)
		r.Protocol = nil
		return r
	})
	add("describe", 0, 6, func(*side, int16) kmsg.Request { return describeGroups(group) })
	add("describe with operations", 3, 6, func(*side, int16) kmsg.Request {
		r := describeGroups(group)
		r.IncludeAuthorizedOperations = true
		return r
	})
	add("list", 0, 5, func(*side, int16) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }, groupsOf("oracle-group"))
	add("list the stable", 4, 5, func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrListGroupsRequest()
		r.StatesFilter = []string{"stable", "Dead"}
		return r
	}, groupsOf("oracle-group"))
	add("list an odd state", 4, 5, func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrListGroupsRequest()
		r.StatesFilter = []string{"Sleeping"}
		return r
	}, groupsOf("oracle-group"))
	add("list the classic", 5, 5, func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrListGroupsRequest()
		r.TypesFilter = []string{"Classic"}
		return r
	}, groupsOf("oracle-group"))
	add("leave a stranger", 0, 5, func(_ *side, v int16) kmsg.Request { return leave(v, group, "stranger") })
	add("leave twice", 3, 3, func(s *side, v int16) kmsg.Request { return leave(v, group, s.text(member), s.text(member)) })
	return steps
}

// groupsOf keeps the groups with a prefix, sorted: the others are those that a
// broker keeps for their offsets.
func groupsOf(prefix string) func(*side, kmsg.Response) {
	return func(_ *side, resp kmsg.Response) {
		r := resp.(*kmsg.ListGroupsResponse)
		r.Groups = slices.DeleteFunc(r.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !strings.HasPrefix(g.Group, prefix) })
		slices.SortFunc(r.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	}
}
