package client

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
)

// While the server makes or deletes partitions, which keeps it from everything else,
// other requests wait as long as that one may, and no connection is given up.
func TestOthersWaitForLongRequests(t *testing.T) {
	t.Parallel()
	begun, release, never := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(never)
	var silent atomic.Bool
	f := newFake(t, func(_ *fake, _ net.Conn, code uint32, _ []byte) (bool, bool) {
		switch code {
		case cmdDeleteTopic:
			close(begun)
			<-release
		case cmdPoll:
			<-release
			if silent.Load() {
				<-never
			}
		}
		return false, true
	})
	cfg := impatient(f.address())
	c := start(t, cfg)
	deleted, polled := make(chan error, 1), make(chan error, 1)
	const partitions = 1000
	stream, topic, err := anywhere.ids()
	require.NoError(t, err)
	go func() {
		deleted <- c.change(t.Context(), partitions, opDeleteTopic, func(sdk iggcon.Client) error { return sdk.DeleteTopic(stream, topic) })
	}()
	<-begun
	go func() { polled <- pollOnce(t, c) }()
	select {
	case err := <-polled:
		t.Fatalf("given up: %v", err)
	case <-time.After(3 * cfg.RequestTimeout): // it is the time that is tested
	}
	require.True(t, c.Up())
	close(release)
	require.NoError(t, <-deleted)
	require.NoError(t, <-polled)
	require.Zero(t, value(t, c.metrics.timeouts))
	require.Zero(t, redials(t, c))

	// Afterwards silence counts as before.
	silent.Store(true)
	require.ErrorIs(t, pollOnce(t, c), errDeadline)
}
