package iggy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// box is a store over a server, both of which can be ended in several ways.
type box struct {
	testing.TB
	server iggytest.Server
	cfg    Config
	store  *Store
	// patience is how long commits wait, where it is not what they wait otherwise.
	patience time.Duration

	crashes int
}

func newBox(t testing.TB, server iggytest.Server, change ...func(*Config)) *box {
	t.Helper()
	return newPatientBox(t, server, 0, change...)
}

// newPatientBox has commits wait for long, and silence of the server last for long
// before it counts: for tests that have nothing to do with how soon a client is told
// to try again, on machines that have much to do.
func newPatientBox(t testing.TB, server iggytest.Server, patience time.Duration, change ...func(*Config)) *box {
	t.Helper()
	b := &box{TB: t, server: server, cfg: DefaultConfig(), patience: patience}
	b.cfg.Address, b.cfg.Username, b.cfg.Password = server.Address(), iggytest.Username, iggytest.Password
	if patience > 0 {
		b.cfg.RequestTimeout = patience
	}
	for _, c := range change {
		c(&b.cfg)
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *box) open() backend.Backend {
	b.Helper()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(b, err)
	s := New(b.cfg, catalog, Options{
		Log: zaptest.NewLogger(b, zaptest.Level(zap.WarnLevel)), endsInterval: 50 * time.Millisecond,
		commitPatience: b.patience, ledgerPatience: b.patience,
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(b, s.Start(ctx))
	b.store = s
	return s
}

func (b *box) close() {
	if b.store != nil {
		require.NoError(b, b.store.Close())
		b.store = nil
	}
}

func (b *box) reopen() backend.Backend {
	b.Helper()
	b.close()
	return b.open()
}

// drop leaves the store as it is when its process is killed: nothing more is
// written and the lease is not given back.
func (b *box) drop() {
	s := b.store
	b.store = nil
	s.state.Store(stateDown)
	s.server.Close()
	s.stop()
	_ = s.ledger.Close()
}

// killGateway is kill -9 of the gateway.
func (b *box) killGateway() backend.Backend {
	b.Helper()
	b.drop()
	return b.open()
}

// killBoth is kill -9 of the server, and then of the gateway.
func (b *box) killBoth() backend.Backend {
	b.Helper()
	b.server.Kill()
	b.drop()
	b.server.Start()
	return b.open()
}

// killServer is kill -9 of the server; the gateway goes on, and serves when this
// returns.
func (b *box) killServer() backend.Backend {
	b.Helper()
	c := b.store.server.(*client.Client)
	const own = 1 // of the internal stream
	all := b.cfg.Connections.Send + b.cfg.Connections.Poll + b.cfg.Connections.Admin + own
	// Those that were still being made would count for ones that the kill has cut.
	require.Eventually(b, func() bool { return len(c.Locals()) == all }, time.Minute, time.Millisecond)
	before := c.Generation()
	b.server.Kill()
	b.server.Start()
	require.Eventually(b, func() bool { return c.Up() && c.Generation() >= before+uint64(all) }, time.Minute, time.Millisecond)
	// The internal log may still be busy with what was on its way in that moment.
	require.Eventually(b, func() bool {
		return b.store.ledger.Commit(b.Context(), []journal.Change{{Key: "nothing"}}) == nil
	}, time.Minute, time.Millisecond)
	return b.store
}

// crash ends gateway or server in another way each time.
func (b *box) crash() backend.Backend {
	b.Helper()
	ways := []func() backend.Backend{b.killGateway, b.killServer, b.killBoth}
	b.crashes++
	return ways[b.crashes%len(ways)]()
}

// Retention cannot be applied at will: the server looks at its logs in its own
// time, and never deletes the segment that it writes to. retention_test.go has
// what there is.
func TestConform(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		backendtest.Conform(t, func(t testing.TB) backendtest.Setup {
			b := newPatientBox(t, start(t, iggytest.NoFsync()), time.Minute)
			return backendtest.Setup{Backend: b.store, Reopen: b.reopen, Crash: b.crash, KeepsProducers: true}
		})
	})
}
