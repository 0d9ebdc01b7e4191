package iggy

import (
	"context"
	"testing"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// What the server refuses for reasons of its own, as when it is out of file
// descriptors, is told in the log, once: clients only get a code.

func TestRefusedTopic(t *testing.T) {
	t.Parallel()
	for _, refused := range []error{ierror.ErrCannotReadFile, ierror.ErrUnauthorized} {
		f := newFakes(t)
		f.server.set(func() { f.server.errs["CreateTopic"] = refused })
		_, err := f.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
		require.ErrorIs(t, err, refused)
		require.Equal(t, 1, f.logs.FilterField(zap.String("topic", "t")).FilterLevelExact(zapcore.ErrorLevel).Len())
	}
}

func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	const cannotReadFile = 10002
	server := iggytest.StandIn(t)
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	core, logs := observer.New(zapcore.ErrorLevel)
	cfg := DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = server.Address(), iggytest.Username, iggytest.Password
	s := New(cfg, catalog, Options{Log: zap.New(core), unchecked: true})
	require.NoError(t, s.Start(t.Context()))
	defer func() { require.NoError(t, s.Close()) }()
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
	require.NoError(t, err)
	p := backend.Partition{Topic: topic.ID}
	for _, code := range []uint32{wiretest.SendMessages, wiretest.PollMessages} {
		fault := server.Inject(standintest.Fault{Code: code, Topic: "t", Times: -1, Kind: standintest.Refuse, Status: cannotReadFile})
		ask := func(patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if code == wiretest.PollMessages {
				_, err := s.FindTime(ctx, p, 0)
				return err
			}
			return s.Append(ctx, []backend.Append{{Partition: p, Batch: recordtest.Values("a").Batch(t)}})[0].Err
		}
		for range 3 {
			require.Error(t, ask(100*time.Millisecond))
		}
		require.Len(t, logs.TakeAll(), 1)
		fault.Release()
		require.Eventually(t, func() bool { return ask(10*time.Second) == nil }, 30*time.Second, 10*time.Millisecond)
		require.Empty(t, logs.TakeAll())
	}
}
