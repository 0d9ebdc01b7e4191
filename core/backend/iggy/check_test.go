package iggy

import (
	"context"
	"strings"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
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
			cfg := DefaultConfig()
			cfg.Address, cfg.Username, cfg.Password = iggytest.Real(t, one.opts...).Address(), iggytest.Username, iggytest.Password
			catalog, err := topicconfig.NewCatalog(nil)
			require.NoError(t, err)
			s := New(cfg, catalog, Options{unchecked: true})
			require.NoError(t, s.Start(t.Context()))
			defer func() { require.NoError(t, s.Close()) }()
			for range 20 { // more than checkBytes where the server does not save
				saved, err := inspector{cfg: cfg, server: s.server}.savesAtOnce(t.Context())
				if err == nil { // otherwise it is silent
					require.Equal(t, !one.warn, saved)
				}
				topics, err := s.server.Topics(t.Context(), cfg.InternalStream)
				require.NoError(t, err)
				require.Len(t, topics, 2, "the topic is kept")
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

// The same can be learned from outside, beside a gateway that runs.
func TestInspect(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = iggytest.Real(t, iggytest.NoFsync(), iggytest.Lossy(1)).Address(), iggytest.Username, iggytest.Password
	advice, err := Inspect(t.Context(), cfg, false, zap.NewNop())
	require.NoError(t, err)
	require.Len(t, advice, 1, "nothing is written where no gateway has been")
	require.False(t, advice[0].Serious)
	require.Contains(t, advice[0].Text, "look again when a gateway has run")

	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	s := New(cfg, catalog, Options{unchecked: true})
	require.NoError(t, s.Start(t.Context()))
	defer func() { require.NoError(t, s.Close()) }()
	advice, err = Inspect(t.Context(), cfg, false, zap.NewNop())
	require.NoError(t, err)
	require.Len(t, advice, 1)
	require.True(t, advice[0].Serious)
	require.Contains(t, advice[0].Text, "Iggy answers before it saves messages")

	cfg.Password = "wrong"
	_, err = Inspect(t.Context(), cfg, false, zap.NewNop())
	require.ErrorContains(t, err, "iggy.password")
}

// Who looks is told at once that nobody is there, and soon of one that says nothing.
func TestInspectWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	cfg := DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = server.Address(), iggytest.Username, iggytest.Password
	cfg.ConnectTimeout = 200 * time.Millisecond
	server.Pause()
	began := time.Now()
	_, err := Inspect(t.Context(), cfg, false, zap.NewNop())
	require.ErrorContains(t, err, "iggy.address: no connection to the Iggy server at "+server.Address())
	require.ErrorContains(t, err, "did not answer in time")
	require.Less(t, time.Since(began), checkTimeout/2)
	server.Resume()
	server.Kill()
	cfg.ConnectTimeout = time.Hour
	_, err = Inspect(t.Context(), cfg, false, zap.NewNop())
	require.ErrorContains(t, err, "connection refused")
}

// A server that saves late is not taken for a safe one because somebody else has it
// write in the moment of the look.
func TestCheckBesideOthersThatWrite(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		server lateServer
		saved  bool
	}{
		"saves late":                         {lateServer{keeps: 1 << 20}, false},
		"saves late, others write meanwhile": {lateServer{keeps: 1 << 20, others: 4 << 20}, false},
		"saves at once":                      {lateServer{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saved, err := inspector{cfg: DefaultConfig(), server: &one.server}.savesAtOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, one.saved, saved)
		})
	}
}

// lateServer writes what it was sent once that is more than it keeps, and others, in
// bytes, with the first message.
type lateServer struct {
	server                       // what is not asked for
	keeps, others, kept, written int
}

func (s *lateServer) Topics(context.Context, string) ([]iggcon.Topic, error) {
	return []iggcon.Topic{{Name: checkTopic}}, nil
}

func (s *lateServer) Stats(context.Context) (*iggcon.Stats, error) {
	return &iggcon.Stats{WrittenBytes: uint64(s.written)}, nil
}

func (s *lateServer) Send(_ context.Context, _ client.Topic, _ uint32, messages []iggcon.IggyMessage) error {
	for _, m := range messages {
		s.kept += len(m.Payload)
	}
	s.written += s.others
	s.others = 0
	if s.kept > s.keeps {
		s.written += s.kept
		s.kept = 0
	}
	return nil
}
