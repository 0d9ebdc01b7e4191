package client

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
)

// echo answers every request with a reply of size bytes, as fast as it can.
func echo(b *testing.B, size int) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	frame := reply(0, make([]byte, size))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveEcho(conn, frame)
		}
	}()
	return l.Addr().String()
}

func serveEcho(conn net.Conn, frame []byte) {
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 4<<20)
	for {
		n, err := io.ReadAtLeast(conn, buf, headerBytes)
		if err != nil {
			return
		}
		size, _ := requestHeader(buf)
		if _, err := io.ReadFull(conn, buf[n:size]); err != nil {
			return
		}
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// What the relay costs: the SDK alone against the SDK behind it.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{16, 100 << 10, 1 << 20} {
		payload := []iggcon.IggyMessage{message(make([]byte, size))}
		ask := func(b *testing.B, sdk iggcon.Client) {
			for b.Loop() {
				require.NoError(b, sdk.SendMessages(iggcon.Identifier{}, iggcon.Identifier{}, iggcon.PartitionId(0), payload))
			}
			b.SetBytes(int64(size))
		}
		b.Run(fmt.Sprintf("alone/%d", size), func(b *testing.B) {
			sdk, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(echo(b, 0)))
			require.NoError(b, err)
			defer func() { _ = sdk.Close() }()
			ask(b, sdk)
		})
		b.Run(fmt.Sprintf("relay/%d", size), func(b *testing.B) {
			server, raw, err := dial(b.Context(), echo(b, 0), nil)
			require.NoError(b, err)
			sdk, r, err := connect(server, raw, 1<<30, func() {})
			require.NoError(b, err)
			ask(b, sdk)
			r.end(nil)
			_ = sdk.Close()
			<-r.done
		})
		b.Run(fmt.Sprintf("polls/alone/%d", size), func(b *testing.B) {
			sdk, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(echo(b, size)))
			require.NoError(b, err)
			defer func() { _ = sdk.Close() }()
			for b.Loop() {
				require.NoError(b, sdk.Ping())
			}
			b.SetBytes(int64(size))
		})
		b.Run(fmt.Sprintf("polls/relay/%d", size), func(b *testing.B) {
			server, raw, err := dial(b.Context(), echo(b, size), nil)
			require.NoError(b, err)
			sdk, r, err := connect(server, raw, 1<<30, func() {})
			require.NoError(b, err)
			for b.Loop() {
				require.NoError(b, sdk.Ping())
			}
			b.SetBytes(int64(size))
			r.end(nil)
			_ = sdk.Close()
			<-r.done
		})
	}
}
