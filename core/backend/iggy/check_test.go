package iggy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// A server that saves nothing before it answers is seen, and one that does is not
// accused.
func TestCheckOfSaving(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		opts []iggytest.Option
		warn bool
	}{
		"saves":         {[]iggytest.Option{iggytest.NoFsync()}, false},
		"saves, fsync":  {nil, false},
		"saves at 1024": {[]iggytest.Option{iggytest.NoFsync(), iggytest.Lossy(1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, iggytest.Real(t, one.opts...))
			require.Eventually(t, func() bool {
				topics, err := b.store.server.Topics(t.Context(), b.cfg.InternalStream)
				return err == nil && len(topics) == 1
			}, time.Minute, time.Millisecond, "the start's own look has ended")
			for range 5 {
				saved, err := b.store.savesAtOnce(t.Context())
				if err == nil { // otherwise it is silent
					require.Equal(t, !one.warn, saved)
				}
			}
		})
	}
}

// The stand-in tells nothing of what it writes: no warning.
func TestCheckIsSilentWhereItCannotSee(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	b := newBox(t, iggytest.StandIn(t))
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	b.close()
	s := New(b.cfg, catalog, Options{Log: zap.New(core)})
	require.NoError(t, s.Start(t.Context()))
	require.Eventually(t, func() bool {
		return strings.Contains(strings.Join(messages(logs, zapcore.InfoLevel), "\n"), "cannot see whether Iggy saves")
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	require.Empty(t, messages(logs, zapcore.WarnLevel))
}
