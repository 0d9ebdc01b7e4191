package gateway_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/clienttest/hostile"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// What a whole gateway does with input that no client should send. The parts
// have tests of their own; these hold the sum of them.

// patience bounds every wait for an answer or for the end of a connection.
const patience = 20 * time.Second

// raw connects and returns the connection with a deadline.
func raw(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// frame builds a request from its header and the hex of its body. The client id
// is null.
func frame(key, version int16, flexible bool, body string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(body, " ", ""))
	if err != nil {
		panic(err)
	}
	out := binary.BigEndian.AppendUint16(make([]byte, 4), uint16(key))
	out = binary.BigEndian.AppendUint16(out, uint16(version))
	out = append(out, 0, 0, 0, 1, 0xff, 0xff)
	if flexible {
		out = append(out, 0)
	}
	out = append(out, b...)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// closedWithoutAByte fails the test unless the connection ends with nothing
// read from it.
func closedWithoutAByte(t *testing.T, c net.Conn) {
	t.Helper()
	got, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("the connection stays open")
	}
	require.Empty(t, got)
}

// enter goes through a door.
func enter(t *testing.T, door hostile.Door) net.Conn {
	t.Helper()
	c, err := door.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// throughEachDoor runs a test on each kind of listener, behind the login where there is one.
func throughEachDoor(t *testing.T, test func(*testing.T, hostile.Door)) {
	t.Helper()
	gate := hostile.Open(t, nil)
	for _, door := range gate.Inner() {
		t.Run(door.Name, func(t *testing.T) { test(t, door) })
	}
}

// served fails the test unless a new connection is served.
func served(t *testing.T, door hostile.Door) {
	t.Helper()
	c := rawclient.New(enter(t, door), "alive")
	_, err := c.Call(kmsg.NewPtrMetadataRequest())
	require.NoError(t, err)
}

func TestHostileBodiesClose(t *testing.T) {
	throughEachDoor(t, func(t *testing.T, door hostile.Door) {
		for name, request := range hostileBodies() {
			t.Run(name, func(t *testing.T) {
				c := enter(t, door)
				_, err := c.Write(request)
				require.NoError(t, err)
				closedWithoutAByte(t, c)
			})
		}
		served(t, door)
	})
}

// hostileBodies are requests that close a connection.
func hostileBodies() map[string][]byte {
	return map[string][]byte{
		"Produce with a count of 4 billion":      frame(0, 9, true, "81 80 80 80 80 80 80 80 80 00 00 FF FF FF FF 0F 01 00"),
		"Fetch with a count of 4 billion":        frame(1, 12, true, "FFFFFFFF 00000000 00000000 00000000 00 00000000 00000000 FF FF FF FF 0F 01 00"),
		"ListOffsets with a count of 4 billion":  frame(2, 6, true, "FFFFFFFF 00 FF FF FF FF 0F"),
		"CreateTopics with a count of 4 billion": frame(19, 5, true, "FF FF FF FF 0F 00 00 00 00 00 00"),
		"DescribeGroups with a null list":        frame(15, 0, false, "FF FF FF FF"),
		"DescribeGroups cut":                     frame(15, 0, false, "00 00 00 01 00 05 61"),
		"DescribeGroups of minus two":            frame(15, 0, false, "FF FF FF FE"),
		"Metadata with the largest count":        frame(3, 8, false, "7F FF FF FF"),
		"OffsetCommit with nothing":              frame(8, 2, false, ""),
		"an unknown key":                         frame(999, 0, false, "00"),
		"SaslHandshake cut short":                frame(17, 0, false, "00 05 50 4C 41 49"),
		"SaslHandshake above its range":          frame(17, 2, false, "00 05 50 4C 41 49 4E"),
		"Fetch below its range":                  frame(1, 3, false, strings.Repeat("00", 30)),
		"Fetch above its range":                  frame(1, 19, true, strings.Repeat("00", 30)),
		"Produce v2, which is only advertised":   frame(0, 2, false, "00 01 00 00 00 00 00 00 00 00"),
		"a negative version":                     frame(3, -1, false, "00 00 00 00"),
		"a length of zero":                       {0, 0, 0, 0, 1, 2, 3},
		"a negative length":                      {0x80, 0, 0, 0},
		"the largest length":                     {0x7f, 0xff, 0xff, 0xff},
		"no room for a header":                   {0, 0, 0, 4, 0, 18, 0, 0},
		"a TLS hello":                            {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"HTTP":                                   []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	}
}

// Keys with a top-level error code at every version answer instead.
func TestHostileBodiesAnswered(t *testing.T) {
	throughEachDoor(t, func(t *testing.T, door hostile.Door) {
		for name, c := range answeredBodies() {
			t.Run(name, func(t *testing.T) {
				conn := enter(t, door)
				for range 2 { // and the connection stays open
					_, err := conn.Write(c.request)
					require.NoError(t, err)
					resp := c.req.ResponseKind()
					resp.SetVersion(c.version)
					payload := readFrame(t, conn)
					header := 4
					if resp.IsFlexible() && resp.Key() != 18 {
						header++
					}
					require.NoError(t, resp.ReadFrom(payload[header:]))
					// The code comes first or behind the throttle time.
					require.True(t, bytes.Contains(resp.AppendTo(nil)[:6], []byte{0, 42}), "INVALID_REQUEST")
				}
			})
		}
	})
}

// answered is a bad request, and what its answer is of.
type answered struct {
	request []byte
	req     kmsg.Request
	version int16
}

func answeredBodies() map[string]answered {
	return map[string]answered{
		"ListGroups v4":   {frame(16, 4, true, "FF FF FF FF 0F"), kmsg.NewPtrListGroupsRequest(), 4},
		"JoinGroup v0":    {frame(11, 0, false, "00 05 61"), kmsg.NewPtrJoinGroupRequest(), 0},
		"Heartbeat v4":    {frame(12, 4, true, "80 80 80 80 80 80"), kmsg.NewPtrHeartbeatRequest(), 4},
		"SyncGroup v5":    {frame(14, 5, true, ""), kmsg.NewPtrSyncGroupRequest(), 5},
		"LeaveGroup v3":   {frame(13, 3, false, "00 01 61 7F FF FF FF"), kmsg.NewPtrLeaveGroupRequest(), 3},
		"ApiVersions v3":  {frame(18, 3, true, "00 00"), kmsg.NewPtrApiVersionsRequest(), 3},
		"DescribeCluster": {frame(60, 1, true, ""), kmsg.NewPtrDescribeClusterRequest(), 1},
	}
}

func readFrame(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var size [4]byte
	_, err := io.ReadFull(r, size[:])
	require.NoError(t, err)
	payload := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(r, payload)
	require.NoError(t, err)
	return payload
}

// KIP-511: a version that is not served is answered at v0 with the one row that
// lets the client negotiate, and the connection stays open.
func TestApiVersionsNegotiation(t *testing.T) {
	table, _, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	throughEachDoor(t, func(t *testing.T, door hostile.Door) { negotiates(t, enter(t, door), table) })
}

func negotiates(t *testing.T, conn net.Conn, table *dispatch.Table) {
	t.Helper()
	for _, version := range []int16{6, 127, -1} {
		_, err := conn.Write(frame(18, version, version > 0, "00 00 00"))
		require.NoError(t, err)
		resp := kmsg.NewPtrApiVersionsResponse()
		require.NoError(t, resp.ReadFrom(readFrame(t, conn)[4:]))
		require.Equal(t, int16(35), resp.ErrorCode)
		require.Equal(t, []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 5}}, resp.ApiKeys)
	}
	// Two requests in one segment get two answers.
	one := frame(18, 0, false, "")
	_, err := conn.Write(append(one, one...))
	require.NoError(t, err)
	for range 2 {
		resp := kmsg.NewPtrApiVersionsResponse()
		require.NoError(t, resp.ReadFrom(readFrame(t, conn)[4:]))
		require.Zero(t, resp.ErrorCode)
		require.Len(t, resp.ApiKeys, len(table.APIs()))
		require.Equal(t, kmsg.ApiVersionsResponseApiKey{ApiKey: 0, MinVersion: 0, MaxVersion: 13}, resp.ApiKeys[0],
			"Produce from 0: older librdkafka compresses nothing otherwise")
	}
}

// A legal Metadata request built for growth: 60 KB that become 4 MB. It is
// answered and its memory comes back; a larger one, which would decode to more
// than request_memory, is refused.
func TestGrowthIsCharged(t *testing.T) {
	gate := hostile.Open(t, func(c *app.Config) {
		c.Server.MaxFrameSize = 8 << 20
		c.Server.RequestMemory = 8 << 20
		c.Server.MemoryBudget = 32 << 20
	})
	for _, door := range gate.Inner() {
		t.Run(door.Name, func(t *testing.T) { growthIsCharged(t, door) })
	}
}

func growthIsCharged(t *testing.T, door hostile.Door) {
	grown := func(topics int) []byte {
		body := binary.AppendUvarint(nil, uint64(topics+1))
		for range topics {
			body = append(body, 3, 'z', 'z', 1, 5, 0) // name, one empty tag
		}
		return frame(3, 9, true, hex.EncodeToString(append(body, 0, 0, 0, 0)))
	}
	before := heap()
	for range 20 {
		c := enter(t, door)
		_, err := c.Write(grown(10_000))
		require.NoError(t, err)
		payload := readFrame(t, c)
		require.NotEmpty(t, payload)
		c.Close()
	}
	require.Eventually(t, func() bool { return heap() < before+16<<20 }, patience, 50*time.Millisecond, "the memory does not come back")

	c := enter(t, door)
	_, err := c.Write(grown(30_000))
	require.NoError(t, err)
	closedWithoutAByte(t, c)
	served(t, door)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
