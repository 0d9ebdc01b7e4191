package embedded_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// TestTogether lets everything run at once: writers, waiting readers, retention,
// checkpoints, topics that come and go, and the end of the store in the middle.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) {
			t.Parallel()
			together(t, sync)
		})
	}
}

func together(t *testing.T, syncs bool) {
	const records = 300
	cfg := embedded.DefaultConfig()
	cfg.Sync, cfg.OpenFiles = syncs, 16
	b := newBox(t, nil, cfg)
	s := b.store
	kept, dropped := newTopic(b, "kept", "retention.ms", "-1"), newTopic(b, "dropped", "retention.ms", "1")
	finished := make(chan struct{})
	var work, helpers sync.WaitGroup
	check := func(err error, fine ...error) {
		for _, f := range fine {
			if errors.Is(err, f) {
				return
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, p := range []backend.Partition{kept, dropped} {
		work.Go(func() {
			for i := range int32(records) {
				check(appendOne(s, p, recordtest.Values("x").From(1, 0, i)).Err)
			}
		})
	}
	for range 2 { // readers that wait
		work.Go(func() {
			grown, stop := s.Watch([]backend.Partition{kept})
			defer stop()
			for at := int64(0); at < records; {
				got, _, err := s.Read(t.Context(), backend.Read{Partition: kept, Offset: at, MaxBytes: 500, AtLeastOne: true})
				if err != nil {
					t.Error(err)
					return
				}
				if len(got) == 0 {
					<-grown
					continue
				}
				for _, one := range split(t, got) {
					if one.BaseOffset != at {
						t.Errorf("offset %d after %d", one.BaseOffset, at)
						return
					}
					at = one.LastOffset() + 1
				}
			}
		})
	}
	until := func(fn func(i int)) {
		helpers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-finished:
					return
				default:
					fn(i)
				}
			}
		})
	}
	until(func(int) { s.Retain() })
	until(func(int) { check(s.Tick()) })
	until(func(int) {
		bounds, err := s.Bounds(t.Context(), dropped)
		check(err)
		_, err = s.DeleteRecords(t.Context(), dropped, (bounds.Start+bounds.End)/2)
		check(err)
		_, err = s.DescribeProducers(t.Context(), dropped)
		check(err)
	})
	until(func(int) {
		bounds, err := s.Bounds(t.Context(), dropped)
		check(err)
		_, _, err = s.Read(t.Context(), backend.Read{Partition: dropped, Offset: bounds.Start, MaxBytes: 5000})
		check(err, backend.ErrOffsetOutOfRange)
		_, err = s.FindMaxTime(t.Context(), dropped)
		check(err)
	})
	until(func(i int) {
		topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: fmt.Sprint("brief", i), Partitions: 2})
		check(err)
		p := backend.Partition{Topic: topic.ID}
		var inner sync.WaitGroup
		inner.Go(func() {
			for range 5 {
				check(appendOne(s, p, recordtest.Values("x")).Err, backend.ErrUnknownTopic)
				_, _, err := s.Read(t.Context(), backend.Read{Partition: p, MaxBytes: 100})
				check(err, backend.ErrUnknownTopic, backend.ErrOffsetOutOfRange) // retention takes old records
				_, err = s.DeleteRecords(t.Context(), p, 1)
				check(err, backend.ErrUnknownTopic, backend.ErrOffsetOutOfRange)
			}
		})
		check(s.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p}}))
		check(s.DeleteTopic(t.Context(), topic.ID))
		inner.Wait()
	})
	work.Wait()
	close(finished)
	helpers.Wait()
	groups, err := s.OffsetGroups(t.Context())
	require.NoError(t, err)
	require.Empty(t, groups, "offsets went with their topics")
	require.LessOrEqual(t, s.Starts(), 1, "and starts")
	b.reopen()
	require.Len(t, readLog(t, b.store, kept), records)
}

// TestCloseDuringCalls: calls that have begun end well, later ones are refused.
func TestCloseDuringCalls(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	s, p := b.store, newTopic(b, "t")
	var work sync.WaitGroup
	var acknowledged [4]int
	started := make(chan struct{}, len(acknowledged))
	for w := range acknowledged {
		work.Go(func() {
			for {
				err := appendOne(s, p, recordtest.Values("x")).Err
				if errors.Is(err, backend.ErrUnavailable) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if acknowledged[w]++; acknowledged[w] == 10 {
					started <- struct{}{}
				}
			}
		})
	}
	for range acknowledged {
		<-started
	}
	b.close()
	work.Wait()
	total := 0
	for _, n := range acknowledged {
		total += n
	}
	b.open()
	require.Len(t, readLog(t, b.store, p), total)
}

func TestModules(t *testing.T) {
	t.Parallel()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	for name, module := range map[string]fx.Option{
		"disk": embedded.Module, "memory": embedded.MemoryModule,
		"memory by options": fx.Options(embedded.Module, fx.Supply(embedded.Options{FS: vfs.NewMem()})),
	} {
		cfg := embedded.DefaultConfig()
		if name == "disk" {
			cfg.Dir = t.TempDir()
		}
		var store backend.Backend
		app := fxtest.New(t, module, fx.Supply(cfg, catalog, zap.NewNop()), fx.Populate(&store))
		_, err := store.ClusterID(t.Context())
		require.ErrorIs(t, err, backend.ErrUnavailable, "%s: nothing happens before the start", name)
		app.RequireStart()
		_, err = store.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
		require.NoError(t, err)
		app.RequireStop()
		_, err = store.ClusterID(t.Context())
		require.ErrorIs(t, err, backend.ErrUnavailable)
	}
}
