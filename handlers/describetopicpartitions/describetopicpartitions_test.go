package describetopicpartitions

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, admintest.Node(), settings.Describe{PartitionsMax: 5}), s
}

func TestConform(t *testing.T)   { admintest.Conform(t, open) }
func TestReadme(t *testing.T)    { admintest.Readme(t, open) }
func Fuzz(f *testing.F)          { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestHidden(t *testing.T)    { admintest.Hidden(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

// Whatever the limits, a client that follows the cursors sees every partition
// once, in order.
func TestPages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := admintest.New(t)
		h := New(s, admintest.Node(), settings.Describe{PartitionsMax: rapid.Int32Range(1, 7).Draw(rt, "max")})
		var want []string
		counts := rapid.SliceOfN(rapid.Int32Range(1, 9), 0, 6).Draw(rt, "partitions")
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		byName := rapid.Bool().Draw(rt, "by name")
		for i, n := range counts {
			name := string(rune('a' + i))
			_, err := s.Create(name, n, nil)
			require.NoError(t, err)
			for p := range n {
				want = append(want, fmt.Sprint(name, p))
			}
			if byName {
				req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
			}
		}
		var got []string
		for range len(want) + 2 {
			req.ResponsePartitionLimit = rapid.Int32Range(-1, 9).Draw(rt, "limit")
			resp, err := h.Handle(context.Background(), handler.Call{}, req)
			require.NoError(t, err)
			page := resp.(*kmsg.DescribeTopicPartitionsResponse)
			for _, topic := range page.Topics {
				require.Zero(t, topic.ErrorCode)
				for _, p := range topic.Partitions {
					got = append(got, fmt.Sprint(*topic.Topic, p.Partition))
				}
			}
			if page.NextCursor == nil {
				break
			}
			req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: page.NextCursor.Topic, Partition: page.NextCursor.Partition}
		}
		require.Equal(t, want, got)
	})
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "a"}, {Topic: "b"}}
	admintest.Failing(t, s, h, func(int16) kmsg.Request { return req }, func(resp kmsg.Response) []int16 {
		var codes []int16
		for _, t := range resp.(*kmsg.DescribeTopicPartitionsResponse).Topics {
			codes = append(codes, t.ErrorCode)
		}
		return codes
	})
}

// A spent budget closes the connection.
func TestReserve(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Spent(t, h, kmsg.NewPtrDescribeTopicPartitionsRequest())
}
