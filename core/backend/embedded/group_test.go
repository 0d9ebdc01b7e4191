package embedded_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestGroupCommit: batches that are written while the disk is busy share one
// sync, and nobody reads them before it.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	const others = 20
	var syncs atomic.Int32
	busy, release := make(chan struct{}), make(chan struct{})
	written := make(chan struct{}, others+1)
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !strings.HasPrefix(op.Path, "/data/topics/") {
			return nil
		}
		switch op.Kind {
		case errorfs.OpFileWriteAt:
			written <- struct{}{}
		case errorfs.OpFileSyncData:
			if syncs.Add(1) == 1 {
				close(busy)
				<-release
			}
		}
		return nil
	})
	cfg := embedded.DefaultConfig()
	cfg.Dir, cfg.Sync = "/data", true
	b := newBox(t, errorfs.Wrap(vfs.NewCrashableMem(), hook), cfg)
	p := newTopic(b, "t")
	grown, stop := b.store.Watch([]backend.Partition{p})
	defer stop()
	var work sync.WaitGroup
	send := func() {
		work.Go(func() {
			if err := appendOne(b.store, p, recordtest.Values("x")).Err; err != nil {
				t.Error(err)
			}
		})
	}
	send()
	<-busy
	for range others {
		send()
	}
	for range others + 1 {
		<-written
	}
	bounds, err := b.store.Bounds(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{}, bounds)
	require.Empty(t, readLog(t, b.store, p))
	require.Empty(t, grown)
	close(release)
	work.Wait()
	require.Len(t, readLog(t, b.store, p), others+1)
	// The last write may have begun, but not ended, when the second sync was
	// started; then it has one of its own.
	require.LessOrEqual(t, syncs.Load(), int32(3))
	<-grown
}
