package backendtest

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func createTopics(h *harness) {
	ctx := h.Context()
	all, err := h.Backend.AllTopics(ctx)
	require.NoError(h, err)
	require.Empty(h, all)
	var made []backend.Topic
	for _, name := range []string{"b", "a", "c.d_e-f"} {
		topic := h.create(name, 3, "retention.ms", "1000")
		require.Equal(h, name, topic.Name)
		require.NotEqual(h, uuid.Nil, topic.ID)
		require.EqualValues(h, 3, topic.Partitions)
		require.Equal(h, map[string]string{"retention.ms": "1000"}, topic.Overrides)
		require.EqualValues(h, 1000, topic.Config.RetentionMs)
		made = append(made, topic)
	}
	all, err = h.Backend.AllTopics(ctx)
	require.NoError(h, err)
	require.Equal(h, []backend.Topic{made[1], made[0], made[2]}, all, "sorted by name")
	got, err := h.Backend.Topic(ctx, "a")
	require.NoError(h, err)
	require.Equal(h, made[1], got)
	got, err = h.Backend.TopicByID(ctx, made[0].ID)
	require.NoError(h, err)
	require.Equal(h, made[0], got)

	_, err = h.Backend.Topic(ctx, "nobody")
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	_, err = h.Backend.TopicByID(ctx, uuid.New())
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	_, err = h.Backend.TopicByID(ctx, uuid.Nil)
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	_, err = h.Backend.CreateTopic(ctx, backend.NewTopic{Name: "a", Partitions: 1})
	require.ErrorIs(h, err, backend.ErrTopicExists)
}

func topicConfigs(h *harness) {
	plain := h.create("plain", 1)
	require.Empty(h, plain.Overrides)
	require.True(h, plain.Config.Delete)
	require.False(h, plain.Config.Compact)
	require.EqualValues(h, 604800000, plain.Config.RetentionMs)
	require.EqualValues(h, -1, plain.Config.RetentionBytes)
	require.EqualValues(h, 1048588, plain.Config.MaxMessageBytes)

	set := h.create("set", 1, "max.message.bytes", "2000")
	require.EqualValues(h, 2000, set.Config.MaxMessageBytes)
}

func growTopics(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	first := backend.Partition{Topic: topic.ID}
	h.store(first, recordtest.Values("kept"))
	for _, total := range []int32{-1, 0, 1, 2} {
		require.ErrorIs(h, h.Backend.GrowTopic(ctx, topic.ID, total), backend.ErrPartitionCount)
	}
	require.ErrorIs(h, h.Backend.GrowTopic(ctx, uuid.New(), 5), backend.ErrUnknownTopic)
	require.NoError(h, h.Backend.GrowTopic(ctx, topic.ID, 4))
	got, err := h.Backend.Topic(ctx, "t")
	require.NoError(h, err)
	require.EqualValues(h, 4, got.Partitions)
	require.Equal(h, topic.ID, got.ID)
	require.EqualValues(h, 0, h.store(backend.Partition{Topic: topic.ID, Index: 3}, recordtest.Values("new")))
	require.Equal(h, []string{"kept"}, values(h.readAll(first)))
}

func alterTopics(h *harness) {
	ctx := h.Context()
	topic := h.create("t", 1, "retention.ms", "0", "max.message.bytes", "2000")
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			err := h.Backend.AlterTopic(ctx, topic.ID, func(present map[string]string) (map[string]string, error) {
				n, err := strconv.Atoi(present["retention.ms"])
				next := maps.Clone(present)
				next["retention.ms"] = fmt.Sprint(n + 1)
				return next, err
			})
			if err != nil {
				h.Error(err)
			}
		})
	}
	work.Wait()
	got, err := h.Backend.Topic(ctx, "t")
	require.NoError(h, err)
	require.Equal(h, map[string]string{"retention.ms": "8", "max.message.bytes": "2000"}, got.Overrides)
	require.EqualValues(h, 8, got.Config.RetentionMs)

	refused := errors.New("refused")
	err = h.Backend.AlterTopic(ctx, topic.ID, func(map[string]string) (map[string]string, error) { return nil, refused })
	require.Equal(h, refused, err, "the error of the change is returned as it is")
	err = h.Backend.AlterTopic(ctx, topic.ID, func(map[string]string) (map[string]string, error) { return nil, nil })
	require.NoError(h, err)
	got, err = h.Backend.Topic(ctx, "t")
	require.NoError(h, err)
	require.Empty(h, got.Overrides)
	require.EqualValues(h, 604800000, got.Config.RetentionMs)
	err = h.Backend.AlterTopic(ctx, uuid.New(), func(map[string]string) (map[string]string, error) { return nil, nil })
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
}

func deleteTopics(h *harness) {
	ctx, topic := h.Context(), h.create("t", 1)
	p := backend.Partition{Topic: topic.ID}
	h.store(p, recordtest.Values("gone"))
	require.NoError(h, h.Backend.DeleteTopic(ctx, topic.ID))
	require.ErrorIs(h, h.Backend.DeleteTopic(ctx, topic.ID), backend.ErrUnknownTopic)
	_, err := h.Backend.Topic(ctx, "t")
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	_, err = h.Backend.Bounds(ctx, p)
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	_, _, err = h.Backend.Read(ctx, backend.Read{Partition: p, MaxBytes: 100})
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
	require.ErrorIs(h, h.append(p, recordtest.Values("late")).Err, backend.ErrUnknownTopic)
	all, err := h.Backend.AllTopics(ctx)
	require.NoError(h, err)
	require.Empty(h, all)

	again := h.create("t", 1)
	require.NotEqual(h, topic.ID, again.ID, "a topic made again is another topic")
	require.Equal(h, backend.Bounds{}, h.bounds(backend.Partition{Topic: again.ID}))
	require.EqualValues(h, 0, h.store(backend.Partition{Topic: again.ID}, recordtest.Values("new")))
}
