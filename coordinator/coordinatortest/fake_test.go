package coordinatortest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestZeroFakeTakesNobodyIn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var f coordinatortest.Fake
	require.Equal(t, coordinator.JoinResult{Code: coordinator.NotCoordinator, MemberID: "m"}, f.Join(ctx, coordinator.JoinRequest{MemberID: "m"}))
	require.Equal(t, coordinator.NotCoordinator, f.Sync(ctx, coordinator.SyncRequest{}).Code)
	require.Equal(t, coordinator.NotCoordinator, f.Heartbeat(ctx, coordinator.HeartbeatRequest{}))
	require.Equal(t, coordinator.NotCoordinator, f.CheckCommit(ctx, coordinator.HeartbeatRequest{}))
	code, codes := f.Leave(ctx, "g", nil)
	require.Equal(t, coordinator.NotCoordinator, code)
	require.Empty(t, codes)
	got, err := f.Describe(ctx, []string{"b", "a", "b"}, coordinator.Bill{})
	require.NoError(t, err)
	require.Equal(t, []coordinator.Description{{Group: "b", State: coordinator.Dead}, {Group: "a", State: coordinator.Dead}}, got)
	require.Empty(t, f.List(ctx, coordinator.Filter{}))
}

func TestFakeCallsItsFunctions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := coordinatortest.Fake{
		JoinFunc: func(context.Context, coordinator.JoinRequest) coordinator.JoinResult {
			return coordinator.JoinResult{Generation: 7}
		},
		SyncFunc: func(context.Context, coordinator.SyncRequest) coordinator.SyncResult {
			return coordinator.SyncResult{Protocol: "range"}
		},
		HeartbeatFunc: func(context.Context, coordinator.HeartbeatRequest) coordinator.Code {
			return coordinator.RebalanceInProgress
		},
		LeaveFunc: func(_ context.Context, _ string, ids []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
			return coordinator.None, make([]coordinator.Code, len(ids))
		},
		CheckCommitFunc: func(context.Context, coordinator.HeartbeatRequest) coordinator.Code {
			return coordinator.IllegalGeneration
		},
		DescribeFunc: func(context.Context, []string, coordinator.Bill) ([]coordinator.Description, error) {
			return nil, coordinator.ErrTooLarge
		},
		ListFunc: func(context.Context, coordinator.Filter) []coordinator.Listing {
			return []coordinator.Listing{{Group: "g"}}
		},
	}
	require.EqualValues(t, 7, f.Join(ctx, coordinator.JoinRequest{}).Generation)
	require.Equal(t, "range", f.Sync(ctx, coordinator.SyncRequest{}).Protocol)
	require.Equal(t, coordinator.RebalanceInProgress, f.Heartbeat(ctx, coordinator.HeartbeatRequest{}))
	_, codes := f.Leave(ctx, "g", make([]coordinator.Identity, 2))
	require.Len(t, codes, 2)
	require.Equal(t, coordinator.IllegalGeneration, f.CheckCommit(ctx, coordinator.HeartbeatRequest{}))
	_, err := f.Describe(ctx, nil, coordinator.Bill{})
	require.ErrorIs(t, err, coordinator.ErrTooLarge)
	require.Len(t, f.List(ctx, coordinator.Filter{}), 1)
}

func TestModuleProvidesTheCoordinator(t *testing.T) {
	t.Parallel()
	want := &coordinatortest.Fake{}
	var got coordinator.Coordinator
	app := fxtest.New(t, fx.NopLogger, coordinatortest.Module(want), fx.Populate(&got))
	app.RequireStart().RequireStop()
	require.Same(t, want, got)
}
