package standintest_test

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// TestPausedRequest is executed when the server goes on, whether or not its
// client is still there.
func TestPausedRequest(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	s.Pause()
	_, err := c.Write(wiretest.Frame(wiretest.SendMessages, sending("t", "a")))
	require.NoError(t, err)
	silent(t, c)
	require.NoError(t, c.Close())
	s.Resume()
	require.Eventually(t, func() bool { return stored(t, s) == 1 }, wait, tick)
}

// TestPauseIsSharp has nothing executed after Pause has returned.
func TestPauseIsSharp(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	var sender sync.WaitGroup
	var sent int
	sender.Go(func() {
		for {
			if _, _, err := c.Call(wiretest.SendMessages, sending("t", "a")); err != nil {
				return
			}
			sent++
		}
	})
	for range 20 {
		s.Pause()
		time.Sleep(tick) // a stretch of silence, not a wait
		s.Resume()
	}
	s.Kill()
	sender.Wait()
	require.NoError(t, s.Start())
	require.NoError(t, s.Lose("s", "t", 0, 0))
	c = login(t, s)
	polled := wiretest.ParsePolled(call(t, c, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, wiretest.ByOffset, 1<<63, 1)))
	require.InDelta(t, sent, float64(polled.Current+1), 1, "at most one was executed and not answered")
}

func TestLoseOnKill(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{LoseOnKill: 2})
	for range 5 {
		call(t, c, wiretest.SendMessages, sending("t", "a"))
	}
	s.Stop()
	require.NoError(t, s.Start())
	require.Equal(t, 5, stored(t, s), "an orderly end loses nothing")
	s.Kill()
	require.NoError(t, s.Start())
	require.Equal(t, 3, stored(t, s))
	require.NoError(t, s.Lose("s", "t", 0, 1))
	require.Equal(t, 2, stored(t, s))
	require.Error(t, s.Lose("s", "x", 0, 1))
	require.Error(t, s.Lose("s", "t", 1, 1))
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	for range 3 {
		call(t, c, wiretest.SendMessages, sending("t", "a"))
	}
	const checksum = 4027
	require.NoError(t, s.Unreadable("s", "t", 0, 1, checksum))
	for from, want := range []uint32{checksum, checksum, 0} {
		status, _, err := c.Call(wiretest.PollMessages, wiretest.PollBody("s", "t", 0, wiretest.ByOffset, uint64(from), 2))
		require.NoError(t, err)
		require.Equal(t, want, status)
	}
}

// TestStopWhileBusy says nothing to a client that waits for an answer.
func TestStopWhileBusy(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	f := s.Inject(standintest.Fault{Code: wiretest.Ping, Kind: standintest.SilentBefore})
	_, err := c.Write(wiretest.Frame(wiretest.Ping, nil))
	require.NoError(t, err)
	<-f.Struck()
	s.Stop()
	heard, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, heard)
}

func TestMany(t *testing.T) {
	t.Parallel()
	s := start(t, standintest.Options{})
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for range 20 {
				c, err := wiretest.Dial(s.Address(), nil, wait)
				if err != nil {
					continue // between two lives
				}
				_, _ = c.Login("user", "password")
				_ = c.Close()
			}
		})
	}
	for range 10 {
		s.Kill()
		require.NoError(t, s.Start())
	}
	clients.Wait()
	require.Error(t, s.Start(), "it runs already")
}
