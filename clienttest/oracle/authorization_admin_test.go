package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// resourceTypes are all that Kafka knows, and one that it does not.
var resourceTypes = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
	kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig, 99,
}

// resources are those of all types, under names that exist or not, are legal or not.
func resources(yield func(kmsg.ConfigResourceType, string) bool) {
	for _, kind := range resourceTypes {
		names := []string{"1", "7"}
		switch kind {
		case kmsg.ConfigResourceTypeTopic:
			names = []string{"tools-a", "tools-b", "tools-none", "not legal", ""}
		case kmsg.ConfigResourceTypeBroker:
			names = []string{"1", "7", "x"}
		case kmsg.ConfigResourceTypeGroupConfig:
			names = []string{"tools-g", "tools-none"}
		}
		for _, name := range names {
			if !yield(kind, name) {
				return
			}
		}
	}
}

var configGrants = []string{
	"describe_configs topic tools-a", "describe_configs cluster", "describe_configs group tools-g", "alter_configs topic tools-*", "alter_configs cluster",
	"alter_configs group tools-*", "describe topic *, alter topic *", "describe cluster, alter cluster", "all cluster, deny alter_configs cluster",
}

// configQuestions only look and validate, but for what must be told apart by what
// is wrong with it.
func configQuestions() []question {
	return []question{
		{name: "describe", min: 1, max: 4, capture: sortResources, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeConfigsRequest()
			for kind, name := range resources {
				if kind == 99 {
					continue // Kafka refuses such a request as a whole
				}
				r.Resources = append(r.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kind, ResourceName: name, ConfigNames: []string{"no.such.config"}})
			}
			return r
		}, grants: configGrants},
		{name: "alter", min: 0, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrAlterConfigsRequest()
			r.ValidateOnly = true
			for kind, name := range resources {
				r.Resources = append(r.Resources, kmsg.AlterConfigsRequestResource{ResourceType: kind, ResourceName: name})
			}
			return r
		}, grants: configGrants},
		{name: "alter incrementally", min: 0, max: 1, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrIncrementalAlterConfigsRequest()
			r.ValidateOnly = true
			for kind, name := range resources {
				r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kind, ResourceName: name})
			}
			return r
		}, grants: configGrants},
		altered("alter oddly", func(r *kmsg.IncrementalAlterConfigsRequestResource) {
			r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: str("x")}}
		}),
		altered("alter to null", func(r *kmsg.IncrementalAlterConfigsRequestResource) {
			r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms"}}
		}),
		altered("alter a key twice", func(r *kmsg.IncrementalAlterConfigsRequestResource) {
			one := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "retention.ms", Value: str("1")}
			r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{one, one}
		}),
		{name: "resources", min: 0, max: 1, capture: ownResources, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrListConfigResourcesRequest() },
			grants: []string{"describe_configs cluster", "alter_configs cluster", "describe cluster", "describe_configs topic *"}},
		{name: "resources of an odd type", min: 1, max: 1, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrListConfigResourcesRequest()
			r.ResourceTypes = []int8{99}
			return r
		}, grants: []string{"describe_configs cluster"}},
	}
}

// altered changes a topic, one that is not there, and the broker.
func altered(name string, change func(*kmsg.IncrementalAlterConfigsRequestResource)) question {
	return question{name: name, min: 0, max: 1, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		for _, res := range []kmsg.IncrementalAlterConfigsRequestResource{
			{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "tools-a"},
			{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "tools-none"},
			{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "7"},
		} {
			change(&res)
			r.Resources = append(r.Resources, res)
		}
		return r
	}, grants: []string{"alter_configs topic tools-a", "alter_configs topic tools-none", "alter_configs cluster"}}
}

func sortResources(s *side, resp kmsg.Response) {
	sortConfigs(s, resp)
	slices.SortFunc(resp.(*kmsg.DescribeConfigsResponse).Resources, func(a, b kmsg.DescribeConfigsResponseResource) int {
		return cmp.Or(cmp.Compare(a.ResourceType, b.ResourceType), strings.Compare(a.ResourceName, b.ResourceName))
	})
}

// removalQuestions delete groups and offsets.
func removalQuestions() []question {
	commits := func(s *side, _ int16) (out []kmsg.Request) {
		for _, topic := range []string{"tools-a", "tools-b"} {
			r := commit(s, "tools-g", "", -1, topic, 0, 5, nil)
			r.Version = 7
			out = append(out, r)
		}
		return out
	}
	offsets := func(name, group string, grants ...string) question {
		return question{name: name, capture: sortDeleted, before: commits, build: func(*side, int16) kmsg.Request {
			return offsetDelete(group, "tools-a", "tools-b", "tools-none")
		}, grants: grants}
	}
	return []question{
		{name: "delete", min: 0, max: 3, capture: sortDeleted, before: commits, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDeleteGroupsRequest()
			r.Groups = []string{"tools-g", "tools-none", "", "tools-g"}
			return r
		}, grants: []string{"delete group tools-g", "delete group tools-none", "delete group *", "read group *, describe group *", "alter cluster"}},
		offsets("delete offsets", "tools-g", "delete group tools-g", "delete group tools-g, read topic tools-a", "delete group tools-g, read topic tools-none",
			"delete group *, read topic tools-*", "read topic *", "read group *, read topic *", "delete group tools-g, describe topic *, delete topic *"),
		offsets("delete offsets of a stranger", "tools-none", "delete group tools-none", "delete group *, read topic *", "delete group tools-g"),
		offsets("delete offsets of no group", "", "delete group *", "delete group tools-g"),
	}
}

// clusterQuestions are about the cluster as a whole.
func clusterQuestions() []question {
	alter := []string{"alter cluster", "describe cluster", "all cluster, deny alter cluster"}
	describe := []string{"describe cluster", "alter cluster", "create cluster", "all cluster, deny describe cluster"}
	quorum := func(name, topic string) question {
		return question{name: name, min: 0, max: 2, capture: settleQuorum, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeQuorumRequest()
			r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: topic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
			return r
		}, grants: describe}
	}
	return []question{
		quorum("quorum", "__cluster_metadata"), quorum("no quorum", "tools-a"),
		{name: "update features", min: 0, max: 2, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrUpdateFeaturesRequest()
			f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			f.Feature, f.MaxVersionLevel, f.UpgradeType = "nope", 1, 1
			r.FeatureUpdates = append(r.FeatureUpdates, f)
			return r
		}, grants: alter},
		{name: "update no feature", min: 0, max: 2, build: func(*side, int16) kmsg.Request { return kmsg.NewPtrUpdateFeaturesRequest() }, grants: alter},
		{name: "unregister", build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrUnregisterBrokerRequest()
			r.BrokerID = 7
			return r
		}, grants: alter},
		shownCluster("cluster", 0, 1, false), shownCluster("cluster with operations", 0, 1, true),
		shownCluster("controllers", 1, 2, true), shownCluster("odd endpoints", 1, 9, true),
		{name: "describe transactions", build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeTransactionsRequest()
			r.TransactionalIDs = []string{"b", "", "a", "b"}
			return r
		}, grants: []string{"describe transactional_id a", "write transactional_id b", "describe cluster"}},
		listed("transactions", nil), listed("transactions by no pattern", str("a(")),
	}
}

func shownCluster(name string, min int16, kind int8, operations bool) question {
	return question{name: name, min: min, max: 2, capture: func(s *side, resp kmsg.Response) {
		if r := resp.(*kmsg.DescribeClusterResponse); r.ClusterID != "" {
			s.learn("cluster id", r.ClusterID)
		}
	}, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeClusterRequest()
		r.EndpointType, r.IncludeClusterAuthorizedOperations = kind, operations
		return r
	}, grants: []string{"describe cluster", "alter_configs cluster", "alter cluster, create cluster", "all cluster", "all cluster, deny describe cluster"}}
}

func listed(name string, pattern *string) question {
	return question{name: name, min: 0, max: 2, build: func(*side, int16) kmsg.Request {
		r := kmsg.NewPtrListTransactionsRequest()
		r.StateFilters, r.TransactionalIDPattern = []string{"Going"}, pattern
		return r
	}, grants: []string{"describe transactional_id a"}}
}
