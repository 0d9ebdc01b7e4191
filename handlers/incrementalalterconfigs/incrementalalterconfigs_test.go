package incrementalalterconfigs

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, s.Catalog, admintest.Node()), s
}

func TestConform(t *testing.T)   { admintest.Conform(t, open) }
func TestReadme(t *testing.T)    { admintest.Readme(t, open) }
func Fuzz(f *testing.F)          { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestHidden(t *testing.T)    { admintest.Hidden(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

// request sets one config of each of the named topics.
func request(names ...string) *kmsg.IncrementalAlterConfigsRequest {
	req, value := kmsg.NewPtrIncrementalAlterConfigsRequest(), "5"
	for _, name := range names {
		req.Resources = append(req.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}},
		})
	}
	return req
}

func codes(resp kmsg.Response) []int16 {
	var codes []int16
	for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		codes = append(codes, r.ErrorCode)
	}
	return codes
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, h, func(int16) kmsg.Request { return request("a", "b") }, codes)
}

// A request whose time is up begins nothing more.
func TestExpired(t *testing.T) { admintest.Expired(t, open, request("a", "b"), codes) }

// A budget that is spent closes the connection before anything is changed.
func TestReserve(t *testing.T) { admintest.Spent(t, open, request("a")) }
