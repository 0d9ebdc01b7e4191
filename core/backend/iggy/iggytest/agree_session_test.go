package iggytest_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestAgreeLogin(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := &peer{t, dial(t, server.Address())}
		p.ok(wiretest.Ping, nil)
		for _, code := range []uint32{wiretest.GetClusterMetadata, wiretest.GetStats, wiretest.GetMe, wiretest.GetClients, wiretest.GetStreams, wiretest.LogoutUser} {
			p.refused(40, code, nil)
		}
		p.refused(40, wiretest.GetStream, names("s"))
		p.refused(40, wiretest.CreateTopic, createTopic("s", "t", 1, never, unlimited))
		p.refused(40, wiretest.PollMessages, wiretest.PollBody("s", "t", 0, 1, 0, 1))
		p.refused(42, wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, "wrong"))
		p.refused(42, wiretest.LoginUser, wiretest.LoginBody("nobody", iggytest.Password))
		p.refused(43, wiretest.LoginUser, wiretest.LoginBody("ab", iggytest.Password))
		p.refused(43, wiretest.LoginUser, wiretest.LoginBody(strings.Repeat("a", 51), iggytest.Password))
		p.refused(44, wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, "ab"))
		p.refused(44, wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, strings.Repeat("a", 101)))
		p.refused(4, wiretest.LoginUser, wiretest.LoginBody("", iggytest.Password))
		p.refused(3, wiretest.LoginUser, []byte{200, 1})
		p.refused(3, wiretest.LoginUser, nil)
		require.Equal(t, []byte{0, 0, 0, 0}, p.ok(wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, iggytest.Password)))
		require.Equal(t, []byte{0, 0, 0, 0}, p.ok(wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, iggytest.Password)))
		p.refused(42, wiretest.LoginUser, wiretest.LoginBody(iggytest.Username, "wrong"))
		p.ok(wiretest.GetStreams, nil) // the login before still holds
		p.ok(wiretest.LogoutUser, nil)
		p.refused(40, wiretest.GetStreams, nil)
	})
}

func TestAgreeToken(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		create := func(name string, expiry uint64) []byte {
			return binary.LittleEndian.AppendUint64(wiretest.String8(nil, name), expiry)
		}
		token := p.ok(wiretest.CreateToken, create("gateway", never))
		require.Len(t, token, 1+int(token[0]))
		p.refused(51, wiretest.CreateToken, create("gateway", never))
		p.refused(4, wiretest.CreateToken, create("", never))
		expired := p.ok(wiretest.CreateToken, create("expires", 1))
		p.refused(54, wiretest.LoginWithToken, expired)
		server.Stop()
		server.Start()
		fresh := &peer{t, dial(t, server.Address())}
		fresh.refused(20, wiretest.LoginWithToken, wiretest.String8(nil, "unknown"))
		fresh.refused(20, wiretest.LoginWithToken, expired) // a start forgets it
		require.Equal(t, []byte{0, 0, 0, 0}, fresh.ok(wiretest.LoginWithToken, token))
		fresh.ok(wiretest.GetStreams, nil)
	})
}

// TestAgreeClients sees who is listed, and for how long.
func TestAgreeClients(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		stranger := dial(t, server.Address())
		listed := func(address string) func() bool {
			return func() bool { return bytes.Contains(p.ok(wiretest.GetClients, nil), []byte(address)) }
		}
		require.True(t, listed(p.LocalAddr().String())())
		require.Eventually(t, listed(stranger.LocalAddr().String()), wait, poll, "before its login too")
		me := p.ok(wiretest.GetMe, nil)
		require.Equal(t, p.LocalAddr().String(), string(me[13:len(me)-4]))
		require.EqualValues(t, 1, me[8], "TCP")
		require.NoError(t, stranger.Close())
		require.Eventually(t, func() bool { return !listed(stranger.LocalAddr().String())() }, wait, poll)
	})
}

// TestAgreeCluster sees a server without a cluster describe itself as one of a
// single node, which is what clients go on from.
func TestAgreeCluster(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		var cluster iggcon.ClusterMetadata
		require.NoError(t, cluster.UnmarshalBinary(newPeer(t, server).ok(wiretest.GetClusterMetadata, nil)))
		require.Equal(t, "single-node", cluster.Name)
		require.Len(t, cluster.Nodes, 1)
		node := cluster.Nodes[0]
		require.Equal(t, iggcon.RoleLeader, node.Role)
		require.Equal(t, server.Address(), net.JoinHostPort(node.IP, strconv.Itoa(int(node.Endpoints.Tcp))))
	})
}

func TestAgreeStats(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 3)
		p.send("a", "b")
		stats := p.ok(wiretest.GetStats, nil)
		le := binary.LittleEndian
		require.NotZero(t, le.Uint32(stats), "process id")
		require.EqualValues(t, 2*(64+1), le.Uint64(stats[68:]), "bytes of messages")
		for i, want := range []uint32{1, 1, 3, 3} { // streams, topics, partitions, segments
			require.Equal(t, want, le.Uint32(stats[76+4*i:]))
		}
		require.EqualValues(t, 2, le.Uint64(stats[92:]), "messages")
		require.EqualValues(t, 1, le.Uint32(stats[100:]), "clients")
		require.Contains(t, string(stats), "0.8.0")
	})
}

func TestAgreeFrames(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.refused(3, 99999, nil)
		p.refused(3, 0, []byte("body"))
		_, err := p.Write([]byte{3, 0, 0, 0, 1, 0, 0, 0}) // shorter than its own code
		require.NoError(t, err)
		status, _, err := p.Reply()
		require.NoError(t, err)
		require.EqualValues(t, 3, status)
		p.ok(wiretest.Ping, []byte("ignored"))
		_, err = p.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}) // 4 GiB, refused before it is read
		require.NoError(t, err)
		status, _, err = p.Reply()
		require.NoError(t, err)
		require.EqualValues(t, 3, status)
		p.ok(wiretest.Ping, nil)
		for _, b := range wiretest.Frame(wiretest.Ping, nil) { // a byte at a time
			_, err := p.Write([]byte{b})
			require.NoError(t, err)
		}
		status, _, err = p.Reply()
		require.NoError(t, err)
		require.Zero(t, status)
	})
}

// TestAgreePipelined sees requests answered in their order when they come at
// once.
func TestAgreePipelined(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		both := append(wiretest.Frame(wiretest.GetMe, nil), wiretest.Frame(wiretest.Ping, nil)...)
		_, err := p.Write(both)
		require.NoError(t, err)
		_, me, err := p.Reply()
		require.NoError(t, err)
		require.NotEmpty(t, me)
		_, pong, err := p.Reply()
		require.NoError(t, err)
		require.Empty(t, pong)
	})
}

// TestAgreeAnonymousSend sees a send without a login refused before it is read.
func TestAgreeAnonymousSend(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := &peer{t, dial(t, server.Address())}
		p.refused(40, wiretest.SendMessages, nil)
		ping := wiretest.Frame(wiretest.Ping, nil)
		p.refused(40, wiretest.SendMessages, ping)
		status, _, err := p.Reply() // the body was taken for a request
		require.NoError(t, err)
		require.Zero(t, status)
	})
}

// TestAgreeFarewell sees what a client hears of an orderly stop.
func TestAgreeFarewell(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		server.Stop()
		heard, err := io.ReadAll(p)
		require.NoError(t, err)
		require.Equal(t, []byte{8, 0, 0, 0, 0, 0, 0, 0}, heard)
	})
}
