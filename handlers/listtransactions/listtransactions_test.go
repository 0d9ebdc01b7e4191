package listtransactions

import (
	"runtime"
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

func code(t *testing.T, pattern string) int16 {
	req := &kmsg.ListTransactionsRequest{Version: 2, TransactionalIDPattern: &pattern}
	resp, err := New().Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	return resp.(*kmsg.ListTransactionsResponse).ErrorCode
}

func TestLongPattern(t *testing.T) {
	t.Parallel()
	require.Zero(t, code(t, strings.Repeat("a", maxPattern)))
	require.Equal(t, int16(128), code(t, strings.Repeat("a", maxPattern+1)))
}

// What patterns cost is charged before they are parsed. Not parallel: it counts
// all that is allocated.
func TestPatternsArePaidFor(t *testing.T) {
	for _, unit := range []string{`\pL`, `\PL`, `(?i)\pL`, `[^\pL]`, `(?i:k)`, `(a|b)`, `a{9}`, `[a-z]`} {
		pattern := strings.Repeat(unit, maxPattern/len(unit))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		isPattern(pattern)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(pattern))*patternMemory, unit)
	}
	pattern := "a("
	req := &kmsg.ListTransactionsRequest{Version: 2, TransactionalIDPattern: &pattern}
	require.Equal(t, int64(2*patternMemory), handlertest.Spent(t, New(), req))
}
