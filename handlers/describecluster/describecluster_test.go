package describecluster

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(cluster.New(s, admintest.Node())), s
}

func TestConform(t *testing.T)   { admintest.Conform(t, open) }
func TestReadme(t *testing.T)    { admintest.Readme(t, open) }
func Fuzz(f *testing.F)          { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, h, func(int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() },
		func(r kmsg.Response) []int16 { return []int16{r.(*kmsg.DescribeClusterResponse).ErrorCode} })
}
