package client

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// frames returns what the SDK writes for a call.
func frames(t *testing.T, call func(*tcp.IggyTcpClient) error) []byte {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	sdk, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(l.Addr().String()))
	require.NoError(t, err)
	conn, err := l.Accept()
	require.NoError(t, err)
	called := make(chan error, 1)
	go func() { called <- call(sdk) }()
	head := make([]byte, 4)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	frame := make([]byte, binary.LittleEndian.Uint32(head))
	_, err = io.ReadFull(conn, frame)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Error(t, <-called, "nobody has answered")
	require.NoError(t, sdk.Close())
	return append(head, frame...)
}

// What goes past the SDK is what the SDK would have sent.
func TestFramesAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	where := Topic{"a stream", "t"}
	stream, topic, err := where.ids()
	require.NoError(t, err)
	messages := []iggcon.IggyMessage{
		{Header: iggcon.MessageHeader{Id: iggcon.MessageID{1, 2, 3}, OriginTimestamp: 77, PayloadLength: 1}, Payload: []byte("p")},
		{Header: iggcon.MessageHeader{Id: iggcon.MessageID{9}, PayloadLength: 3, UserHeaderLength: 2}, Payload: []byte("abc"), UserHeaders: []byte("uh")},
	}
	require.Equal(t, frames(t, func(sdk *tcp.IggyTcpClient) error {
		return sdk.SendMessages(stream, topic, iggcon.PartitionId(5), messages)
	}), appendSend(nil, where, 5, messages))
	dirty := make([]byte, 1000)
	for i := range dirty {
		dirty[i] = 0xff
	}
	require.Equal(t, appendSend(nil, where, 5, messages), appendSend(dirty[:0], where, 5, messages), "memory that is used again")
	for _, from := range []iggcon.PollingStrategy{iggcon.OffsetPollingStrategy(1 << 40), iggcon.FirstPollingStrategy(), iggcon.TimestampPollingStrategy(7)} {
		partition := uint32(1 << 20)
		require.Equal(t, frames(t, func(sdk *tcp.IggyTcpClient) error {
			_, err := sdk.PollMessages(stream, topic, iggcon.DefaultConsumer(), from, 1000, false, &partition)
			return err
		}), pollFrame(where, partition, from, 1000))
	}
}

// The names that requests take are those that the SDK takes.
func TestValidTopics(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 255, 256} {
		for _, topic := range []Topic{{strings.Repeat("n", n), "t"}, {"s", strings.Repeat("n", n)}} {
			_, _, err := topic.ids()
			require.Equal(t, err, topic.valid())
		}
	}
}

// polledReply is what a server answers to a poll.
func polledReply(current uint64, count uint32, messages ...iggcon.IggyMessage) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 3)
	b = binary.LittleEndian.AppendUint64(b, current)
	b = binary.LittleEndian.AppendUint32(b, count)
	for i := range messages {
		b = appendMessage(b, &messages[i])
	}
	return b
}

func TestDecodePolled(t *testing.T) {
	t.Parallel()
	message := func(payload, headers string) iggcon.IggyMessage {
		m := iggcon.IggyMessage{
			Header: iggcon.MessageHeader{
				Checksum: 1, Id: iggcon.MessageID{2}, Offset: 3, Timestamp: 4, OriginTimestamp: 5, Reserved: 6,
				PayloadLength: uint32(len(payload)), UserHeaderLength: uint32(len(headers)),
			},
			Payload: []byte(payload),
		}
		if headers != "" {
			m.UserHeaders = []byte(headers)
		}
		return m
	}
	all := []iggcon.IggyMessage{message("abc", "hh"), message("d", ""), message("", "")}
	got, err := decodePolled(polledReply(9, 3, all...))
	require.NoError(t, err)
	require.Equal(t, Polled{Current: 9, Messages: all}, got, "a last message without payload comes, too")
	got, err = decodePolled(polledReply(9, 1, all...))
	require.NoError(t, err)
	require.Len(t, got.Messages, 3, "more than announced, as after a torn offset")

	_, err = decodePolled(polledReply(9, 4, all...))
	require.ErrorIs(t, err, ErrBadReply, "less than announced")
	whole := polledReply(9, 3, all...)
	for n := range len(whole) {
		_, err := decodePolled(whole[:n])
		require.ErrorIsf(t, err, ErrBadReply, "%d of %d bytes", n, len(whole))
	}
	lying := message("abc", "")
	b := polledReply(1, 1, lying)
	binary.LittleEndian.PutUint32(b[polledHead+52:], 1<<32-1)
	_, err = decodePolled(b)
	require.ErrorIs(t, err, ErrBadReply)
}

// Whatever a server sends costs no more than what came, and no panic.
func TestDecodePolledAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")
		if p, err := decodePolled(body); err == nil {
			require.LessOrEqual(t, cap(p.Messages), len(body)/messageHead+1)
		}
	})
}

func FuzzDecodePolled(f *testing.F) {
	f.Add(polledReply(1, 1, iggcon.IggyMessage{Payload: []byte("x")}))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := decodePolled(body)
		if err != nil {
			require.ErrorIs(t, err, ErrBadReply)
			return
		}
		require.LessOrEqual(t, len(p.Messages), len(body)/messageHead)
	})
}

// A body comes whole, however it comes, and its length alone costs nothing.
func TestReadBody(t *testing.T) {
	t.Parallel()
	large := make([]byte, 3*trusted+17)
	for i := range large {
		large[i] = byte(i * 7)
	}
	for _, size := range []int{0, 1, 100, trusted, trusted + 1, len(large)} {
		for _, head := range []int{0, 1, min(size, 1000)} {
			if head > size {
				continue
			}
			mine, theirs := net.Pipe()
			go func() {
				if head < size { // a pipe waits for a reader of nothing, too
					_, _ = theirs.Write(large[head:size])
				}
				_ = theirs.Close()
			}()
			got, err := readBody(mine, make([]byte, 100), large[:head], int64(size))
			require.NoError(t, err)
			require.Equal(t, large[:size], got)
		}
	}
	mine, theirs := net.Pipe()
	go func() { _ = theirs.Close() }()
	_, err := readBody(mine, nil, []byte("abc"), 1<<40)
	require.Error(t, err)
}

// The memory of a reply that was released is that of a later one, and of none
// that was not.
func TestRelease(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(_ *fake, conn net.Conn, code uint32, _ []byte) (bool, bool) {
		if code != cmdPoll {
			return false, true
		}
		answer(conn, 0, polledReply(0, 1, iggcon.IggyMessage{Payload: []byte("payload")}))
		return true, true
	})
	c := start(t, impatient(f.address()))
	poll := func(count uint32) Polled {
		p, err := c.Poll(t.Context(), anywhere, 0, iggcon.FirstPollingStrategy(), count)
		require.NoError(t, err)
		require.Equal(t, "payload", string(p.Messages[0].Payload))
		return p
	}
	few := poll(manyMessages - 1)
	require.Nil(t, few.memory)
	few.Release()
	kept := poll(manyMessages)
	for range 100 {
		p := poll(manyMessages)
		require.NotSame(t, &(*kept.memory)[0], &(*p.memory)[0])
		clear(*p.memory)
		p.Release()
	}
	require.Equal(t, "payload", string(kept.Messages[0].Payload))
}
