package durable

import (
	"context"
	"errors"

	"github.com/iggykafka/gateway/coordinator"
)

// loading is what is answered until the groups are loaded.
const loading = coordinator.CoordinatorLoadInProgress

// errStopped: the answer will not come any more.
var errStopped = errors.New("groups were not loaded before the end")

// Join admits, renews or refuses a member; see [coordinator.Joiner].
func (c *Coordinator) Join(ctx context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
	if !c.ready.Load() {
		return coordinator.JoinResult{Code: loading, MemberID: r.MemberID}
	}
	return c.host.Join(ctx, r)
}

// Sync hands in assignments or waits for one; see [coordinator.Syncer].
func (c *Coordinator) Sync(ctx context.Context, r coordinator.SyncRequest) coordinator.SyncResult {
	if !c.ready.Load() {
		return coordinator.SyncResult{Code: loading}
	}
	return c.host.Sync(ctx, r)
}

// Heartbeat refreshes a session; see [coordinator.Heartbeater]. While groups are
// being loaded it answers None, as Kafka does: the member need not do anything.
func (c *Coordinator) Heartbeat(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	if !c.ready.Load() {
		return coordinator.None
	}
	return c.host.Heartbeat(ctx, r)
}

// Leave removes members; see [coordinator.Leaver].
func (c *Coordinator) Leave(ctx context.Context, group string, identities []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
	if !c.ready.Load() {
		return loading, nil
	}
	return c.host.Leave(ctx, group, identities)
}

// CheckCommit is the group check of a commit; see [coordinator.CommitChecker].
func (c *Coordinator) CheckCommit(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	if !c.ready.Load() {
		return loading
	}
	return c.host.CheckCommit(ctx, r)
}

// Describe shows groups; see [coordinator.Describer]. It waits until they are
// loaded.
func (c *Coordinator) Describe(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
	if !c.wait(ctx) {
		return nil, errors.Join(errStopped, ctx.Err())
	}
	return c.host.Describe(ctx, ids, b)
}

// List shows every group that passes the filter; see [coordinator.Lister]. It
// waits until they are loaded; when ctx ends before, there is nobody to tell.
func (c *Coordinator) List(ctx context.Context, f coordinator.Filter) []coordinator.Listing {
	if !c.wait(ctx) {
		return nil
	}
	return c.host.List(ctx, f)
}

// Remove forgets a group without members; see [coordinator.Remover]. None means
// that its saved state is gone for good.
func (c *Coordinator) Remove(ctx context.Context, group string) coordinator.Code {
	if !c.ready.Load() {
		return loading
	}
	return c.host.Remove(ctx, group)
}

// History returns a group's last rebalances; see [coordinator.Historian].
func (c *Coordinator) History(ctx context.Context, group string) []coordinator.Rebalance {
	return c.host.History(ctx, group)
}

// Count counts over all groups; see [coordinator.Counter].
func (c *Coordinator) Count() coordinator.Counts { return c.host.Count() }
