package describequorum

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open() handler.Handler {
	return New(&settings.Node{ID: 7}, func() time.Time { return time.UnixMilli(1_700_000_000_000) })
}

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open()) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: open(), Call: handler.Call{
			Listener: handler.Listener{Protocol: "PLAINTEXT", Host: "gateway.example", Port: 65535},
		}}
	})
}

func request(version int16, topics, partitions int) *kmsg.DescribeQuorumRequest {
	req := &kmsg.DescribeQuorumRequest{Version: version}
	for i := range topics {
		req.Topics = append(req.Topics, kmsg.DescribeQuorumRequestTopic{
			Topic: strings.Repeat("t", 125+i), Partitions: make([]kmsg.DescribeQuorumRequestTopicPartition, partitions),
		})
	}
	return req
}

// A refusal as large as a frame may be goes out; with one byte less of room the
// connection closes.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for v := int16(0); v <= 2; v++ {
		for _, req := range []*kmsg.DescribeQuorumRequest{request(v, 0, 0), request(v, 1, 0), request(v, 3, 126), request(v, 127, 127)} {
			resp, err := open().Handle(t.Context(), handler.Call{MaxFrame: 1 << 24}, req)
			require.NoError(t, err)
			resp.SetVersion(v)
			size := 5 + len(resp.AppendTo(nil))
			_, err = open().Handle(t.Context(), handler.Call{MaxFrame: size}, req)
			require.NoError(t, err)
			_, err = open().Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
			require.EqualError(t, err, fmt.Sprintf("DescribeQuorum answer of %d bytes is above max_frame_size %d", size, size-1))
		}
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, open(), request(0, 1, 1))
}
