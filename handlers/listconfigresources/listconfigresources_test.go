package listconfigresources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, admintest.Node()), s
}

func TestConform(t *testing.T)   { admintest.Conform(t, open) }
func TestReadme(t *testing.T)    { admintest.Readme(t, open) }
func Fuzz(f *testing.F)          { admintest.Fuzz(f, open) }
func TestScenarios(t *testing.T) { admintest.Scenarios(t, open) }

// Only v1 looks at topics, so v0 cannot fail.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, atLeast1{h}, func(int16) kmsg.Request { return kmsg.NewPtrListConfigResourcesRequest() },
		func(resp kmsg.Response) []int16 { return []int16{resp.(*kmsg.ListConfigResourcesResponse).ErrorCode} })
}

// atLeast1 is a handler without its version 0.
type atLeast1 struct{ handler.Handler }

func (h atLeast1) Spec() handler.Spec {
	spec := h.Handler.Spec()
	spec.Min = 1
	return spec
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 127} {
		h, s := open(t)
		for i := range n {
			_, err := s.Create(strings.Repeat("t", 1+i), 1, nil)
			require.NoError(t, err)
		}
		req := &kmsg.ListConfigResourcesRequest{Version: 1}
		resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		resp.SetVersion(1)
		size := 5 + len(resp.AppendTo(nil))
		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err)
		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
		require.EqualError(t, err, fmt.Sprintf("ListConfigResources answer of %d bytes is above max_frame_size %d", size, size-1))
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Spent(t, h, &kmsg.ListConfigResourcesRequest{Version: 1})
}
