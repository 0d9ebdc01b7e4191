package iggytest_test

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
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
	paused(t, iggytest.StandIn(t))
}
