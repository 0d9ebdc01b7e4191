package describelogdirs

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

// codes returns the codes of the directories, which tell nothing then.
func codes(t *testing.T) func(kmsg.Response) []int16 {
	return func(resp kmsg.Response) (codes []int16) {
		for _, dir := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
			require.Empty(t, dir.Topics)
			require.EqualValues(t, -1, dir.TotalBytes)
			codes = append(codes, dir.ErrorCode)
		}
		return codes
	}
}

func request(int16) kmsg.Request {
	r := kmsg.NewPtrDescribeLogDirsRequest()
	r.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "a", Partitions: []int32{0, 1}}}
	return r
}

func all(int16) kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() }

// What a store that fails becomes, in each thing that it is asked for.
func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 2, nil)
	require.NoError(t, err)
	for _, method := range []string{"", "LogDir", "Topic", "Sizes"} {
		admintest.FailingWith(t, admintest.DiskCodes, s.Topics, method, h, request, codes(t))
	}
	for _, method := range []string{"", "LogDir", "AllTopics", "Sizes"} {
		admintest.FailingWith(t, admintest.DiskCodes, s.Topics, method, h, all, codes(t))
	}
}

// A topic that goes while it is described is left out.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	for _, name := range []string{"a", "b"} {
		_, err := s.Create(name, 1, nil)
		require.NoError(t, err)
	}
	calls := 0
	s.Before = func(method string) error {
		if method == "Sizes" {
			if calls++; calls == 1 {
				return backend.ErrUnknownTopic
			}
		}
		return nil
	}
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, all(4))
	require.NoError(t, err)
	dirs := resp.(*kmsg.DescribeLogDirsResponse).Dirs
	require.Len(t, dirs[0].Topics, 1)
	require.Equal(t, "b", dirs[0].Topics[0].Topic)
	require.Zero(t, dirs[0].ErrorCode)
}

// The price is the length of the answer, at every version, and the frame that
// just holds it does.
func TestPrice(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	s.Dir.Path = strings.Repeat("/deep", 40)
	for i, name := range []string{"a", strings.Repeat("b", 200), "c"} {
		_, err := s.Create(name, int32(1+i*100), nil)
		require.NoError(t, err)
	}
	for v := h.Spec().Min; v <= h.Spec().Max; v++ {
		for _, req := range []kmsg.Request{all(v), request(v)} {
			req.SetVersion(v)
			resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
			require.NoError(t, err)
			size := handlertest.Size(resp, v)
			_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
			require.NoError(t, err, "v%d", v)
			_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
			require.ErrorContains(t, err, fmt.Sprintf("take %d bytes, more than max_frame_size %d", size, size-1))
		}
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
