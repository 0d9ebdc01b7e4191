package coordinatortest

import (
	"context"
	"slices"

	"github.com/iggykafka/gateway/coordinator"
)

// Fake is a scripted [coordinator.Coordinator]: each method calls the function
// of its name. The zero Fake is usable; a function that is nil answers as a
// coordinator does that has no groups and takes none in:
//
//   - Join, Sync, Heartbeat, Leave and CheckCommit: NotCoordinator. The result
//     of Join names the member id of the request.
//   - Describe: every distinct id is Dead, in order of first appearance. Bill
//     is not looked at.
//   - Remove: GroupIDNotFound.
//   - List, History and Count: nothing.
//
// The functions are called as the caller's goroutines call: a Fake adds no
// lock. Set them before the Fake is shared.
type Fake struct {
	JoinFunc        func(context.Context, coordinator.JoinRequest) coordinator.JoinResult
	SyncFunc        func(context.Context, coordinator.SyncRequest) coordinator.SyncResult
	HeartbeatFunc   func(context.Context, coordinator.HeartbeatRequest) coordinator.Code
	LeaveFunc       func(context.Context, string, []coordinator.Identity) (coordinator.Code, []coordinator.Code)
	CheckCommitFunc func(context.Context, coordinator.HeartbeatRequest) coordinator.Code
	DescribeFunc    func(context.Context, []string, coordinator.Bill) ([]coordinator.Description, error)
	ListFunc        func(context.Context, coordinator.Filter) []coordinator.Listing
	RemoveFunc      func(context.Context, string) coordinator.Code
	HistoryFunc     func(context.Context, string) []coordinator.Rebalance
	CountFunc       func() coordinator.Counts
}

var _ coordinator.Coordinator = (*Fake)(nil)

// Join calls JoinFunc.
func (f *Fake) Join(ctx context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
	if f.JoinFunc == nil {
		return coordinator.JoinResult{Code: coordinator.NotCoordinator, MemberID: r.MemberID}
	}
	return f.JoinFunc(ctx, r)
}

// Sync calls SyncFunc.
func (f *Fake) Sync(ctx context.Context, r coordinator.SyncRequest) coordinator.SyncResult {
	if f.SyncFunc == nil {
		return coordinator.SyncResult{Code: coordinator.NotCoordinator}
	}
	return f.SyncFunc(ctx, r)
}

// Heartbeat calls HeartbeatFunc.
func (f *Fake) Heartbeat(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	if f.HeartbeatFunc == nil {
		return coordinator.NotCoordinator
	}
	return f.HeartbeatFunc(ctx, r)
}

// Leave calls LeaveFunc.
func (f *Fake) Leave(ctx context.Context, group string, identities []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
	if f.LeaveFunc == nil {
		return coordinator.NotCoordinator, nil
	}
	return f.LeaveFunc(ctx, group, identities)
}

// CheckCommit calls CheckCommitFunc.
func (f *Fake) CheckCommit(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	if f.CheckCommitFunc == nil {
		return coordinator.NotCoordinator
	}
	return f.CheckCommitFunc(ctx, r)
}

// Describe calls DescribeFunc.
func (f *Fake) Describe(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
	if f.DescribeFunc != nil {
		return f.DescribeFunc(ctx, ids, b)
	}
	var out []coordinator.Description
	for _, id := range ids {
		if !slices.ContainsFunc(out, func(d coordinator.Description) bool { return d.Group == id }) {
			out = append(out, coordinator.Description{Group: id, State: coordinator.Dead})
		}
	}
	return out, nil
}

// List calls ListFunc.
func (f *Fake) List(ctx context.Context, filter coordinator.Filter) []coordinator.Listing {
	if f.ListFunc == nil {
		return nil
	}
	return f.ListFunc(ctx, filter)
}

// Remove calls RemoveFunc.
func (f *Fake) Remove(ctx context.Context, group string) coordinator.Code {
	if f.RemoveFunc == nil {
		return coordinator.GroupIDNotFound
	}
	return f.RemoveFunc(ctx, group)
}

// History calls HistoryFunc.
func (f *Fake) History(ctx context.Context, group string) []coordinator.Rebalance {
	if f.HistoryFunc == nil {
		return nil
	}
	return f.HistoryFunc(ctx, group)
}

// Count calls CountFunc.
func (f *Fake) Count() coordinator.Counts {
	if f.CountFunc == nil {
		return coordinator.Counts{}
	}
	return f.CountFunc()
}
