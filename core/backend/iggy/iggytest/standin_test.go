package iggytest_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestStandInLives(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	for _, end := range []func(){server.Kill, server.Stop} {
		conn := login(t, server.Address())
		end()
		_, err := io.ReadAll(conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		server.Start()
	}
	login(t, server.Address())
}

func TestStandInPause(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	conn := login(t, server.Address())
	server.Pause()
	_, err := conn.Write(wiretest.Frame(wiretest.Ping, nil))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, _, err = conn.Reply()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	waiting := dial(t, server.Address())
	server.Resume()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(wait)))
	status, _, err := conn.Reply()
	require.NoError(t, err)
	require.Zero(t, status)
	_, _, err = waiting.Call(wiretest.Ping, nil)
	require.NoError(t, err)
	server.Pause() // an end while it is paused
}
