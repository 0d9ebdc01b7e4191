package deleterecords

import (
	"context"
	"sync/atomic"
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

func request(offset int64, names ...string) *kmsg.DeleteRecordsRequest {
	r := kmsg.NewPtrDeleteRecordsRequest()
	for _, name := range names {
		r.Topics = append(r.Topics, kmsg.DeleteRecordsRequestTopic{
			Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}},
		})
	}
	return r
}

// codes returns the codes of a response, each of which has no low watermark.
func codes(t *testing.T) func(kmsg.Response) []int16 {
	return func(resp kmsg.Response) (codes []int16) {
		for _, topic := range resp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, p := range topic.Partitions {
				require.EqualValues(t, -1, p.LowWatermark)
				codes = append(codes, p.ErrorCode)
			}
		}
		return codes
	}
}

// What a store that fails becomes, in each thing that it is asked for.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	for _, method := range []string{"", "Topic", "Bounds", "DeleteRecords"} {
		admintest.FailingWith(t, admintest.LogCodes, s.Topics, method, h,
			func(int16) kmsg.Request { return request(-1, "a") }, codes(t))
	}
}

// Time runs out after the first partition: the second is not begun.
func TestTimeRunsOut(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	for _, name := range []string{"a", "b"} {
		_, err := s.Create(name, 1, nil)
		require.NoError(t, err)
	}
	var begun atomic.Int32
	slow := New(slowStore{s, &begun})
	req := request(0, "a", "b")
	req.TimeoutMillis = 1
	resp, err := slow.Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	require.Equal(t, []int16{7, 7}, codes(t)(resp))
	require.EqualValues(t, 1, begun.Load())

	handlertest.Gone(t, h, request(0, "a"))
}

// slowStore takes as long as it may.
type slowStore struct {
	Store
	begun *atomic.Int32
}

func (s slowStore) DeleteRecords(ctx context.Context, _ backend.Partition, _ int64) (int64, error) {
	s.begun.Add(1)
	<-ctx.Done()
	return 0, ctx.Err()
}

// A budget that is spent closes the connection before anything is deleted.
func TestReserve(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	topic, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	p := backend.Partition{Topic: topic.ID}
	s.Set(p, admintest.Log{Bounds: backend.Bounds{End: 5}})
	handlertest.Spent(t, h, request(3, "a"))
	bounds, err := s.Bounds(t.Context(), p)
	require.NoError(t, err)
	require.Zero(t, bounds.Start)
}
