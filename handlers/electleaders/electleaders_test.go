package electleaders

import (
	"fmt"
	"strings"
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
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

func codes(resp kmsg.Response) (codes []int16) {
	r := resp.(*kmsg.ElectLeadersResponse)
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	if len(codes) == 0 {
		codes = append(codes, r.ErrorCode)
	}
	return codes
}

func request(int16) kmsg.Request {
	r := kmsg.NewPtrElectLeadersRequest()
	r.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	return r
}

func all(int16) kmsg.Request { return kmsg.NewPtrElectLeadersRequest() }

// What a store that fails becomes. For all topics v0 has no room for a code.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s.Topics, h, request, codes)
	since1 := handler.New(1, 2, shape, handler.CloseConnection, elector{s}.elect)
	admintest.Failing(t, s.Topics, since1, all, codes)
	s.Before = func(string) error { return backend.ErrUnavailable }
	_, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, all(0))
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

// The price is the length of the answer about all topics, and the frame that
// just holds it does.
func TestPrice(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	for _, name := range []string{"a", strings.Repeat("b", 200), "c"} {
		_, err := s.Create(name, 3, nil)
		require.NoError(t, err)
	}
	for v := h.Spec().Min; v <= h.Spec().Max; v++ {
		req := all(v)
		req.SetVersion(v)
		resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := handlertest.Size(resp, v)
		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err, "v%d", v)
		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
		require.ErrorContains(t, err, fmt.Sprintf("takes %d bytes to tell, more than max_frame_size %d", size, size-1))
	}
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
