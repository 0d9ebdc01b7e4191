package client

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// back is how long the client may take to work again once the server does.
const back = 2 * time.Second

// It runs alone, and with the stand-in, whose logins cost nothing: what is measured
// is the client.
func TestRecovery(t *testing.T) {
	server := iggytest.StandIn(t)
	cfg := configFor(server.Address())
	cfg.RequestTimeout, cfg.ConnectTimeout = 200*time.Millisecond, 300*time.Millisecond
	c := start(t, cfg)
	topic := topicWith(t, c, 1)
	for name, test := range map[string]struct{ away, again func() }{
		"restart": {server.Kill, server.Start}, "pause": {server.Pause, server.Resume},
	} {
		test.away()
		require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
		// Until the waits between two attempts are as long as they get.
		before := redials(t, c)
		require.Eventually(t, func() bool { return redials(t, c) > before+10 }, soon, tick, name)
		test.again()
		require.Eventually(t, func() bool { return c.Send(t.Context(), topic, 0, messages(1)) == nil }, back, tick, name)
	}
}

func TestKillAndRestart(t *testing.T) { each(t, killAndRestart) }

func killAndRestart(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	topic := topicWith(t, c, 4)
	for _, end := range []func(){server.Kill, server.Stop} {
		before := c.Generation()
		end()
		require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
		// The end of a connection of another lane may have been seen first.
		require.Eventually(t, func() bool {
			began := time.Now()
			return errors.Is(c.Send(t.Context(), topic, 0, messages(1)), backend.ErrUnavailable) && time.Since(began) < time.Second
		}, soon, tick)
		server.Start()
		require.Eventually(t, c.Up, soon, tick)
		require.Greater(t, c.Generation(), before)
		for p := range uint32(4) {
			require.NoError(t, c.Send(t.Context(), topic, p, messages(1)))
		}
	}
}

// servers starts a test with every server there is.
func servers(t *testing.T, test func(*testing.T, iggytest.Server)) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) iggytest.Server{
		"stand-in": func(t testing.TB) iggytest.Server { return iggytest.StandIn(t) },
		"one shard": func(t testing.TB) iggytest.Server {
			return iggytest.Real(t, iggytest.NoFsync())
		},
		"two shards": func(t testing.TB) iggytest.Server {
			return iggytest.Real(t, iggytest.NoFsync(), iggytest.Env("IGGY_SYSTEM_SHARDING_CPU_ALLOCATION", "2"))
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

// Writers send numbers, settle what is lost and look at the tail, as the gateway
// does. In the end every number is there once and in order, whatever happened.
func TestNothingLostOrDoubled(t *testing.T) { servers(t, nothingLostOrDoubled) }

func nothingLostOrDoubled(t *testing.T, server iggytest.Server) {
	cfg := configFor(server.Address())
	cfg.RequestTimeout = time.Second
	c := start(t, cfg)
	_, finish := writers(t, c)
	const kills = 2
	for range kills {
		under := func(f func()) { time.Sleep(150 * time.Millisecond); f() } // the load of the writers
		under(server.Pause)
		require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
		server.Resume()
		require.Eventually(t, c.Up, soon, tick)
		under(c.Kill)
		under(server.Kill)
		server.Start()
		require.Eventually(t, c.Up, soon, tick)
	}
	if _, ok := server.(*iggytest.Standin); ok {
		finish(0)
	} else {
		finish(kills)
	}
}

// writers write to four partitions; finish stops them and reads what is there. Of each
// partition so many messages may be unreadable, each the first of a batch: those that
// were sent next after the server was killed between the writes of a message and of
// its index. The first batch of each is there before anything happens: when the very
// first message of a log is torn, a server misses all that follow under their offsets
// (segment.go of the stand-in), which is not for a client to mend.
func writers(t *testing.T, c *Client) (topic Topic, finish func(torn int)) {
	patient := start(t, configFor(c.cfg.Address))
	topic = topicWith(t, patient, 4)
	logs := make([]written, 4)
	for p := range logs {
		require.NoError(t, patient.Send(t.Context(), topic, uint32(p), logs[p].batch()))
		logs[p].stored()
	}
	patient.Close()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for p := range logs {
		all.Go(func() { write(t, c, topic, uint32(p), &logs[p], stop) })
	}
	return topic, func(torn int) {
		close(stop)
		all.Wait()
		for p := range logs {
			found := verify(t, c, topic, uint32(p), &logs[p])
			t.Logf("partition %d: %d messages, of which %d cannot be read", p, logs[p].next, found)
			require.LessOrEqual(t, found, torn)
		}
	}
}

// The same with every fault that the stand-in has, at sends and at what settles
// them.
func TestNothingLostOrDoubledByFaults(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	cfg := configFor(server.Address())
	cfg.RequestTimeout = 200 * time.Millisecond
	c := start(t, cfg)
	topic, finish := writers(t, c)
	for round := range 3 {
		for _, fault := range []standintest.Fault{
			{Kind: standintest.CutBefore}, {Kind: standintest.CutAfter}, {Kind: standintest.CutWithin, Bytes: 3},
			{Kind: standintest.SilentBefore}, {Kind: standintest.SilentAfter}, {Kind: standintest.Drip, Pace: time.Hour},
			{Kind: standintest.WrongLength, Length: math.MaxUint32}, {Kind: standintest.WrongLength, Length: 1},
			{Kind: standintest.Refuse, Status: 40}, {Kind: standintest.Refuse, Status: 4006},
			{Kind: standintest.RefuseAfter, Status: 4006}, {Kind: standintest.RefuseAfter, Status: 77},
		} {
			fault.Code, fault.Stream, fault.Nth, fault.Times = wiretest.SendMessages, topic.Stream, 1+round, 2
			before := value(t, c.metrics.timeouts)
			f := server.Inject(fault)
			<-f.Struck()
			if slices.Contains([]standintest.Kind{standintest.SilentBefore, standintest.SilentAfter, standintest.Drip}, fault.Kind) {
				require.Eventually(t, func() bool { return value(t, c.metrics.timeouts) > before }, soon, tick)
			}
			f.Release()
			require.Eventually(t, c.Up, soon, tick)
		}
	}
	finish(0)
}

// written is what a partition must hold: the numbers before next, each at its offset,
// and where batches began.
type written struct {
	next   uint64
	begins map[uint64]bool
}

// batchOf is how many numbers a batch has.
const batchOf = 10

// batch makes the next numbers.
func (w *written) batch() []iggcon.IggyMessage {
	if w.begins == nil {
		w.begins = map[uint64]bool{}
	}
	w.begins[w.next] = true
	batch := make([]iggcon.IggyMessage, batchOf)
	for i := range batch {
		batch[i] = message(binary.LittleEndian.AppendUint64(nil, w.next+uint64(i)))
	}
	return batch
}

func (w *written) stored() { w.next += batchOf }

// write sends batches of numbers until stop.
func write(t *testing.T, c *Client, topic Topic, partition uint32, w *written, stop <-chan struct{}) {
	ctx := context.Background()
	for {
		select {
		case <-stop:
			return
		default:
		}
		err := c.Send(ctx, topic, partition, w.batch())
		var lost *Lost
		switch {
		case err == nil:
			w.stored()
		case errors.As(err, &lost):
			w.next = settled(t, c, lost, topic, partition)
		default:
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("send: %v", err)
			}
			<-time.After(tick)
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
		<-time.After(tick)
	}
}

// verify reads what was written, piecewise where it cannot be read at once, and returns
// how many of the numbers cannot be read at all.
func verify(t *testing.T, c *Client, topic Topic, partition uint32, w *written) (unreadable int) {
	count := uint32(1000)
	var next uint64
	for next < w.next {
		got, err := c.Poll(t.Context(), topic, partition, iggcon.OffsetPollingStrategy(next), count)
		switch {
		case errors.Is(err, backend.ErrUnavailable):
			<-time.After(tick) // a machine with much to do
			continue
		case Unreadable(err) && count > 1:
			count /= 2
			continue
		case Unreadable(err):
			require.True(t, w.begins[next], "partition %d: message %d, within a batch, cannot be read", partition, next)
			unreadable++
			next, count = next+1, 1000
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, got.Messages, "the log ends at %d of %d", next, w.next)
		for _, m := range got.Messages {
			require.Equal(t, next, m.Header.Offset)
			require.Equal(t, next, binary.LittleEndian.Uint64(m.Payload), "partition %d", partition)
			next++
		}
	}
	require.Equal(t, w.next, next)
	return unreadable
}

// A request that lies in the socket of a paused server is executed after our side
// has closed the connection and made others. Settle waits for that.
func TestSettle(t *testing.T) { servers(t, settle) }

func settle(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	topic := topicWith(t, c, 4)
	executed := 0
	for round := range 8 {
		partition := uint32(round % 4)
		require.Eventually(t, func() bool { return len(c.Locals()) == 10 }, soon, tick)
		before := all(t, c, topic, partition)
		server.Pause()
		sent := make(chan error, 1)
		go func() { sent <- c.Send(t.Context(), topic, partition, messages(1000)) }()
		require.Eventually(t, func() bool { return left(c) }, soon, tick)
		c.Kill()
		var lost *Lost
		require.ErrorAs(t, <-sent, &lost)
		settled := make(chan error, 1)
		go func() { settled <- c.Settle(t.Context(), lost) }()
		server.Resume()
		require.NoError(t, <-settled)
		after := all(t, c, topic, partition)
		if len(after) > len(before) {
			executed++
		}
		// Nothing comes after that.
		require.Eventually(t, c.Up, soon, tick)
		require.Len(t, all(t, c, topic, partition), len(after))
	}
	t.Logf("%d of 8 were executed", executed)
	require.NotZero(t, executed)
}

// left tells whether a request has left for the server.
func left(c *Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.relays {
		// A ping, which the SDK makes, does not wait for a captured reply.
		if r.capture.Load() != nil && r.left.Load() {
			return true
		}
	}
	return false
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

// A server deletes partition by partition: a topic of many may take it longer
// than any other request.
func TestDeletionOfManyPartitionsMayTakeLonger(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	cfg := configFor(server.Address())
	cfg.RequestTimeout = 500 * time.Millisecond
	c := start(t, cfg)
	topic := topicWith(t, c, 200)
	slow := server.Inject(standintest.Fault{Code: wiretest.DeleteTopic, Kind: standintest.SilentBefore})
	time.AfterFunc(2*cfg.RequestTimeout, slow.Release)
	require.NoError(t, c.DeleteTopic(t.Context(), topic))
	require.Equal(t, 1, slow.Hits())
	_, err := c.Topic(t.Context(), topic)
	require.Equal(t, ierror.TopicIdNotFoundCode, Code(err))
}
