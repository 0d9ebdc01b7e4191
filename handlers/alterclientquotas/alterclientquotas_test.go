package alterclientquotas

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
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

// The command "quotas" shows all that there are.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		l := list()
		return handlertest.Env{Handler: New(l), Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"quotas": func(t *testing.T, _ *datadriven.TestData) string { return shown(t, l) },
		}}
	})
}

func shown(t *testing.T, l security.QuotaList) string {
	entries, err := l.DescribeQuotas(t.Context(), nil, false)
	require.NoError(t, err)
	var lines []string
	for _, e := range entries {
		var parts []string
		for kind, name := range e.Entity {
			if name == nil {
				parts = append(parts, kind)
			} else {
				parts = append(parts, kind+"="+*name)
			}
		}
		sort.Strings(parts)
		lines = append(lines, strings.Join(parts, " ")+fmt.Sprint(": ", e.Values)+"\n")
	}
	if len(lines) == 0 {
		return "none"
	}
	return strings.Join(lines, "")
}

// failing is a list whose store fails.
type failing struct {
	security.QuotaList
	err error
}

func (f failing) AlterQuotas(_ context.Context, changes []security.QuotaChange, _ bool) []error {
	errs := make([]error, len(changes))
	for i := range errs {
		errs[i] = f.err
	}
	return errs
}

func setting(user string) *kmsg.AlterClientQuotasRequest {
	req := kmsg.NewPtrAlterClientQuotasRequest()
	e := kmsg.NewAlterClientQuotasRequestEntry()
	e.Entity = []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &user}}
	e.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1000}}
	req.Entries = append(req.Entries, e)
	return req
}

// Errors of the store become codes; their texts stay here.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]int16{
		backend.ErrUnavailable:                         41,
		backend.ErrOutcomeUnknown:                      7,
		fmt.Errorf("wrapped: %w", backend.ErrTooLarge): 10,
		errors.New("no disk"):                          -1,
		backend.ErrStorage:                             56,
	} {
		resp, failed := New(failing{err: err}).Handle(t.Context(), handler.Call{}, setting("alice"))
		require.NoError(t, failed)
		got := resp.(*kmsg.AlterClientQuotasResponse).Entries[0]
		require.Equal(t, code, got.ErrorCode, "%v", err)
		require.Nil(t, got.ErrorMessage)
	}
}

// Nothing is begun for a client that has gone.
func TestGone(t *testing.T) {
	t.Parallel()
	l := list()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New(l).Handle(ctx, handler.Call{}, setting("alice"))
	require.NoError(t, err)
	require.Equal(t, "none", shown(t, l))
}

// A gateway without quotas does not offer the key, and refuses every change.
func TestWithoutQuotas(t *testing.T) {
	t.Parallel()
	h := New(nil)
	require.True(t, h.Spec().Hidden)
	require.False(t, New(list()).Spec().Hidden)
	resp, err := h.Handle(t.Context(), handler.Call{}, setting("alice"))
	require.NoError(t, err)
	require.EqualValues(t, 54, resp.(*kmsg.AlterClientQuotasResponse).Entries[0].ErrorCode)
}

func TestReserve(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, New(list()), setting("alice"))
}

// Entities are told apart whatever their names hold.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range []security.QuotaEntity{
		securitytest.Entity("user", "a"), securitytest.Entity("user", "*"), securitytest.Entity("user", "-"),
		securitytest.Entity("user", "a", "client-id", "b"), securitytest.Entity("user", "a9:client-id+1:b"),
		securitytest.Entity("user", "1:a"), securitytest.Entity("client-id", "a"), {},
	} {
		kinds := make([]string, 0, len(e))
		for kind := range e {
			kinds = append(kinds, kind)
		}
		sort.Strings(kinds)
		name := nameOf(e, kinds)
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
