package deletegroups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store holds groups with one committed offset each.
type store struct {
	backend.Offsets // nil: nothing else may be called
	groups          map[string]bool
}

func (s store) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	if ps != nil || !s.groups[group] {
		return nil, nil
	}
	return map[backend.Partition]backend.CommittedOffset{{}: {}}, nil
}

func (s store) DeleteOffsets(_ context.Context, group string) error {
	delete(s.groups, group)
	return nil
}

func open() handler.Handler { return New(&coordinatortest.Fake{}, store{}) }

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open()) }

// The command "remove" sets what the coordinator answers for a group, "commit"
// gives a group an offset, "offsets" lists the groups that have one.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		s, known := store{groups: map[string]bool{}}, map[string]coordinator.Code{}
		fake := &coordinatortest.Fake{RemoveFunc: func(_ context.Context, group string) coordinator.Code {
			if code, ok := known[group]; ok {
				return code
			}
			return coordinator.GroupIDNotFound
		}}
		return handlertest.Env{
			Handler: New(fake, s),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"remove": func(t *testing.T, d *datadriven.TestData) string {
					var group string
					var code int
					d.ScanArgs(t, "group", &group)
					d.ScanArgs(t, "code", &code)
					known[group] = coordinator.Code(code)
					return "ok"
				},
				"commit": func(t *testing.T, d *datadriven.TestData) string {
					var group string
					d.MaybeScanArgs(t, "group", &group)
					s.groups[group] = true
					return "ok"
				},
				"offsets": func(*testing.T, *datadriven.TestData) string {
					return fmt.Sprintf("%q", slices.Sorted(maps.Keys(s.groups)))
				},
			},
		}
	})
}

func codes(t *testing.T, h handler.Handler, version int16, groups ...string) []int16 {
	t.Helper()
	resp, err := h.Handle(t.Context(), handler.Call{}, &kmsg.DeleteGroupsRequest{Version: version, Groups: groups})
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, version)
	require.NoError(t, err)
	var codes []int16
	for _, g := range back.(*kmsg.DeleteGroupsResponse).Groups {
		codes = append(codes, g.ErrorCode)
	}
	return codes
}

// A group whose offsets could not be looked at, or deleted, is not said to be
// gone. The codes but −1 make clients try again.
func TestFailingBackend(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 14, backend.ErrOutcomeUnknown: 14, backend.ErrStorage: 14, context.DeadlineExceeded: 14, errors.New("odd"): -1,
	} {
		failing := backendtest.Failing(nil, fmt.Errorf("offsets: %w", err))
		removed := &coordinatortest.Fake{RemoveFunc: func(context.Context, string) coordinator.Code { return coordinator.None }}
		for v := int16(0); v <= 3; v++ {
			require.Equal(t, []int16{code}, codes(t, New(&coordinatortest.Fake{}, failing), v, "g"), "%v: look-up", err)
			require.Equal(t, []int16{code}, codes(t, New(removed, failing), v, "g"), "%v: deletion", err)
		}
	}
}

// The coordinator's refusals need no store.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []coordinator.Code{coordinator.NonEmptyGroup, coordinator.CoordinatorLoadInProgress, coordinator.NotCoordinator} {
		fake := &coordinatortest.Fake{RemoveFunc: func(context.Context, string) coordinator.Code { return code }}
		require.Equal(t, []int16{int16(code)}, codes(t, New(fake, nil), 0, "g"))
	}
}

// Once the client has gone nothing more is deleted.
func TestGone(t *testing.T) {
	t.Parallel()
	fake := &coordinatortest.Fake{RemoveFunc: func(context.Context, string) coordinator.Code {
		t.Error("asked to remove")
		return coordinator.None
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resp, err := New(fake, nil).Handle(ctx, handler.Call{}, &kmsg.DeleteGroupsRequest{Groups: []string{"g"}})
	require.NoError(t, err)
	require.Equal(t, int16(14), resp.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
}

// A budget that is spent closes the connection before anything is deleted.
func TestReserve(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, New(nil, nil), &kmsg.DeleteGroupsRequest{Groups: []string{"g"}})
}
