package describeclientquotas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/quotas"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func list() security.QuotaList { return quotas.New(&securitytest.Entries{}, quotas.DefaultConfig()) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(list())) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(list()), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(list())) }

// The command "quota" sets one: quota user=alice client-id=* producer_byte_rate=1000
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		l := list()
		return handlertest.Env{Handler: New(l), Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"quota": func(t *testing.T, d *datadriven.TestData) string {
				var pairs []string
				for _, arg := range d.CmdArgs[:len(d.CmdArgs)-1] {
					pairs = append(pairs, arg.Key, arg.Vals[0])
				}
				var value float64
				last := d.CmdArgs[len(d.CmdArgs)-1]
				_, err := fmt.Sscan(last.Vals[0], &value)
				require.NoError(t, err)
				securitytest.SetQuota(t, l, securitytest.Entity(pairs...), last.Key, value)
				return "ok"
			},
		}}
	})
}

type failing struct{ security.QuotaList }

func (failing) DescribeQuotas(context.Context, []security.QuotaFilter, bool) ([]security.QuotaEntry, error) {
	return nil, errors.New("no disk")
}

func all(t *testing.T, h handler.Handler, version int16, maxFrame int) (*kmsg.DescribeClientQuotasResponse, error) {
	t.Helper()
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Version = version
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: maxFrame}, req)
	if err != nil {
		return nil, err
	}
	resp.SetVersion(version)
	return resp.(*kmsg.DescribeClientQuotasResponse), nil
}

// Quotas that cannot be read are not none, and why is not for clients.
func TestFailing(t *testing.T) {
	t.Parallel()
	resp, err := all(t, New(failing{}), 1, 1<<20)
	require.NoError(t, err)
	require.EqualValues(t, -1, resp.ErrorCode)
	require.Nil(t, resp.ErrorMessage)
}

// A gateway without quotas does not offer the key, and has none to show.
func TestWithoutQuotas(t *testing.T) {
	t.Parallel()
	h := New(nil)
	require.True(t, h.Spec().Hidden)
	require.False(t, New(list()).Spec().Hidden)
	resp, err := all(t, h, 1, 1<<20)
	require.NoError(t, err)
	require.Zero(t, resp.ErrorCode)
	require.Empty(t, resp.Entries)
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	l := list()
	for n := range 140 {
		securitytest.SetQuota(t, l, securitytest.Entity("user", strings.Repeat("u", 1+n)), "producer_byte_rate", 1)
		securitytest.SetQuota(t, l, securitytest.Entity("user", fmt.Sprint(n), "client-id", "*"), "request_percentage", 1)
		if n%20 > 0 && n%126 > 1 {
			continue
		}
		for version := range int16(2) {
			resp, err := all(t, New(l), version, 1<<20)
			require.NoError(t, err)
			size := 4 + int(version) + len(resp.AppendTo(nil))
			_, err = all(t, New(l), version, size)
			require.NoError(t, err)
			_, err = all(t, New(l), version, size-1)
			require.EqualError(t, err, fmt.Sprintf("DescribeClientQuotas answer of %d bytes is above max_frame_size %d", size, size-1))
		}
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	l := list()
	securitytest.SetQuota(t, l, securitytest.Entity("user", "alice"), "producer_byte_rate", 1)
	handlertest.Spent(t, New(l), kmsg.NewPtrDescribeClientQuotasRequest())
}
