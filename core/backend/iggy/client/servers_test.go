package client

import (
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

func TestSendAndPoll(t *testing.T) { each(t, sendAndPoll) }

func sendAndPoll(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	topic := topicWith(t, c, 2)
	require.NoError(t, c.Send(t.Context(), topic, 1, messages(3)))
	got, err := c.Poll(t.Context(), topic, 1, iggcon.OffsetPollingStrategy(0), 10)
	require.NoError(t, err)
	require.Len(t, got.Messages, 3)
	require.Equal(t, uint64(2), got.Current)
	require.Equal(t, "2", string(got.Messages[2].Payload))

	_, err = c.Poll(t.Context(), Topic{topic.Stream, "none"}, 0, iggcon.OffsetPollingStrategy(0), 10)
	require.Equal(t, ierror.TopicIdNotFoundCode, Code(err))
	err = c.Send(t.Context(), topic, 7, messages(1))
	require.Equal(t, ierror.PartitionNotFoundCode, Code(err))
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.NotZero(t, stats.ProcessId)
}

func TestTopics(t *testing.T) { each(t, topics, iggytest.NoFsync()) }

func topics(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	topic := topicWith(t, c, 1)
	many := Topic{topic.Stream, "many"}
	made, err := c.CreateTopic(t.Context(), many, TopicSettings{Partitions: 600, Expiry: 7 * iggcon.Hour})
	require.NoError(t, err)
	require.Len(t, made.Partitions, 600)
	require.NoError(t, c.AddPartitions(t.Context(), many, 350))
	require.NoError(t, c.UpdateTopic(t.Context(), many, 9*iggcon.Hour, 1<<40))
	made, err = c.Topic(t.Context(), many)
	require.NoError(t, err)
	require.EqualValues(t, 950, made.PartitionsCount)
	require.Equal(t, 9*iggcon.Hour, made.MessageExpiry)
	require.EqualValues(t, 1<<40, made.MaxTopicSize)

	listed, err := c.Topics(t.Context(), topic.Stream)
	require.NoError(t, err)
	require.Len(t, listed, 2)
	_, err = c.CreateTopic(t.Context(), many, TopicSettings{Partitions: 1})
	require.Equal(t, ierror.TopicNameAlreadyExistsCode, Code(err))
	require.NoError(t, c.DeleteTopic(t.Context(), many))
	_, err = c.Topic(t.Context(), many)
	require.Equal(t, ierror.TopicIdNotFoundCode, Code(err))
}

func TestConnectionsAreListed(t *testing.T) { each(t, connectionsAreListed) }

func connectionsAreListed(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	require.Eventually(t, func() bool { return len(c.Locals()) == 10 }, soon, tick)
	listed, err := c.Clients(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, listed, c.Locals())
}
