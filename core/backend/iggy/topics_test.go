package iggy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// The server has another created_at for a topic after its first start, which is
// where ids come from.
func TestTopicsKeepTheirIDs(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	made := f.create("made", 2)
	f.server.native(t, "kafka", "native", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	native, err := f.find("native")
	require.NoError(t, err)
	f.Store.Close()
	f.server.restart()
	f.start()
	for range 2 {
		for _, want := range []backend.Topic{made, native} {
			got, err := f.Topic(t.Context(), want.Name)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = f.TopicByID(t.Context(), want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		f.server.restart() // changes nothing any more
		f.restart()
	}
}

// While the gateway runs too, and without the permission to ask for the server's
// run.
func TestTopicsKeepTheirIDsWhileTheServerRestarts(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{true, false} {
		t.Run(fmt.Sprint("asked ", asked), func(t *testing.T) {
			t.Parallel()
			f := newFakes(t, func(f *fakes) {
				if !asked {
					f.server.errs["Stats"] = errors.New("unauthorized")
				}
			})
			topic := f.create("t", 2)
			p, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID, Index: 1})
			require.NoError(t, err)
			f.server.restart()
			got, err := f.find("t")
			require.NoError(t, err)
			require.Equal(t, topic, got)
			require.NotNil(t, f.topicOf(p), "its partitions stay")
		})
	}
}

// The list of topics may be of one run of the server, and what it says of itself of
// the next one.
func TestTopicsKeepTheirIDsWhenTheServerRestartsDuringALook(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.server.native(t, "kafka", "t", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	f.server.set(func() { f.server.listed = f.server.restart })
	topic, err := f.find("t")
	require.NoError(t, err)
	got, err := f.find("t")
	require.NoError(t, err)
	require.Equal(t, topic.ID, got.ID)
}

// While the server is away, nothing is guessed about its run.
func TestTopicsMadeAgainBeforeTheServerCanBeAsked(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	first := f.create("t", 1)
	require.NoError(t, f.server.DeleteTopic(t.Context(), client.Topic{Stream: "kafka", Name: "t"}))
	f.server.native(t, "kafka", "t", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	f.server.set(func() { f.server.errs["Stats"] = backend.ErrUnavailable })
	require.ErrorIs(t, f.look(t.Context(), time.Now()), backend.ErrUnavailable)
	f.server.set(func() { delete(f.server.errs, "Stats") })
	second, err := f.find("t")
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
}

// A topic made again is another one, even though Iggy gives it the same number.
func TestTopicsMadeAgainByIggyClients(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	first := f.create("t", 1)
	p, err := f.partition(t.Context(), backend.Partition{Topic: first.ID})
	require.NoError(t, err)
	require.NoError(t, f.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p.id, CommittedOffset: backend.CommittedOffset{Offset: 7}}}))
	f.sawEnd(p, 9)
	f.lastEnds()
	require.NoError(t, f.server.DeleteTopic(t.Context(), p.at))
	f.server.native(t, "kafka", "t", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	second, err := f.find("t")
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	require.Nil(t, f.topicOf(p))
	_, err = f.TopicByID(t.Context(), first.ID)
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
	groups, err := f.OffsetGroups(t.Context())
	require.NoError(t, err)
	require.Empty(t, groups)
	require.Zero(t, f.ledger.keys(keyOffset)+f.ledger.keys(keyEnd), "nothing is left of the first one")
	require.Equal(t, 1, f.ledger.keys(keyTopic))
}

// What is done with Iggy's own tools is noticed.
func TestTopicsOfIggyClients(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) {
		f.server.native(t, "kafka", "weekly", 3, 7*24*iggcon.Hour, unlimited)
		f.server.native(t, "kafka", "forever", 2, iggcon.IggyExpiryNeverExpire, 4<<30)
		f.server.native(t, "kafka", "no/topic", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	})
	all, err := f.AllTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, map[string]string{"retention.ms": "-1", "retention.bytes": "2147483648"}, all[0].Overrides)
	require.EqualValues(t, -1, all[0].Config.RetentionMs)
	require.Empty(t, all[1].Overrides, "that is the default of Kafka too")
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1, "said once")
	require.Contains(t, messages(f.logs, zapcore.WarnLevel)[0], "no/topic")

	at := client.Topic{Stream: "kafka", Name: "weekly"}
	require.NoError(t, f.server.AddPartitions(t.Context(), at, 2))
	require.NoError(t, f.server.UpdateTopic(t.Context(), at, iggcon.Hour, unlimited))
	got, err := f.find("weekly")
	require.NoError(t, err)
	require.EqualValues(t, 5, got.Partitions)
	require.Equal(t, map[string]string{"retention.ms": "3600000"}, got.Overrides)
	require.NoError(t, f.server.DeleteTopic(t.Context(), at))
	_, err = f.find("weekly")
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1, "still once")
}

// A partition that native tools have added is found by who asks for it.
func TestPartitionsOfIggyClients(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	require.NoError(t, f.server.AddPartitions(t.Context(), client.Topic{Stream: "kafka", Name: "t"}, 1))
	require.Eventually(t, func() bool {
		_, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID, Index: 1})
		return err == nil
	}, time.Minute, time.Millisecond)
	_, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID, Index: -1})
	require.ErrorIs(t, err, backend.ErrUnknownPartition)
}

// A forgotten topic is looked up before it is given out again.
func TestForget(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	p, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID})
	require.NoError(t, err)
	require.NoError(t, f.server.DeleteTopic(t.Context(), p.at))
	f.forget(p)
	_, err = f.partition(t.Context(), p.id)
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
}

// While Iggy is away, what is known stays known and what is not is not denied.
func TestTopicsWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	f.server.set(func() { f.server.err = backend.ErrUnavailable })
	f.age()
	require.ErrorIs(t, f.look(t.Context(), time.Now()), backend.ErrUnavailable)
	got, err := f.Topic(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, topic, got)
	_, err = f.partition(t.Context(), backend.Partition{Topic: topic.ID})
	require.NoError(t, err)
	_, err = f.Topic(t.Context(), "other")
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = f.TopicByID(t.Context(), uuid.New())
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = f.CreateTopic(t.Context(), backend.NewTopic{Name: "u", Partitions: 1})
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, f.DeleteTopic(t.Context(), topic.ID), backend.ErrUnavailable)
	f.server.set(func() { f.server.err = nil })
	require.Eventually(t, func() bool {
		_, err := f.Topic(t.Context(), "other")
		return errors.Is(err, backend.ErrUnknownTopic)
	}, time.Minute, time.Millisecond)
}

// A silent server holds nobody who asks for what is known, and nobody beyond his
// context.
func TestTopicsWhileIggyIsSilent(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	silent := make(chan struct{})
	f.server.set(func() { f.server.silent = silent })
	f.age()
	defer close(silent)
	f.forget(&partition{id: backend.Partition{Topic: topic.ID}})
	_, err := f.Topic(t.Context(), "t")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = f.Topic(ctx, "other")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, f.GrowTopic(ctx, topic.ID, 2), context.DeadlineExceeded)
}

// Clients that keep asking for a topic that is not there cost the server little.
func TestMissingTopicsAreNotAskedForEveryTime(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	before := f.server.count("Topics")
	began := time.Now()
	for range 1000 {
		_, err := f.Topic(t.Context(), "missing")
		require.ErrorIs(t, err, backend.ErrUnknownTopic)
	}
	require.LessOrEqual(t, f.server.count("Topics")-before, 2+int(time.Since(began)/absent))
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) {
		for i := range maxTopics - 1 {
			f.server.native(t, "kafka", fmt.Sprint("hidden ", i), 0, iggcon.IggyExpiryNeverExpire, unlimited)
		}
	})
	f.create("last", 1)
	_, err := f.CreateTopic(t.Context(), backend.NewTopic{Name: "more", Partitions: 1})
	require.ErrorIs(t, err, backend.ErrTooManyTopics)
	require.ErrorContains(t, err, "stream kafka has 4096 topics")
}

func TestRetentionIsIggys(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	const day = 24 * iggcon.Hour
	for i, one := range []struct {
		configs []string
		want    settings
	}{
		{nil, settings{7 * day, unlimited}},
		{[]string{"retention.ms", "-1"}, settings{iggcon.IggyExpiryNeverExpire, unlimited}},
		{[]string{"retention.ms", "1000", "retention.bytes", "1073741824"}, settings{iggcon.Second, 3 << 30}},
		{[]string{"retention.ms", "0"}, settings{1, unlimited}},
		{[]string{"retention.ms", fmt.Sprint(int64(math.MaxInt64))}, settings{iggcon.IggyExpiryNeverExpire, unlimited}},
		{[]string{"retention.bytes", fmt.Sprint(int64(math.MaxInt64))}, settings{7 * day, unlimited}},
		{[]string{"retention.bytes", "100"}, settings{7 * day, 300}},
		{[]string{"retention.bytes", "0"}, settings{7 * day, 1}},
		{[]string{"cleanup.policy", "", "retention.ms", "5"}, settings{iggcon.IggyExpiryNeverExpire, unlimited}},
	} {
		name := fmt.Sprint("t", i)
		topic := f.create(name, 3, one.configs...)
		require.Equal(t, one.want, f.settings(name), one.configs)
		require.Len(t, topic.Overrides, len(one.configs)/2)
		f.server.restart()
		again, err := f.find(name)
		require.NoError(t, err)
		require.Equal(t, topic, again)
	}
	topic, err := f.find("t2")
	require.NoError(t, err)
	require.NoError(t, f.GrowTopic(t.Context(), topic.ID, 4))
	require.Equal(t, settings{iggcon.Second, 4 << 30}, f.settings("t2"))
	require.NoError(t, f.AlterTopic(t.Context(), topic.ID, func(map[string]string) (map[string]string, error) {
		return map[string]string{"retention.bytes": "2147483648", "max.message.bytes": "5"}, nil
	}))
	require.Equal(t, settings{7 * day, 8 << 30}, f.settings("t2"))
	f.restart()
	topic, err = f.find("t2")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"retention.bytes": "2147483648", "max.message.bytes": "5"}, topic.Overrides)
}

// Iggy cannot compact. What an earlier release accepted can be changed in all else,
// and be given up.
func TestCompactionIsRefused(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var refused *backend.ConfigError
	for _, policy := range []string{"compact", "compact,delete", " delete , compact"} {
		_, err := f.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1, Overrides: map[string]string{"cleanup.policy": policy}})
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "cleanup.policy", refused.Name)
		require.Contains(t, refused.Reason, "cannot compact")
		_, err = f.find("t")
		require.ErrorIs(t, err, backend.ErrUnknownTopic)
	}
	require.Zero(t, f.ledger.keys(keyPending), "nothing is left")
	topic := f.create("t", 1)
	alter := func(configs map[string]string) error {
		return f.AlterTopic(t.Context(), topic.ID, func(map[string]string) (map[string]string, error) { return configs, nil })
	}
	require.ErrorAs(t, alter(map[string]string{"cleanup.policy": "compact", "retention.ms": "5"}), &refused)
	now, err := f.find("t")
	require.NoError(t, err)
	require.Empty(t, now.Overrides)

	old := map[string]string{"cleanup.policy": "compact"}
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	require.NoError(t, refuseCompaction(catalog, old, map[string]string{"cleanup.policy": "compact", "max.message.bytes": "5"}))
	require.NoError(t, refuseCompaction(catalog, old, map[string]string{}))
	require.Error(t, refuseCompaction(catalog, old, map[string]string{"cleanup.policy": "compact,delete"}))
}

// A server that checks sizes in updates too refuses what is below a segment.
func TestSizesBelowASegment(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) { f.server.strict = true })
	_, err := f.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1, Overrides: map[string]string{"retention.bytes": "100"}})
	var refused *backend.ConfigError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "retention.bytes", refused.Name)
	_, err = f.find("t")
	require.ErrorIs(t, err, backend.ErrUnknownTopic, "nothing is left")
	require.Zero(t, f.ledger.keys(keyPending))
	topic := f.create("t", 1)
	err = f.AlterTopic(t.Context(), topic.ID, func(map[string]string) (map[string]string, error) {
		return map[string]string{"retention.bytes": "100"}, nil
	})
	require.ErrorAs(t, err, &refused)
}

// The gateway ends in the middle of CreateTopic: the topic has its configs.
func TestCreateTopicIsCutShort(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.ledger.before = func(changes []journal.Change) {
		if len(changes) > 1 { // the entry
			f.ledger.fail(backend.ErrUnavailable)
		}
	}
	_, err := f.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1, Overrides: map[string]string{"max.message.bytes": "5"}})
	require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
	require.ErrorIs(t, f.look(t.Context(), time.Now()), backend.ErrUnavailable, "a topic without an entry is not given out")
	require.Zero(t, f.catalog.size())
	f.ledger.before = nil
	f.ledger.fail(nil)
	f.server.restart()
	f.restart()
	topic, err := f.Topic(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"max.message.bytes": "5"}, topic.Overrides)
	require.Zero(t, f.ledger.keys(keyPending))
}

// And in the middle of DeleteTopic: the next start removes what is left.
func TestDeleteTopicIsCutShort(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1, "max.message.bytes", "5")
	p := backend.Partition{Topic: topic.ID}
	require.NoError(t, f.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p}}))
	f.ledger.fail(backend.ErrUnavailable)
	require.NoError(t, f.DeleteTopic(t.Context(), topic.ID))
	offsets, err := f.FetchOffsets(t.Context(), "g", nil)
	require.NoError(t, err)
	require.Empty(t, offsets)
	f.ledger.fail(nil)
	f.restart()
	require.Zero(t, f.ledger.keys(keyOffset)+f.ledger.keys(keyConfigs)+f.ledger.keys(keyTopic))
}

func TestTopicMap(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) {
		f.cfg.TopicMap = "orders = sales/orders 2024 , old=kafka/new"
		f.server.native(t, "sales", "orders 2024", 2, iggcon.IggyExpiryNeverExpire, unlimited)
		f.server.native(t, "sales", "not mapped", 2, iggcon.IggyExpiryNeverExpire, unlimited)
		f.server.native(t, "kafka", "new", 1, iggcon.IggyExpiryNeverExpire, unlimited)
		f.server.native(t, "kafka", "old", 1, iggcon.IggyExpiryNeverExpire, unlimited)
	})
	all, err := f.AllTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "old", all[0].Name)
	require.Equal(t, "orders", all[1].Name)
	p, err := f.partition(t.Context(), backend.Partition{Topic: all[1].ID, Index: 1})
	require.NoError(t, err)
	require.Equal(t, client.Topic{Stream: "sales", Name: "orders 2024"}, p.at)
	// What lies in a stream that is not looked at is kept.
	require.NoError(t, f.CommitOffsets(t.Context(), "g", []backend.Commit{{Partition: p.id}}))
	f.cfg.TopicMap = ""
	f.restart()
	require.Equal(t, 1, f.ledger.keys(keyOffset))
	f.cfg.TopicMap = "orders=sales/orders 2024"
	f.restart()
	offsets, err := f.FetchOffsets(t.Context(), "g", nil)
	require.NoError(t, err)
	require.Len(t, offsets, 1)
}
