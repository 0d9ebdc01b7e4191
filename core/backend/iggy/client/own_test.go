package client

import (
	"bytes"
	"net"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"
)

// A stream with a connection of its own does not wait behind what all the others
// wait for: the journal goes on while clients write to thousands of new partitions.
func TestOwn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newFake(t, func(_ *fake, _ net.Conn, code uint32, body []byte) (bool, bool) {
		if (code == cmdSend || code == cmdPoll) && !bytes.Contains(body, []byte("journal")) {
			<-release
		}
		return false, true
	})
	cfg := configFor(f.address())
	cfg.Connections = Connections{Send: 1, Poll: 1, Admin: 1}
	c, err := New(cfg, Options{Log: zaptest.NewLogger(t), Own: "journal"})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(c.Close)

	const waiting = 20
	done := make(chan error, 2*waiting)
	for range waiting {
		go func() { done <- c.Send(t.Context(), anywhere, 0, messages(1)) }()
		go func() {
			_, err := c.Poll(t.Context(), anywhere, 0, iggcon.FirstPollingStrategy(), 1)
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return f.count(cmdSend) == 1 && f.count(cmdPoll) == 1 }, soon, tick)
	mine := Topic{Stream: "journal", Name: "topic"}
	require.NoError(t, c.Send(t.Context(), mine, 0, messages(1)))
	_, err = c.Poll(t.Context(), mine, 0, iggcon.FirstPollingStrategy(), 1)
	require.NoError(t, err)
	require.Equal(t, 2, f.count(cmdSend))
	close(release)
	for range 2 * waiting {
		require.NoError(t, <-done)
	}
}
