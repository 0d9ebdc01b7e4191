package describetransactions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New()) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env { return handlertest.Env{Handler: New()} })
}

// The price is the size of the frame: an answer of just that size goes out, one
// byte less of room closes the connection.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]string{nil, {""}, {"a", strings.Repeat("b", 126), strings.Repeat("c", 127)}, make([]string, 127), make([]string, 16383)} {
		req := &kmsg.DescribeTransactionsRequest{TransactionalIDs: ids}
		resp, err := New().Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := 5 + len(resp.AppendTo(nil))
		_, err = New().Handle(t.Context(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err)
		_, err = New().Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
		require.EqualError(t, err, fmt.Sprintf("DescribeTransactions answer of %d bytes is above max_frame_size %d", size, size-1))
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, New(), &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{"a"}})
}
