package client

import (
	"context"
	"io"
	"log"
	"strconv"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

const (
	// soon is longer than anything that is waited for takes.
	soon = 20 * time.Second
	tick = 2 * time.Millisecond
)

// quiet keeps the SDK's lines out of the tests' output.
func quiet() { log.SetOutput(io.Discard) }

// configFor is a configuration for a test's server.
func configFor(address string) Config {
	cfg := DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = address, iggytest.Username, iggytest.Password
	return cfg
}

// start makes a client that is closed with the test.
func start(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg, Options{Log: zaptest.NewLogger(t)})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	require.NoError(t, c.Start(ctx))
	t.Cleanup(c.Close)
	return c
}

// messages are n messages whose payloads are their numbers.
func messages(n int) []iggcon.IggyMessage {
	out := make([]iggcon.IggyMessage, n)
	for i := range out {
		out[i] = message([]byte(strconv.Itoa(i)))
	}
	return out
}

func message(payload []byte) iggcon.IggyMessage {
	return iggcon.IggyMessage{Header: iggcon.NewMessageHeader(iggcon.MessageID{}, uint32(len(payload)), 0), Payload: payload}
}

// topicWith makes a topic in a stream of its own.
func topicWith(t *testing.T, c *Client, partitions uint32) Topic {
	t.Helper()
	topic := Topic{Stream: iggytest.UniqueStream(t), Name: "topic"}
	_, err := c.EnsureStream(t.Context(), topic.Stream)
	require.NoError(t, err)
	_, err = c.CreateTopic(t.Context(), topic, TopicSettings{Partitions: partitions, Expiry: iggcon.IggyExpiryNeverExpire})
	require.NoError(t, err)
	return topic
}

// each runs a test with the stand-in and with the real server.
func each(t *testing.T, test func(*testing.T, iggytest.Server), opts ...iggytest.Option) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		test(t, start(t, opts...))
	})
}
