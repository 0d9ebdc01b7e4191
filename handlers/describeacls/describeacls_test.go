package describeacls

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls/aclstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil)) }

func TestReadme(t *testing.T) { handlertest.Readme(t, New(nil), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, New(nil)) }

func TestScenarios(t *testing.T) { aclstest.Scenarios(t, New) }

func every(version int16) *kmsg.DescribeACLsRequest {
	return &kmsg.DescribeACLsRequest{Version: version, ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}
}

func answer(t *testing.T, acls security.ACLs, version int16) *kmsg.DescribeACLsResponse {
	t.Helper()
	resp, err := New(acls).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, every(version))
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, version)
	require.NoError(t, err)
	return back.(*kmsg.DescribeACLsResponse)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for v := int16(1); v <= 3; v++ {
		off := answer(t, nil, v)
		require.Equal(t, int16(54), off.ErrorCode)
		require.Equal(t, "No Authorizer is configured on the broker", *off.ErrorMessage)

		failed := answer(t, aclstest.Failing{Err: backend.ErrUnavailable}, v)
		require.Equal(t, int16(41), failed.ErrorCode)
		require.Nil(t, failed.ErrorMessage)

		refused := answer(t, aclstest.Failing{Err: security.Refuse(kerr.InvalidRequest, "no")}, v)
		require.Equal(t, int16(42), refused.ErrorCode)
		require.Equal(t, "no", *refused.ErrorMessage)
	}
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for _, resources := range []int{0, 1, 126, 127} {
		for _, users := range []int{1, 127} {
			var list []security.ACL
			for i := range resources {
				for j := range min(users, 1+126*((i+1)%2)) {
					list = append(list, aclstest.Topic(strings.Repeat("u", j), strings.Repeat("t", 1+i)))
				}
			}
			h := New(found(list))
			for v := int16(1); v <= 3; v++ {
				resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 24}, every(v))
				require.NoError(t, err)
				size := handlertest.Size(resp, v)
				_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, every(v))
				require.NoError(t, err)
				_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, every(v))
				require.EqualError(t, err, fmt.Sprintf("DescribeAcls answer of %d bytes is above max_frame_size %d", size, size-1))
			}
		}
	}
}

// found is a list that answers every filter with itself.
type found []security.ACL

func (f found) DescribeACLs(context.Context, security.ACLFilter) ([]security.ACL, error) {
	return f, nil
}
func (f found) CreateACLs(context.Context, []security.ACL) []error                      { return nil }
func (f found) DeleteACLs(context.Context, []security.ACLFilter) []security.DeletedACLs { return nil }

func TestSpent(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, New(aclstest.Open(t)), every(3))
}
