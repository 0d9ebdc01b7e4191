package embedded_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// box is a store that can be ended in several ways and opened again.
type box struct {
	testing.TB
	fs    vfs.FS
	cfg   embedded.Config
	opts  embedded.Options
	store *embedded.Store
}

// newBox opens a store; the file system is in memory and can crash, unless fs is
// given.
func newBox(t testing.TB, fs vfs.FS, cfg embedded.Config) *box {
	if fs == nil {
		fs = vfs.NewCrashableMem()
		cfg.Dir = "/data"
	}
	cfg.Compaction.Interval = time.Hour // tests compact themselves
	b := &box{TB: t, fs: fs, cfg: cfg}
	b.opts.BootID = func() string { return "boot" }
	b.opts.Log = zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *box) open() *embedded.Store {
	b.Helper()
	s, err := b.try()
	require.NoError(b, err)
	b.store = s
	return s
}

// try starts a store and returns the error that may have.
func (b *box) try() (*embedded.Store, error) {
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(b, err)
	b.opts.FS = b.fs
	s := embedded.New(b.cfg, catalog, b.opts)
	return s, s.Start(b.Context())
}

func (b *box) close() {
	if b.store != nil {
		require.NoError(b, b.store.Close())
		b.store = nil
	}
}

func (b *box) reopen() backend.Backend {
	b.close()
	return b.open()
}

// kill is kill -9: what was written stays, synced or not.
func (b *box) kill() backend.Backend { return b.lose(100) }

// lose keeps that many percent of what was written and not synced; none of it,
// or a part, is what a loss of power may leave.
func (b *box) lose(percent int) backend.Backend {
	b.fs = crashed(b.fs.(*vfs.MemFS), percent, 1)
	return b.reopen()
}

func crashed(fs *vfs.MemFS, percent int, seed uint64) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})
}

func TestConform(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]bool{"sync off": false, "sync on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backendtest.Conform(t, func(t testing.TB) backendtest.Setup {
				cfg := embedded.DefaultConfig()
				cfg.Sync = sync
				b := newBox(t, nil, cfg)
				return setup(b)
			})
		})
	}
	t.Run("on disk", func(t *testing.T) {
		t.Parallel()
		backendtest.Conform(t, func(t testing.TB) backendtest.Setup {
			cfg := embedded.DefaultConfig()
			cfg.Dir = t.TempDir()
			s := setup(newBox(t, vfs.Default, cfg))
			s.Crash = nil // another test kills processes
			return s
		})
	})
}

func setup(b *box) backendtest.Setup {
	return backendtest.Setup{
		Backend: b.store, Reopen: b.reopen, Crash: b.kill,
		Retain:   func() { b.store.Retain() },
		Verbatim: true, KeepsProducers: true,
	}
}
