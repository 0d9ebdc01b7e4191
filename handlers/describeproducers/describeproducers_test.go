package describeproducers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
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

func codes(resp kmsg.Response) (codes []int16) {
	for _, topic := range resp.(*kmsg.DescribeProducersResponse).Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

func request(int16) kmsg.Request {
	r := kmsg.NewPtrDescribeProducersRequest()
	r.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	return r
}

// What a store that fails becomes, in each thing that it is asked for.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	for _, method := range []string{"", "Topic", "DescribeProducers"} {
		admintest.FailingWith(t, admintest.LogCodes, s.Topics, method, h, request, codes)
	}
}

// A short request that names a partition with many producers again and again
// gets no answer that is larger than a frame, and pays for one that fits.
func TestManyProducers(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	topic, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	const producers, times = 100, 20
	s.Set(backend.Partition{Topic: topic.ID}, admintest.Log{Producers: make([]backend.ProducerState, producers)})
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: make([]int32, times)}}

	var charged handlertest.Charges
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20, Memory: &charged}, req)
	require.NoError(t, err)
	size := len(resp.AppendTo(nil))
	require.Greater(t, charged.Sum(), int64(size)+producers*times*producerMemory)

	const least = producers * times * producerSize
	require.Greater(t, size, least)
	require.Less(t, size, least+1000)
	_, err = h.Handle(t.Context(), handler.Call{MaxFrame: least - 1}, req)
	require.ErrorContains(t, err, "max_frame_size is 73999")
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
