package standintest_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	wait = 20 * time.Second
	tick = time.Millisecond
	// moment is how long silence is listened to.
	moment = 30 * time.Millisecond
)

func start(t *testing.T, o standintest.Options) *standintest.Server {
	t.Helper()
	o.Username, o.Password = "user", "password"
	s, err := standintest.New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Start())
	return s
}

func login(t *testing.T, s *standintest.Server) *wiretest.Conn {
	t.Helper()
	c, err := wiretest.Dial(s.Address(), nil, wait)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	status, err := c.Login("user", "password")
	require.NoError(t, err)
	require.Zero(t, status)
	return c
}

// topic starts a server with the topics s/t and s/u.
func topic(t *testing.T, o standintest.Options) (*standintest.Server, *wiretest.Conn) {
	t.Helper()
	s := start(t, o)
	c := login(t, s)
	call(t, c, wiretest.CreateStream, wiretest.String8(nil, "s"))
	for _, name := range []string{"t", "u"} {
		body := binary.LittleEndian.AppendUint32(wiretest.Name(nil, "s"), 1)
		body = binary.LittleEndian.AppendUint64(append(body, 1), math.MaxUint64)
		body = binary.LittleEndian.AppendUint64(body, math.MaxUint64)
		call(t, c, wiretest.CreateTopic, wiretest.String8(append(body, 1), name))
	}
	return s, c
}

func call(t *testing.T, c *wiretest.Conn, code uint32, body []byte) []byte {
	t.Helper()
	status, reply, err := c.Call(code, body)
	require.NoError(t, err)
	require.Zero(t, status)
	return reply
}

func sending(name, payload string) []byte {
	return wiretest.SendBody("s", name, 0, wiretest.Message{Payload: []byte(payload)})
}

// stored is how many messages are in s/t.
func stored(t *testing.T, s *standintest.Server) int {
	t.Helper()
	c := login(t, s)
	defer func() { _ = c.Close() }()
	return len(wiretest.ParsePolled(call(t, c, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, wiretest.ByOffset, 0, 99))).Messages)
}

// cut sees a call end without a reply.
func cut(t *testing.T, c *wiretest.Conn, code uint32, body []byte) {
	t.Helper()
	_, _, err := c.Call(code, body)
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
	require.True(t, ended, "%v", err)
}

func silent(t *testing.T, c *wiretest.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(moment)))
	_, _, err := c.Reply()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(wait)))
}

func TestCuts(t *testing.T) {
	t.Parallel()
	for kind, executed := range map[standintest.Kind]int{standintest.CutBefore: 0, standintest.CutAfter: 1, standintest.CutWithin: 1} {
		s, c := topic(t, standintest.Options{})
		f := s.Inject(standintest.Fault{Code: wiretest.SendMessages, Kind: kind, Bytes: 3})
		call(t, c, wiretest.Ping, nil)
		cut(t, c, wiretest.SendMessages, sending("t", "a"))
		<-f.Struck()
		require.Equal(t, executed, stored(t, s))
		call(t, login(t, s), wiretest.SendMessages, sending("t", "b"))
		require.Equal(t, 1, f.Hits())
	}
}

func TestNthOfATopic(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	f := s.Inject(standintest.Fault{Code: wiretest.SendMessages, Stream: "s", Topic: "t", Nth: 2, Times: 2,
		Kind: standintest.Refuse, Status: 77})
	for _, step := range []struct {
		topic string
		want  uint32
	}{{"u", 0}, {"t", 0}, {"u", 0}, {"t", 77}, {"u", 0}, {"t", 77}, {"t", 0}} {
		status, _, err := c.Call(wiretest.SendMessages, sending(step.topic, "a"))
		require.NoError(t, err)
		require.Equal(t, step.want, status)
	}
	require.Equal(t, 2, f.Hits())
	require.Equal(t, 2, stored(t, s))
}

func TestRefuseAfterUntilReleased(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	f := s.Inject(standintest.Fault{Code: wiretest.SendMessages, Times: -1, Kind: standintest.RefuseAfter, Status: 5})
	for range 3 {
		status, _, err := c.Call(wiretest.SendMessages, sending("t", "a"))
		require.NoError(t, err)
		require.EqualValues(t, 5, status)
	}
	f.Release()
	call(t, c, wiretest.SendMessages, sending("t", "a"))
	require.Equal(t, 4, stored(t, s))
}

func TestSilences(t *testing.T) {
	t.Parallel()
	for kind, executed := range map[standintest.Kind]int{standintest.SilentBefore: 0, standintest.SilentAfter: 1} {
		s, c := topic(t, standintest.Options{})
		f := s.Inject(standintest.Fault{Code: wiretest.SendMessages, Kind: kind})
		_, err := c.Write(wiretest.Frame(wiretest.SendMessages, sending("t", "a")))
		require.NoError(t, err)
		<-f.Struck()
		silent(t, c)
		require.Equal(t, executed, stored(t, s))
		f.Release()
		status, _, err := c.Reply()
		require.NoError(t, err)
		require.Zero(t, status)
		require.Equal(t, 1, stored(t, s))
	}
}

// TestLate executes what a client that is gone has sent, and lists the client
// until then.
func TestLate(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	f := s.Inject(standintest.Fault{Code: wiretest.SendMessages, Kind: standintest.SilentBefore})
	_, err := c.Write(wiretest.Frame(wiretest.SendMessages, sending("t", "a")))
	require.NoError(t, err)
	<-f.Struck()
	address := c.LocalAddr().String()
	require.NoError(t, c.Close())
	watch := login(t, s)
	clients := func() string { return string(call(t, watch, wiretest.GetClients, nil)) }
	require.Contains(t, clients(), address)
	require.Zero(t, stored(t, s))
	f.Release()
	require.Eventually(t, func() bool { return stored(t, s) == 1 }, wait, tick)
	require.Eventually(t, func() bool { return !strings.Contains(clients(), address) }, wait, tick)
}

func TestHeldWhenKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range []standintest.Kind{standintest.SilentBefore, standintest.SilentAfter, standintest.Drip} {
		s, c := topic(t, standintest.Options{})
		f := s.Inject(standintest.Fault{Code: wiretest.Ping, Kind: kind, Pace: time.Hour})
		_, err := c.Write(wiretest.Frame(wiretest.Ping, nil))
		require.NoError(t, err)
		<-f.Struck()
		s.Kill()
		require.NoError(t, s.Start())
		call(t, login(t, s), wiretest.Ping, nil)
	}
}

func TestDrip(t *testing.T) {
	t.Parallel()
	s, c := topic(t, standintest.Options{})
	s.Inject(standintest.Fault{Code: wiretest.GetMe, Kind: standintest.Drip, Pace: tick})
	slow := call(t, c, wiretest.GetMe, nil)
	require.Equal(t, call(t, c, wiretest.GetMe, nil), slow)
}

func TestWrongLength(t *testing.T) {
	t.Parallel()
	for _, length := range []uint32{0, 3, math.MaxUint32} {
		s, c := topic(t, standintest.Options{})
		s.Inject(standintest.Fault{Code: wiretest.GetMe, Kind: standintest.WrongLength, Length: length})
		_, err := c.Write(wiretest.Frame(wiretest.GetMe, nil))
		require.NoError(t, err)
		var head [8]byte
		_, err = io.ReadFull(c, head[:])
		require.NoError(t, err)
		require.Equal(t, length, binary.LittleEndian.Uint32(head[4:]))
	}
}
