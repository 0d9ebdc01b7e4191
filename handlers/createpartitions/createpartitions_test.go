package createpartitions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, admintest.Node(), settings.Topics{MaxNewPartitions: 100}), s
}

func TestConform(t *testing.T)   { admintest.Conform(t, open) }
func TestReadme(t *testing.T)    { admintest.Readme(t, open) }
func Fuzz(f *testing.F)          { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T)  { admintest.Anything(t, open) }
func TestHidden(t *testing.T)    { admintest.Hidden(t, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

func request(names ...string) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 1000
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: 5})
	}
	return req
}

func codes(resp kmsg.Response) []int16 {
	var codes []int16
	for _, t := range resp.(*kmsg.CreatePartitionsResponse).Topics {
		codes = append(codes, t.ErrorCode)
	}
	return codes
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, h, func(int16) kmsg.Request { return request("a", "b") }, codes)
}

// What a failing growth answers, also when somebody else was faster.
func TestFailingGrowth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int16
	}{
		{backend.ErrPartitionCount, 37}, {backend.ErrUnknownTopic, 3},
		{backend.ErrUnavailable, 41}, {backend.ErrOutcomeUnknown, 7}, {backend.ErrStorage, 56},
	} {
		h, s := open(t)
		_, err := s.Create("a", 1, nil)
		require.NoError(t, err)
		s.Before = func(method string) error {
			if method == "GrowTopic" {
				return c.err
			}
			return nil
		}
		resp, err := h.Handle(context.Background(), handler.Call{}, request("a"))
		require.NoError(t, err)
		require.Equal(t, []int16{c.code}, codes(resp))
	}
}

// A request whose time is up begins nothing more.
func TestExpired(t *testing.T) { admintest.Expired(t, open, request("a", "b"), codes) }

// A budget that is spent closes the connection before anything is added.
func TestReserve(t *testing.T) { admintest.Spent(t, open, request("a")) }
