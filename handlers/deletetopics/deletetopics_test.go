package deletetopics

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, enabled bool) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, settings.Topics{DeleteEnable: enabled}), s
}

func TestConform(t *testing.T) {
	h, _ := open(t, true)
	handlertest.Conform(t, h)
}

func TestReadme(t *testing.T) {
	h, _ := open(t, true)
	handlertest.Readme(t, h, "README.md")
}

func Fuzz(f *testing.F) {
	h, _ := open(f, true)
	handlertest.Fuzz(f, h)
}

func TestAnything(t *testing.T) {
	admintest.Anything(t, func(t testing.TB) (handler.Handler, *admintest.Topics) { return open(t, true) })
}

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := open(t, !strings.Contains(t.Name(), "disabled"))
		return handlertest.Env{Handler: h, Commands: s.Commands()}
	})
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t, true)
	admintest.Failing(t, s, h, func(v int16) kmsg.Request {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis = 1000
		if v < 6 {
			req.TopicNames = []string{"a", "b"}
			return req
		}
		name := "a"
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: [16]byte{9}}}
		return req
	}, codes)
}

func codes(resp kmsg.Response) []int16 {
	var codes []int16
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		codes = append(codes, t.ErrorCode)
	}
	return codes
}

// A request whose time is up begins nothing more.
func TestExpired(t *testing.T) {
	a, b := "a", "b"
	req := &kmsg.DeleteTopicsRequest{TimeoutMillis: 1000, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: &a}, {Topic: &b}}}
	admintest.Expired(t, func(t testing.TB) (handler.Handler, *admintest.Topics) { return open(t, true) }, req, codes)
}

// A budget that is spent closes the connection before anything is deleted.
func TestReserve(t *testing.T) {
	t.Parallel()
	h, s := open(t, true)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	handlertest.Spent(t, h, &kmsg.DeleteTopicsRequest{Version: 1, TimeoutMillis: 1000, TopicNames: []string{"a"}})
	require.Equal(t, "a partitions=1\n", s.String())
}
