package oracle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one exchange of a stream.
type step struct {
	name string
	// min and max are the versions to send, one after another.
	min, max int16
	// build makes the request for one side; its version is set by the runner.
	build func(s *side, version int16) kmsg.Request
	// capture looks at the answer before it is compared: it may learn values
	// and sort or drop what only one side has.
	capture func(s *side, resp kmsg.Response)
	// unanswered: Kafka says nothing.
	unanswered bool
}

// allowance is a difference that is known and wanted.
type allowance struct {
	step, field    string // regular expressions over the whole step name ("Produce/null records v9") and path
	kafka, gateway string // regular expressions over the values; "absent" where the field is not there
	why            string
}

// TestAgainstKafka runs every stream against both servers.
func TestAgainstKafka(t *testing.T) {
	kafka, gateway := newSide("Kafka", kafkaBroker(t).plain), newSide("gateway", gatewayAddr(t))
	defer kafka.hangUp()
	defer gateway.hangUp()
	awaitCoordinator(t, kafka)

	permitted := newAllowances(allowed)
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			for _, st := range s.steps() {
				for v := st.min; v <= st.max; v++ {
					name := fmt.Sprintf("%s/%s v%d", s.name, st.name, v)
					ours := exchange(t, gateway, st, v)
					found := compare(name, settled(t, kafka, st, v, name, ours, allowed, lag), ours, permitted)
					for _, difference := range found {
						t.Error(difference)
					}
				}
			}
		})
	}
	permitted.reportUnused(t)
}

func exchange(t *testing.T, s *side, st step, version int16) map[string]string {
	t.Helper()
	req := st.build(s, version)
	req.SetVersion(version)
	return s.ask(t, req, st.capture)
}

// settled returns Kafka's answer. A broker acknowledges a change when its
// controller has it, and may answer the next question from metadata that lag
// behind. So a question about metadata is put again for a while when the answer
// is not the gateway's.
func settled(t *testing.T, kafka *side, st step, version int16, name string, ours map[string]string, allowed []allowance, lag time.Duration) map[string]string {
	t.Helper()
	if st.unanswered {
		kafka.within = silence
		defer func() { kafka.within = patience }()
	}
	answer := exchange(t, kafka, st, version)
	switch kmsg.Key(st.build(kafka, version).Key()) {
	case kmsg.Metadata, kmsg.DescribeTopicPartitions, kmsg.DescribeConfigs, kmsg.DescribeCluster, kmsg.DescribeLogDirs,
		kmsg.DescribeUserSCRAMCredentials, kmsg.DescribeClientQuotas:
		for end := time.Now().Add(lag); len(compare(name, answer, ours, newAllowances(allowed))) > 0 && time.Now().Before(end); {
			time.Sleep(pause)
			answer = exchange(t, kafka, st, version)
		}
	}
	return answer
}

// compare tells every field in which the answers differ and may not.
func compare(name string, kafka, gateway map[string]string, allowed *allowances) (found []string) {
	paths := map[string]bool{}
	for p := range kafka {
		paths[p] = true
	}
	for p := range gateway {
		paths[p] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		k, g := value(kafka, path), value(gateway, path)
		if k == g || allowed.permit(name, path, k, g) {
			continue
		}
		found = append(found, fmt.Sprintf("%s: %s\n   Kafka: %s\n gateway: %s", name, path, k, g))
	}
	return found
}

func value(fields map[string]string, path string) string {
	if v, ok := fields[path]; ok {
		return v
	}
	return "absent"
}

// allowances are the differences that a test allows, and which of them it met.
type allowances struct {
	list []allowance
	used []bool
}

func newAllowances(list []allowance) *allowances {
	return &allowances{list: list, used: make([]bool, len(list))}
}

// reportUnused fails the test for what did not occur.
func (a *allowances) reportUnused(t *testing.T) {
	for i, entry := range a.list {
		if !a.used[i] {
			t.Errorf("the difference %q (%s) no longer occurs: take it off the list", entry.step, entry.why)
		}
	}
}

func (a *allowances) permit(name, path, kafka, gateway string) bool {
	for i, entry := range a.list {
		if whole(entry.step, name) && whole(entry.field, path) && whole(entry.kafka, kafka) && whole(entry.gateway, gateway) {
			a.used[i] = true
			return true
		}
	}
	return false
}

func whole(pattern, text string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(text)
}

// stream is a named list of steps that build on each other.
type stream struct {
	name  string
	steps func() []step
}

// awaitCoordinator waits until a fresh broker has its internal topics, which
// the gateway does without.
func awaitCoordinator(t *testing.T, s *side) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 2, "warm-up", -1
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "warm-up", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{}}}}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 4, 5000
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "warm-up", NumPartitions: 1, ReplicationFactor: 1}}
	s.ask(t, create, nil)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "warm-up"
	require.Eventually(t, func() bool {
		s.ask(t, find, nil)
		return s.ask(t, req, nil)["Topics[0].Partitions[0].ErrorCode"] == "0"
	}, wait, pause, "the broker's coordinator does not come up")
	transactions, describe := kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrDescribeTransactionsRequest()
	transactions.Version, transactions.CoordinatorType, transactions.CoordinatorKey = 1, 1, "warm-up"
	describe.TransactionalIDs = []string{"warm-up", "a", "b"}
	require.Eventually(t, func() bool {
		s.ask(t, transactions, nil)
		answer := s.ask(t, describe, nil)
		return answer["TransactionStates[0].ErrorCode"] == "105" &&
			answer["TransactionStates[1].ErrorCode"] == "105" && answer["TransactionStates[2].ErrorCode"] == "105"
	}, wait, pause, "the broker's coordinator of transactions does not come up")
	require.Eventually(t, func() bool {
		return s.ask(t, kmsg.NewPtrInitProducerIDRequest(), nil)["ErrorCode"] == "0"
	}, wait, pause, "the broker hands out no producer ids")
	drop := kmsg.NewPtrDeleteTopicsRequest()
	drop.Version, drop.TopicNames, drop.TimeoutMillis = 3, []string{"warm-up"}, 5000
	s.ask(t, drop, nil)
}
