package dispatch

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// Counts are sums over versions and codes, of keys that were used.
func TestCounts(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.DescribeGroups(
		func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
			resp := kmsg.NewPtrDescribeGroupsResponse()
			for _, code := range []int16{0, 69, 15} {
				g := kmsg.NewDescribeGroupsResponseGroup()
				g.ErrorCode = code
				resp.Groups = append(resp.Groups, g)
			}
			return resp, nil
		}), dispatchtest.Heartbeat(nil))
	require.Empty(t, b.Counts())
	for _, version := range []int16{4, 5, 5} {
		_, err := b.ask(payload(kmsg.NewPtrDescribeGroupsRequest(), version))
		require.NoError(t, err)
	}
	counts := b.Counts()
	require.Len(t, counts, 1)
	require.Positive(t, counts[0].Processing)
	counts[0].Processing = 0
	require.Equal(t, Count{Key: 15, Name: "DescribeGroups", Requests: 3, Errors: 6}, counts[0])
}
