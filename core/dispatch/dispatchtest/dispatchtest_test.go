package dispatchtest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) {
	t.Parallel()
	describe := func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
		return kmsg.NewPtrDescribeGroupsResponse(), nil
	}
	records := func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return nil, nil }
	for _, h := range []handler.Handler{
		ApiVersions(), Heartbeat(nil), DescribeGroups(describe), Produce(), Fetch(records),
	} {
		t.Run(kmsg.NameForKey(h.Spec().Key), func(t *testing.T) {
			t.Parallel()
			handlertest.Conform(t, h)
		})
	}
}
