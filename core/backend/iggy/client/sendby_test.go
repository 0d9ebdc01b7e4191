package client

import (
	"errors"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// What is to go by one connection goes by no other.
func TestSendBy(t *testing.T) {
	each(t, func(t *testing.T, server iggytest.Server) {
		c := start(t, configFor(server.Address()))
		topic := topicWith(t, c, 1)
		by, err := c.SendBy(t.Context(), 0, topic, 0, messages(1))
		require.NoError(t, err)
		require.NotZero(t, by)
		for range 3 {
			again, err := c.SendBy(t.Context(), by, topic, 0, messages(1))
			require.NoError(t, err)
			require.Equal(t, by, again)
		}
		c.Kill()
		require.Eventually(t, func() bool {
			_, err = c.SendBy(t.Context(), by, topic, 0, messages(1))
			require.ErrorIs(t, err, backend.ErrUnavailable, "never by another one")
			return c.Up()
		}, soon, tick)
		require.Eventually(t, func() bool {
			_, err = c.SendBy(t.Context(), by, topic, 0, messages(1))
			require.Error(t, err)
			return errors.Is(err, ErrOtherConnection)
		}, soon, tick)
		other, err := c.SendBy(t.Context(), 0, topic, 0, messages(1))
		require.NoError(t, err)
		require.Greater(t, other, by)
		got, err := c.Poll(t.Context(), topic, 0, iggcon.FirstPollingStrategy(), 100)
		require.NoError(t, err)
		require.Len(t, got.Messages, 5)
	}, iggytest.NoFsync())
}
