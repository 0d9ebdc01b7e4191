package deletetopics

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) { return openWith(t, true) }

func openWith(t testing.TB, enabled bool) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, settings.Topics{DeleteEnable: enabled}), s
}

func TestConform(t *testing.T)  { admintest.Conform(t, open) }
func TestReadme(t *testing.T)   { admintest.Readme(t, open) }
func Fuzz(f *testing.F)         { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T) { admintest.Anything(t, open) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := openWith(t, !strings.Contains(t.Name(), "disabled"))
		return handlertest.Env{Handler: h, Commands: s.Commands()}
	})
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
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
	admintest.Expired(t, func(t testing.TB) (handler.Handler, *admintest.Topics) { return open(t) }, req, codes)
}

// A budget that is spent closes the connection before anything is deleted.
func TestReserve(t *testing.T) {
	admintest.Spent(t, open, &kmsg.DeleteTopicsRequest{Version: 1, TimeoutMillis: 1000, TopicNames: []string{"a"}})
}
