package main

import (
	"bufio"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// inIggy are the flags of a gateway over an Iggy server.
func inIggy(server iggytest.Server, args ...string) []string {
	return append([]string{
		"--listen=127.0.0.1:0", "--storage.backend=iggy", "--iggy.address", server.Address(),
		"--iggy.username", iggytest.Username, "--iggy.password", iggytest.Password,
	}, args...)
}

// One that waits for Iggy says so, and can be ended.
func TestIggyIsAway(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, taken.Close())
	p := launchWith(t, "--listen=127.0.0.1:0", "--storage.backend=iggy", "--iggy.address", taken.Addr().String())
	line, err := p.log.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "waiting for the Iggy server")
	require.Contains(t, line, taken.Addr().String())
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	line, err = p.log.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "kafka-gateway: ended by a signal (terminated) before it was ready\n", line)
	require.Equal(t, 1, p.end(t))
}

// logged is a process whose log is read while it runs.
type logged struct {
	*process
	log *bufio.Reader
}

func launchWith(t *testing.T, args ...string) logged {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close() })
	p := prepare(t, "gateway", args...)
	p.Stderr = write
	p.begin(t)
	require.NoError(t, write.Close())
	return logged{p, bufio.NewReader(read)}
}

func TestIggyRefusesTheLogin(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		text := failure(t, inIggy(start(t, iggytest.NoFsync()), "--iggy.password=hunter2")...)
		require.Contains(t, text, "iggy.username")
		require.NotContains(t, text, "hunter2")
	})
}

// The internal stream belongs to one gateway, and the second is told to whom.
func TestIggyBelongsToAnother(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		server := start(t, iggytest.NoFsync())
		first := launch(t, "gateway", inIggy(server)...)
		c := client(t, first.address(t), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("greetings"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "greetings", Value: []byte("hello")}).FirstErr())
		require.NoError(t, c.PollFetches(t.Context()).Err())
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))

		require.Contains(t, failure(t, inIggy(server)...), "is owned by another gateway")
		refused := failure(t, append([]string{"offsets", "export"}, inIggy(server)...)...)
		require.Contains(t, refused, "is owned by another gateway")
		require.Contains(t, refused, "offsets are exported and imported while no gateway runs")
		c.CloseAllowingRebalance()
		require.NoError(t, first.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 0, first.end(t), first.err.String())

		export := launch(t, "gateway", append([]string{"offsets", "export"}, inIggy(server)...)...)
		text, err := export.out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, 0, export.end(t), export.err.String())
		require.True(t, strings.HasPrefix(text, `{"group":"billing","topic":"greetings","partition":0,"offset":1,`), text)
	})
}
