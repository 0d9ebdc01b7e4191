package client

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// back is how long the client may take to work again once the server does.
const back = 2 * time.Second

func TestRealKillAndRestart(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t)
	c := start(t, configFor(server.Address()))
	topic := topicWith(t, c, 4)
	for _, end := range []func(){server.Kill, server.Stop} {
		before := c.Generation()
		end()
		require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
		began := time.Now()
		require.ErrorIs(t, c.Send(t.Context(), topic, 0, messages(1)), backend.ErrUnavailable)
		require.Less(t, time.Since(began), time.Second)
		server.Start()
		require.Eventually(t, c.Up, back, tick)
		require.Greater(t, c.Generation(), before)
		for p := range uint32(4) {
			require.NoError(t, c.Send(t.Context(), topic, p, messages(1)))
		}
	}
}

// Writers send numbers, settle what is lost and look at the tail, as the gateway
// does. In the end every number is there once and in order, whatever happened.
func TestRealNothingLostOrDoubled(t *testing.T) {
	t.Parallel()
	for name, shards := range map[string]string{"one shard": "1", "two shards": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := iggytest.Real(t, iggytest.NoFsync(), iggytest.Env("IGGY_SYSTEM_SHARDING_CPU_ALLOCATION", shards))
			cfg := configFor(server.Address())
			cfg.RequestTimeout = 500 * time.Millisecond
			c := start(t, cfg)
			topic := topicWith(t, c, 4)
			stop := make(chan struct{})
			var writers sync.WaitGroup
			counts := make([]uint64, 4)
			for p := range counts {
				writers.Go(func() { counts[p] = write(t, c, topic, uint32(p), stop) })
			}
			for range 2 {
				within := func(f func()) { time.Sleep(150 * time.Millisecond); f() }
				within(server.Pause)
				time.Sleep(cfg.RequestTimeout + 300*time.Millisecond)
				server.Resume()
				require.Eventually(t, c.Up, back, tick)
				within(c.Kill)
				within(server.Kill)
				server.Start()
				require.Eventually(t, c.Up, back, tick)
			}
			close(stop)
			writers.Wait()
			for p, n := range counts {
				t.Logf("partition %d: %d messages", p, n)
				verify(t, c, topic, uint32(p), n)
			}
		})
	}
}

// write sends batches of ten numbers until stop, and returns how many are stored.
func write(t *testing.T, c *Client, topic Topic, partition uint32, stop <-chan struct{}) (next uint64) {
	ctx := context.Background()
	for {
		select {
		case <-stop:
			return next
		default:
		}
		batch := make([]iggcon.IggyMessage, 10)
		for i := range batch {
			batch[i] = message(binary.LittleEndian.AppendUint64(nil, next+uint64(i)))
		}
		err := c.Send(ctx, topic, partition, batch)
		var lost *Lost
		switch {
		case err == nil:
			next += 10
		case errors.As(err, &lost):
			next = settled(t, c, lost, topic, partition)
		default:
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("send: %v", err)
			}
			<-timeAfter(tick)
		}
	}
}

// settled returns where the log ends after a lost send.
func settled(t *testing.T, c *Client, lost *Lost, topic Topic, partition uint32) uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if err := c.Settle(ctx, lost); err != nil {
		t.Errorf("settle: %v", err)
	}
	for {
		got, err := c.Poll(ctx, topic, partition, iggcon.LastPollingStrategy(), 1)
		if err == nil && len(got.Messages) == 0 {
			return 0
		}
		if err == nil {
			return binary.LittleEndian.Uint64(got.Messages[0].Payload) + 1
		}
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("poll: %v", err)
			return 0
		}
		<-timeAfter(tick)
	}
}

func verify(t *testing.T, c *Client, topic Topic, partition uint32, n uint64) {
	var next uint64
	for next < n {
		got, err := c.Poll(t.Context(), topic, partition, iggcon.OffsetPollingStrategy(next), 1000)
		require.NoError(t, err)
		require.NotEmpty(t, got.Messages, "the log ends at %d of %d", next, n)
		for _, m := range got.Messages {
			require.Equal(t, next, m.Header.Offset)
			require.Equal(t, next, binary.LittleEndian.Uint64(m.Payload), "partition %d", partition)
			next++
		}
	}
	require.Equal(t, n, next)
}

func timeAfter(d time.Duration) <-chan time.Time { return time.After(d) }

// A request that lies in the socket of a paused server is executed after our side
// has closed the connection and made others. Settle waits for that.
func TestRealSettle(t *testing.T) {
	t.Parallel()
	for name, shards := range map[string]string{"one shard": "1", "two shards": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := iggytest.Real(t, iggytest.NoFsync(), iggytest.Env("IGGY_SYSTEM_SHARDING_CPU_ALLOCATION", shards))
			cfg := configFor(server.Address())
			cfg.RequestTimeout = time.Second
			c := start(t, cfg)
			topic := topicWith(t, c, 4)
			executed := 0
			for round := range 8 {
				partition := uint32(round % 4)
				before := all(t, c, topic, partition)
				require.Eventually(t, func() bool { return len(c.Locals()) == 10 }, soon, tick)
				server.Pause()
				sent := make(chan error, 1)
				go func() { sent <- c.Send(t.Context(), topic, partition, messages(1000)) }()
				require.Eventually(t, func() bool { return value(t, c.metrics.inFlight) > 0 }, soon, tick)
				c.Kill()
				var lost *Lost
				if err := <-sent; !errors.As(err, &lost) {
					require.ErrorIs(t, err, backend.ErrUnavailable)
					server.Resume()
					require.Eventually(t, c.Up, back, tick)
					continue
				}
				settled := make(chan error, 1)
				go func() { settled <- c.Settle(t.Context(), lost) }()
				server.Resume()
				began := time.Now()
				require.NoError(t, <-settled)
				t.Logf("settled after %v", time.Since(began))
				after := all(t, c, topic, partition)
				if len(after) > len(before) {
					executed++
				}
				// Nothing comes after that.
				require.Eventually(t, c.Up, back, tick)
				require.Len(t, all(t, c, topic, partition), len(after))
			}
			t.Logf("%d of 8 were executed", executed)
		})
	}
}

// all reads a partition as soon as it can be read.
func all(t *testing.T, c *Client, topic Topic, partition uint32) (found []iggcon.IggyMessage) {
	require.Eventually(t, func() bool {
		got, err := c.Poll(t.Context(), topic, partition, iggcon.FirstPollingStrategy(), 10_000)
		found = got.Messages
		return err == nil
	}, soon, time.Millisecond)
	return found
}
