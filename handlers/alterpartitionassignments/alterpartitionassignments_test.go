package alterpartitionassignments

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil, nil)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(nil, nil), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(nil, nil)) }

func open(t testing.TB) (handler.Handler, *admintest.Logs) {
	s := admintest.NewLogs(t)
	return New(s, admintest.Node()), s
}

func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

func codes(resp kmsg.Response) (codes []int16) {
	for _, topic := range resp.(*kmsg.AlterPartitionAssignmentsResponse).Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

func request(int16) kmsg.Request {
	r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	r.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
		Topic: "a", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{1}}},
	}}
	return r
}

// What a store that fails becomes.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s.Topics, h, request, codes)
}

func TestReserve(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Spent(t, h, request(h.Spec().Max))
}

func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Gone(t, h, request(h.Spec().Max))
}
