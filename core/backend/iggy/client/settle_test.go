package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
)

// observed starts a client and returns its log.
func observed(t *testing.T, cfg Config) (*Client, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.WarnLevel)
	c, err := New(cfg, Options{Log: zap.New(core)})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(c.Close)
	return c, logs
}

// A user who may not list clients gets a fixed wait, and is told once.
func TestSettleBlind(t *testing.T) {
	t.Parallel()
	c, logs := observed(t, impatient(newFake(t, on(cmdClients, reply(41, nil), true)).address()))
	began := time.Now()
	for range 2 {
		require.NoError(t, c.Settle(t.Context(), &Lost{connection: "10.0.0.1:1"}))
	}
	require.GreaterOrEqual(t, time.Since(began), 2*settleBlind)
	require.Equal(t, 1, logs.Len())
	require.Contains(t, logs.All()[0].Message, "read_servers")
}

// A server that lists a connection for good has lost track of it.
func TestSettleListedForGood(t *testing.T) {
	t.Parallel()
	c, logs := observed(t, impatient(newFake(t, on(cmdClients, reply(0, entry("10.0.0.1:1")), true)).address()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Settle(ctx, &Lost{connection: "10.0.0.1:1"}), context.DeadlineExceeded)
	require.NoError(t, c.Settle(t.Context(), &Lost{connection: "10.0.0.1:1"}))
	require.Equal(t, 1, logs.Len())
	began := time.Now()
	require.NoError(t, c.Settle(t.Context(), &Lost{connection: "10.0.0.1:2"}))
	require.Less(t, time.Since(began), settleBlind)
}

// Settle waits for a server that is away.
func TestSettleWaits(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	f := newFake(t, func(*fake, net.Conn, uint32, []byte) (bool, bool) { return away.Load(), !away.Load() })
	c := start(t, impatient(f.address()))
	away.Store(true)
	f.cut()
	require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
	settled := make(chan error, 1)
	go func() { settled <- c.Settle(t.Context(), &Lost{}) }()
	require.Eventually(t, func() bool { return redials(t, c) > 10 }, soon, tick)
	require.Empty(t, settled)
	away.Store(false)
	require.NoError(t, <-settled)
}

const cmdCreateTopic, cmdDeleteTopic, cmdPartitions, cmdTopic = 302, 303, 402, 300

// described answers for a topic with so many partitions.
func described(partitions *atomic.Uint32) []byte {
	b := make([]byte, 51)
	b[12], b[13] = byte(partitions.Load()), byte(partitions.Load()>>8)
	return b
}

// growing is a server whose topic gets the partitions that it is asked for, until
// broken is called for more.
func growing(partitions *atomic.Uint32, deleted *atomic.Bool, broken handler) handler {
	return func(f *fake, conn net.Conn, code uint32, body []byte) (bool, bool) {
		switch code {
		case cmdCreateTopic, cmdTopic:
			if code == cmdCreateTopic {
				partitions.Store(maxPartitions)
			}
			answer(conn, 0, described(partitions))
		case cmdPartitions:
			if handled, keep := broken(f, conn, code, body); handled {
				return true, keep
			}
			partitions.Add(maxPartitions)
			answer(conn, 0, nil)
		case cmdDeleteTopic:
			deleted.Store(true)
			answer(conn, 0, nil)
		default:
			return false, true
		}
		return true, true
	}
}

// A topic that cannot get all of its partitions is deleted again.
func TestCreateTopicCleansUp(t *testing.T) {
	t.Parallel()
	var partitions atomic.Uint32
	var deleted atomic.Bool
	full := on(cmdPartitions, reply(uint32(ierror.CannotCreatePartitionCode), nil), true)
	c := start(t, impatient(newFake(t, growing(&partitions, &deleted, full)).address()))
	_, err := c.CreateTopic(t.Context(), anywhere, TopicSettings{Partitions: 3 * maxPartitions, Expiry: iggcon.IggyExpiryNeverExpire})
	require.Equal(t, ierror.CannotCreatePartitionCode, Code(err))
	require.True(t, deleted.Load())
}

// Partitions that are lost on the way are counted, not made twice.
func TestCreateTopicGoesOnAfterALoss(t *testing.T) {
	t.Parallel()
	var partitions atomic.Uint32
	var deleted atomic.Bool
	lose := once(func(_ *fake, _ net.Conn, code uint32, _ []byte) (bool, bool) {
		partitions.Add(maxPartitions)
		return true, false
	})
	c := start(t, impatient(newFake(t, growing(&partitions, &deleted, lose)).address()))
	var err error
	require.Eventually(t, func() bool {
		_, err = c.CreateTopic(t.Context(), anywhere, TopicSettings{Partitions: 3 * maxPartitions})
		return err == nil || !backendAway(err)
	}, soon, tick)
	require.NoError(t, err)
	require.EqualValues(t, 3*maxPartitions, partitions.Load())
}

// A server that says that it has made partitions, and does not have them, is not asked
// for ever.
func TestCreateTopicThatDoesNotGrow(t *testing.T) {
	t.Parallel()
	var partitions, asked atomic.Uint32
	var deleted atomic.Bool
	idle := func(_ *fake, conn net.Conn, _ uint32, _ []byte) (bool, bool) {
		asked.Add(1)
		answer(conn, 0, nil)
		return true, true
	}
	c := start(t, impatient(newFake(t, growing(&partitions, &deleted, idle)).address()))
	_, err := c.CreateTopic(t.Context(), anywhere, TopicSettings{Partitions: 2 * maxPartitions})
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorContains(t, err, "gets no more")
	require.EqualValues(t, growTries, asked.Load())
	require.True(t, deleted.Load())
}

func backendAway(err error) bool { return errors.Is(err, backend.ErrUnavailable) }

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	_, err := New(Config{Address: "nowhere", TLS: TLS{CAFile: "x", ServerName: "y"}}, Options{})
	for _, key := range []string{"address", "username", "password", "connections.send", "connections.poll", "connections.admin",
		"request_timeout", "connect_timeout", "max_backoff", "max_reply_bytes", "tls.ca_file", "tls.server_name"} {
		require.ErrorContains(t, err, "iggy."+key+": ")
	}
	for _, address := range []string{"host:0", "host:65536", "host:99999", "host:x", "host", ":1"} {
		cfg := DefaultConfig()
		cfg.Address, cfg.Connections.Poll = address, 1001
		require.ErrorContains(t, cfg.Validate(), "iggy.address: ", address)
		require.ErrorContains(t, cfg.Validate(), "iggy.connections.poll: ")
	}
	cfg := DefaultConfig()
	cfg.TLS = TLS{Enabled: true, CAFile: "absent.pem"}
	_, err = New(cfg, Options{})
	require.ErrorContains(t, err, "iggy.tls.ca_file: ")
}
