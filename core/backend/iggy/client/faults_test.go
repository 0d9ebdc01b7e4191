package client

import (
	"bytes"
	"cmp"
	"math"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// impatient has one connection of each kind and short times.
func impatient(address string) Config {
	cfg := configFor(address)
	cfg.Connections = Connections{Send: 1, Poll: 1, Admin: 1}
	cfg.RequestTimeout, cfg.MaxBackoff = 300*time.Millisecond, 20*time.Millisecond
	return cfg
}

var anywhere = Topic{"stream", "topic"}

func pollOnce(t *testing.T, c *Client) error {
	_, err := c.Poll(t.Context(), anywhere, 0, iggcon.OffsetPollingStrategy(0), 10)
	return err
}

// What is wrong with a reply decides what its caller is told: a send may have
// been executed, a poll cannot have changed anything. The next call works.
func TestBrokenReplies(t *testing.T) {
	t.Parallel()
	huge := make([]byte, headerBytes)
	putHeader(huge, 0, math.MaxUint32)
	short := make([]byte, headerBytes+3)
	putHeader(short, 0, 100)
	counted := make([]byte, 16)
	counted[12] = 9          // messages, of which there are none
	none := make([]byte, 16) // messages
	tooMany := append(reply(0, none), reply(0, none)...)
	for name, test := range map[string]struct {
		raw  []byte
		is   error
		keep bool
	}{
		"cut before":        {raw: nil},
		"cut in the header": {raw: huge[:5]},
		"cut in the body":   {raw: short},
		"silence":           {raw: nil, keep: true, is: errDeadline},
		"half, then still":  {raw: short, keep: true, is: errDeadline},
		"huge":              {raw: huge, keep: true, is: ErrReplyTooLarge},
		"too short to read": {raw: reply(0, []byte{1, 2, 3}), keep: true, is: ErrBadReply},
		"nothing":           {raw: reply(0, nil), keep: true, is: ErrBadReply},
		"messages missing":  {raw: reply(0, counted), keep: true, is: ErrBadReply},
		"a TLS alert":       {raw: []byte{21, 3, 3, 0, 2, 2, 10}, is: errServerTLS},
		"two":               {raw: tooMany, keep: true, is: errUnasked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			poll := newFake(t, once(on(cmdPoll, test.raw, test.keep)))
			c := start(t, impatient(poll.address()))
			if err := pollOnce(t, c); test.is == errUnasked {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, backend.ErrUnavailable)
				require.ErrorIs(t, err, cmp.Or(test.is, backend.ErrUnavailable))
			}
			require.Eventually(t, func() bool { return pollOnce(t, c) == nil }, soon, tick)

			if test.is == ErrBadReply {
				return // the SDK does not look into the reply to a send
			}
			send := newFake(t, once(on(cmdSend, test.raw, test.keep)))
			c = start(t, impatient(send.address()))
			if err := c.Send(t.Context(), anywhere, 0, messages(1)); test.is == errUnasked {
				require.NoError(t, err)
			} else {
				var lost *Lost
				require.ErrorAs(t, err, &lost)
				require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
				require.ErrorIs(t, err, cmp.Or(test.is, backend.ErrOutcomeUnknown))
				require.NoError(t, c.Settle(t.Context(), lost))
			}
			require.Eventually(t, func() bool { return c.Send(t.Context(), anywhere, 0, messages(1)) == nil }, soon, tick)
		})
	}
}

// once has h handle its command a single time.
func once(h handler) handler {
	var did atomic.Bool
	return func(f *fake, conn net.Conn, code uint32, body []byte) (bool, bool) {
		if did.Load() {
			return false, true
		}
		handled, keep := h(f, conn, code, body)
		if handled {
			did.Store(true)
		}
		return handled, keep
	}
}

// A length alone must not cost the memory that it speaks of.
func TestLengthsCostNothing(t *testing.T) {
	t.Parallel()
	huge := make([]byte, headerBytes)
	putHeader(huge, 0, math.MaxUint32)
	c := start(t, impatient(newFake(t, on(cmdPoll, huge, true)).address()))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		require.Error(t, pollOnce(t, c))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
}

// A reply that drips in keeps nobody longer than silence does.
func TestDrip(t *testing.T) {
	t.Parallel()
	whole := reply(0, make([]byte, 1<<16))
	f := newFake(t, func(_ *fake, conn net.Conn, code uint32, _ []byte) (bool, bool) {
		if code != cmdPoll {
			return false, true
		}
		for i := range whole {
			if _, err := conn.Write(whole[i : i+1]); err != nil {
				return true, false
			}
			time.Sleep(time.Millisecond)
		}
		return true, true
	})
	c := start(t, impatient(f.address()))
	began := time.Now()
	require.ErrorIs(t, pollOnce(t, c), errDeadline)
	require.Less(t, time.Since(began), 5*time.Second)
}

// What the SDK does not read of a reply must not be taken for the next one.
func TestBodiesThatTheSDKLeaves(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(_ *fake, conn net.Conn, code uint32, _ []byte) (bool, bool) {
		switch code {
		case cmdSend:
			answer(conn, 2010, make([]byte, 100_000))
		case cmdTopics:
			answer(conn, 0, []byte{7})
		case cmdDeleteTopic:
			answer(conn, 2010, make([]byte, 100_000))
		default:
			return false, true
		}
		return true, true
	})
	c := start(t, impatient(f.address()))
	for range 3 {
		require.Equal(t, ierror.TopicIdNotFoundCode, Code(c.Send(t.Context(), anywhere, 0, messages(1))))
		require.Equal(t, ierror.TopicIdNotFoundCode, Code(c.DeleteTopic(t.Context(), anywhere)))
		got, err := c.Topics(t.Context(), "s")
		require.NoError(t, err)
		require.Empty(t, got)
	}
	require.Equal(t, 3, f.count(cmdLogin), "no connection was replaced")
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code   ierror.Code
		is     error
		logins int
	}{
		"a refusal is the caller's":   {ierror.TopicIdNotFoundCode, nil, 3},
		"a full disk leaves it open":  {ierror.CannotAppendMessageCode, backend.ErrOutcomeUnknown, 4},
		"an unknown code, too":        {4_000_000, backend.ErrOutcomeUnknown, 4},
		"a lost login is made again":  {ierror.UnauthenticatedCode, backend.ErrUnavailable, 4},
		"as is a stale client's":      {ierror.StaleClientCode, backend.ErrUnavailable, 4},
		"and one of a server's end":   {ierror.DisconnectedCode, backend.ErrUnavailable, 4},
		"half-read requests end it":   {ierror.InvalidCommandCode, nil, 4},
		"too large is the caller's":   {ierror.TooBigMessagePayloadCode, nil, 3},
		"no permission is no session": {ierror.UnauthorizedCode, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, once(on(cmdSend, reply(uint32(test.code), nil), true)))
			c := start(t, impatient(f.address()))
			err := c.Send(t.Context(), anywhere, 0, messages(1))
			require.Error(t, err)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			} else {
				require.NotErrorIs(t, err, backend.ErrUnavailable)
				require.NotErrorIs(t, err, backend.ErrOutcomeUnknown)
			}
			if test.code < 1_000_000 {
				require.Equal(t, test.code, Code(err))
			}
			require.Eventually(t, func() bool { return f.count(cmdLogin) == test.logins }, soon, tick)
			require.Eventually(t, func() bool { return c.Send(t.Context(), anywhere, 0, messages(1)) == nil }, soon, tick)
		})
	}
}

// The SDK asks for the leader of the cluster after every login, and would dial it
// by itself.
func TestNobodyAsksForTheLeader(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	start(t, impatient(f.address()))
	require.Zero(t, f.count(codeClusterMetadata))
	require.Equal(t, 3, f.count(cmdLogin))
}

// While the server is silent the first to wait finds out, and nobody waits again.
// One answer is enough to go on.
func TestSilenceFailsFast(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	f := newFake(t, func(*fake, net.Conn, uint32, []byte) (bool, bool) { return silent.Load(), true })
	c := start(t, impatient(f.address()))
	silent.Store(true)
	require.ErrorIs(t, pollOnce(t, c), errDeadline)
	require.False(t, c.Up())
	began := time.Now()
	for range 1000 {
		require.ErrorIs(t, c.Send(t.Context(), anywhere, 0, messages(1)), backend.ErrUnavailable)
		require.ErrorIs(t, pollOnce(t, c), backend.ErrUnavailable)
	}
	require.Less(t, time.Since(began), time.Second)
	silent.Store(false)
	f.cut() // what it has not answered it never will
	require.Eventually(t, c.Up, soon, tick)
	require.NoError(t, pollOnce(t, c))
}

// A server that stops in order says so to everybody, also behind a last reply.
func TestFarewell(t *testing.T) {
	t.Parallel()
	farewell := make([]byte, headerBytes)
	putHeader(farewell, uint32(ierror.DisconnectedCode), 0)
	for name, head := range map[string][]byte{"alone": nil, "behind a reply": make([]byte, headerBytes)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, server := net.Pipe()
			mine, sdk := net.Pipe()
			defer sdk.Close()
			r := newRelay(ours, ours, mine, 1000, func() {})
			c := &capture{most: 1000, to: make(chan captured, 1)}
			if head != nil {
				r.capture.Store(c)
				r.inFlight.Store(true)
			}
			_, err := server.Write(append(bytes.Clone(head), farewell...))
			require.NoError(t, err)
			<-r.done
			require.Equal(t, errStopping, r.cause)
			require.Len(t, c.to, len(head)/headerBytes)
		})
	}
}
