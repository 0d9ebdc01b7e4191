package iggytest_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

const (
	wait = 20 * time.Second
	poll = 5 * time.Millisecond
)

func dial(t *testing.T, address string) *wiretest.Conn {
	t.Helper()
	conn, err := wiretest.Dial(address, nil, wait)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func login(t *testing.T, address string) *wiretest.Conn {
	t.Helper()
	conn := dial(t, address)
	status, err := conn.Login(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	require.Zero(t, status)
	return conn
}

func TestRealLives(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t)
	for _, end := range []func(){server.Kill, server.Stop} {
		conn := login(t, server.Address())
		end()
		require.Zero(t, server.Pid())
		_, err := io.ReadAll(conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = net.Dial("tcp", server.Address())
		require.Error(t, err, "the port stays ours and closed")
		server.Start()
	}
	login(t, server.Address())
}

func TestRealPause(t *testing.T) {
	t.Parallel()
	paused(t, iggytest.Real(t, iggytest.NoFsync()))
}

// paused looks at a server that is paused: it is silent, takes connections, and
// answers everything when it goes on.
func paused(t *testing.T, server iggytest.Server) {
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

func TestSharedIsOne(t *testing.T) {
	t.Parallel()
	a, b := iggytest.Shared(t), iggytest.Shared(t)
	require.Equal(t, a.Address(), b.Address())
	require.NotEqual(t, a.Stream(), b.Stream())
	login(t, a.Address())
}
