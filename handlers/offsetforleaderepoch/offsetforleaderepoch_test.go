package offsetforleaderepoch

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(nil), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(nil)) }

func open(t testing.TB) (handler.Handler, *admintest.Logs) {
	s := admintest.NewLogs(t)
	return New(s), s
}

func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestHidden(t *testing.T)    { admintest.Hidden(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

func codes(t *testing.T) func(kmsg.Response) []int16 {
	return func(resp kmsg.Response) (codes []int16) {
		for _, topic := range resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
			for _, p := range topic.Partitions {
				require.EqualValues(t, -1, p.EndOffset)
				require.EqualValues(t, -1, p.LeaderEpoch)
				codes = append(codes, p.ErrorCode)
			}
		}
		return codes
	}
}

func request(int16) kmsg.Request {
	r, p := kmsg.NewPtrOffsetForLeaderEpochRequest(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	r.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "a", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	return r
}

// What a store that fails becomes, in each thing that it is asked for.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	for _, method := range []string{"", "Topic", "Bounds"} {
		admintest.FailingWith(t, admintest.LogCodes, s.Topics, method, h, request, codes(t))
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Spent(t, h, request(4))
}

func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Gone(t, h, request(4))
}
