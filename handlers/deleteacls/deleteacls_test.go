package deleteacls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/security/acls"
	"github.com/iggykafka/gateway/security/acls/aclstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil)) }

func TestReadme(t *testing.T) { handlertest.Readme(t, New(nil), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, New(nil)) }

func TestScenarios(t *testing.T) { aclstest.Scenarios(t, New) }

// every asks n times for the deletion of everything.
func every(version int16, n int) *kmsg.DeleteACLsRequest {
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType = 1, 1, 1, 1
	return &kmsg.DeleteACLsRequest{Version: version, Filters: slices.Repeat([]kmsg.DeleteACLsRequestFilter{f}, n)}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	aclstest.Errors(t, New, func(v int16) kmsg.Request { return every(v, 2) }, func(resp kmsg.Response) (all []aclstest.Result) {
		for _, r := range resp.(*kmsg.DeleteACLsResponse).Results {
			all = append(all, aclstest.Result{Code: r.ErrorCode, Message: r.ErrorMessage})
		}
		return all
	})
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes, and nothing is deleted.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 126, 127} {
		for v := int16(1); v <= 3; v++ {
			open := func() *acls.List {
				l := aclstest.Open(t)
				for i := range n {
					aclstest.Create(t, l, aclstest.Topic(strings.Repeat("u", i), strings.Repeat("t", 1+i)))
				}
				return l
			}
			handle := func(l *acls.List, room int) (kmsg.Response, error) {
				return New(l).Handle(t.Context(), handler.Call{MaxFrame: room}, every(v, 3))
			}
			resp, err := handle(open(), 1<<24)
			require.NoError(t, err)
			size := handlertest.Size(resp, v)
			l := open()
			_, err = handle(l, size-1)
			if n > 0 {
				require.EqualError(t, err, fmt.Sprintf("DeleteAcls answer of %d bytes or more is above max_frame_size %d", size, size-1))
			}
			require.Equal(t, n, l.Len())
			_, err = handle(l, size)
			require.NoError(t, err)
			require.Zero(t, l.Len())
		}
	}
}

func TestSpent(t *testing.T) {
	t.Parallel()
	l := aclstest.Open(t)
	aclstest.Create(t, l, aclstest.Topic("a", "t"))
	handlertest.Spent(t, New(l), every(3, 1))
	require.Equal(t, 1, l.Len(), "deleted before it was paid for")
	handlertest.Gone(t, New(l), every(3, 1))
	require.Equal(t, 1, l.Len())
}
