package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// toolSteps are the keys that operators' tools use, beside those of partitions.
func toolSteps() []step {
	return slices.Concat(removeSteps(), quorumSteps(), transactionSteps(), resourceSteps(), telemetrySteps())
}

// removeSteps delete groups, and offsets of groups.
func removeSteps() []step {
	remove := func(name string, groups func(v int16) []string) step {
		return step{name: name, min: 0, max: 3, capture: sortDeleted, build: func(_ *side, v int16) kmsg.Request {
			r := kmsg.NewPtrDeleteGroupsRequest()
			r.Groups = groups(v)
			return r
		}}
	}
	// Groups with offsets for each version of DeleteGroups.
	leave := step{name: "offsets of stopped groups", min: 7, max: 10, build: func(s *side, v int16) kmsg.Request {
		return commit(s, perVersion("oracle-stopped", v-7), "", -1, mainTopic, 0, 5, nil)
	}}
	member := func(group, kind string, metadata []byte) []step {
		return []step{
			{name: "join " + group, min: 3, max: 3, capture: learnMember("member of " + group), build: func(*side, int16) kmsg.Request {
				r := join(group, "", "range")
				r.ProtocolType, r.Protocols[0].Metadata = kind, metadata
				return r
			}},
			{name: "sync " + group, min: 3, max: 3, build: func(s *side, _ int16) kmsg.Request {
				return syncGroup(group, s.text("member of "+group), 1)
			}},
		}
	}
	offsets := func(name, group string, topics ...string) step {
		return step{name: name, min: 0, max: 0, capture: sortDeleted, build: func(*side, int16) kmsg.Request {
			return offsetDelete(group, topics...)
		}}
	}
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Version, subscription.Topics = 1, []string{mainTopic}

	steps := []step{
		leave,
		offsets("offsets of nobody", "oracle-nobody", mainTopic),
		offsets("offsets of no group", "", mainTopic),
		offsets("nothing of nobody", "oracle-nobody"),
		offsets("offsets of a stopped group", "oracle-stopped-v0", mainTopic, "oracle-nowhere"),
		leave,
		remove("delete groups", func(v int16) []string {
			return []string{perVersion("oracle-stopped", v), "oracle-nobody", "", "oracle-nobody"}
		}),
		remove("delete groups again", func(v int16) []string { return []string{perVersion("oracle-stopped", v)} }),
		remove("delete no group", func(int16) []string { return nil }),
	}
	steps = append(steps, member("oracle-live", "consumer", subscription.AppendTo(nil))...)
	steps = append(steps, member("oracle-garbage", "consumer", []byte("garbage"))...)
	steps = append(steps, member("oracle-connect", "connect", []byte("garbage"))...)
	return append(steps,
		remove("delete live groups", func(int16) []string { return []string{"oracle-live", "oracle-connect"} }),
		offsets("offsets of a live group", "oracle-live", mainTopic, "oracle-assigned", "oracle-nowhere"),
		offsets("offsets of an odd group", "oracle-garbage", mainTopic, "oracle-nowhere"),
		offsets("offsets of another kind of group", "oracle-connect", mainTopic),
	)
}

// offsetDelete asks for partitions 0 and 99 of each topic.
func offsetDelete(group string, topics ...string) *kmsg.OffsetDeleteRequest {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = group
	for _, topic := range topics {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 99}}
		r.Topics = append(r.Topics, t)
	}
	return r
}

// sortDeleted undoes the order of Kafka's hash tables.
func sortDeleted(_ *side, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.DeleteGroupsResponse:
		slices.SortFunc(r.Groups, func(a, b kmsg.DeleteGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	case *kmsg.OffsetDeleteResponse:
		slices.SortFunc(r.Topics, func(a, b kmsg.OffsetDeleteResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
		for _, t := range r.Topics {
			slices.SortFunc(t.Partitions, func(a, b kmsg.OffsetDeleteResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		}
	}
}

// quorumSteps ask for the quorum and try to change features.
func quorumSteps() []step {
	quorum := func(name, topic string, partitions ...int32) step {
		return step{name: name, min: 0, max: 2, capture: settleQuorum, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeQuorumRequest()
			t := kmsg.NewDescribeQuorumRequestTopic()
			t.Topic = topic
			for _, p := range partitions {
				t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: p})
			}
			r.Topics = append(r.Topics, t)
			return r
		}}
	}
	update := func(name, feature string, level int16, kind int8) step {
		return step{name: name, min: 0, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrUpdateFeaturesRequest()
			f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			f.Feature, f.MaxVersionLevel, f.UpgradeType, f.AllowDowngrade = feature, level, kind, kind > 1
			r.FeatureUpdates = append(r.FeatureUpdates, f)
			return r
		}}
	}
	return []step{
		quorum("quorum", "__cluster_metadata", 0),
		quorum("no partition of the quorum", "__cluster_metadata"),
		quorum("another partition of the quorum", "__cluster_metadata", 1),
		quorum("the quorum and more", "__cluster_metadata", 0, 1),
		quorum("the quorum twice", "__cluster_metadata", 0, 0),
		quorum("no quorum", mainTopic, 0),
		update("upgrade", "nope", 1, 1),
		update("delete a feature", "nope", 0, 2),
		update("negative feature", "nope", -1, 1),
		update("odd type of upgrade", "nope", -1, 7),
		{name: "no feature", min: 0, max: 2, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrUpdateFeaturesRequest() }},
	}
}

// settleQuorum takes out what a log of metadata has and time does.
func settleQuorum(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.DescribeQuorumResponse)
	for _, t := range r.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			p.LeaderEpoch, p.HighWatermark = 0, 0
			for j := range p.CurrentVoters {
				v := &p.CurrentVoters[j]
				v.LogEndOffset = 0
				v.LastFetchTimestamp, v.LastCaughtUpTimestamp = min(v.LastFetchTimestamp, 0), min(v.LastCaughtUpTimestamp, 0)
			}
		}
	}
	for _, n := range r.Nodes {
		for i := range n.Listeners {
			n.Listeners[i].Name, n.Listeners[i].Port = "", 0
		}
	}
}

func transactionSteps() []step {
	list := func(name string, min int16, pattern *string, states ...string) step {
		return step{name: name, min: min, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrListTransactionsRequest()
			r.StateFilters, r.TransactionalIDPattern = states, pattern
			return r
		}, capture: func(_ *side, resp kmsg.Response) {
			slices.Sort(resp.(*kmsg.ListTransactionsResponse).UnknownStateFilters)
		}}
	}
	return []step{
		list("transactions", 0, nil),
		list("transactions by state", 0, nil, "Ongoing", "ongoing", "Going", "", "Going", "Dead", "PrepareEpochFence", "Empty"),
		list("transactions by pattern", 2, str(`a.*\p{Greek}`), "Going"),
		list("transactions by the empty pattern", 2, str("")),
		list("transactions by no pattern", 2, str("a("), "Going"),
		list("transactions by look-ahead", 2, str("(?=x)")),
		{name: "describe transactions", min: 0, max: 0, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeTransactionsRequest()
			r.TransactionalIDs = []string{"b", "", "a", "b"}
			return r
		}},
		{name: "describe no transactions", min: 0, max: 0, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrDescribeTransactionsRequest() }},
	}
}

func resourceSteps() []step {
	list := func(name string, min int16, types ...int8) step {
		return step{name: name, min: min, max: 1, capture: ownResources, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrListConfigResourcesRequest()
			r.ResourceTypes = types
			return r
		}}
	}
	return []step{
		list("all resources", 0),
		list("topics and brokers", 1, 2, 4, 2),
		list("brokers", 1, 4),
		list("groups and client metrics", 1, 32, 16),
		list("an odd type", 1, 2, 1),
		list("a negative type", 1, -1),
	}
}

// ownResources leaves out what only a broker has, and sorts the rest.
func ownResources(_ *side, resp kmsg.Response) {
	r := resp.(*kmsg.ListConfigResourcesResponse)
	r.ConfigResources = slices.DeleteFunc(r.ConfigResources, func(c kmsg.ListConfigResourcesResponseConfigResource) bool {
		return strings.HasPrefix(c.Name, "__") || c.Type == int8(kmsg.ConfigResourceTypeBrokerLogger)
	})
	slices.SortFunc(r.ConfigResources, func(a, b kmsg.ListConfigResourcesResponseConfigResource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
}

// telemetrySteps are the life of clients that push. A broker without a plugin for
// them does not advertise the keys, and answers them all the same.
func telemetrySteps() []step {
	get := func(name, client string) step {
		return step{name: name, min: 0, max: 0, build: func(s *side, _ int16) kmsg.Request {
			r := kmsg.NewPtrGetTelemetrySubscriptionsRequest()
			r.ClientInstanceID = s.id("instance of " + client)
			return r
		}, capture: func(s *side, resp kmsg.Response) {
			if r := resp.(*kmsg.GetTelemetrySubscriptionsResponse); r.ErrorCode == 0 {
				s.learn("instance of "+client, r.ClientInstanceID)
				s.learn("subscription of "+client, r.SubscriptionID)
			}
		}}
	}
	push := func(name, client string, change func(*kmsg.PushTelemetryRequest)) step {
		return step{name: name, min: 0, max: 0, build: func(s *side, _ int16) kmsg.Request {
			r := kmsg.NewPtrPushTelemetryRequest()
			r.ClientInstanceID = s.id("instance of " + client)
			r.SubscriptionID, _ = s.vars["subscription of "+client].(int32)
			change(r)
			return r
		}}
	}
	plain := func(*kmsg.PushTelemetryRequest) {}
	last := func(r *kmsg.PushTelemetryRequest) { r.Terminating = true }
	steps := []step{
		get("subscribe", "a"),
		get("subscribe again", "a"),
		push("push from nobody", "nobody", plain),
		push("push from the reserved id", "a", func(r *kmsg.PushTelemetryRequest) { r.ClientInstanceID = [16]byte{15: 1} }),
		push("push from a stranger", "a", func(r *kmsg.PushTelemetryRequest) { r.ClientInstanceID = uuid.New() }),
		push("push", "a", plain),
		push("push again", "a", plain),
		push("last push", "a", last),
		push("push after the last", "a", plain),
		push("last push again", "a", last),
		get("subscribe after the last push", "a"),
	}
	for name, change := range telemetryFaults {
		steps = append(steps, get("subscribe: "+name, name), push("push: "+name, name, change), push("push after: "+name, name, plain))
	}
	return steps
}

var telemetryFaults = map[string]func(*kmsg.PushTelemetryRequest){
	"another subscription": func(r *kmsg.PushTelemetryRequest) { r.SubscriptionID++; r.CompressionType = 9 },
	"no codec":             func(r *kmsg.PushTelemetryRequest) { r.CompressionType = 9; r.Metrics = make([]byte, 1<<20+1) },
	"negative codec":       func(r *kmsg.PushTelemetryRequest) { r.CompressionType = -1 },
	"too large":            func(r *kmsg.PushTelemetryRequest) { r.Metrics = make([]byte, 1<<20+1) },
	"no gzip":              func(r *kmsg.PushTelemetryRequest) { r.CompressionType, r.Metrics = 1, []byte("xx") },
}
