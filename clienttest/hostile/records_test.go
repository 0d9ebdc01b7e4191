package hostile

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask is a request that everybody may make, and more than a handful of bytes.
func ask() []byte {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "records", "1"
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("records")).AppendRequest(nil, req, 7)
}

// between puts something between the bytes of a request.
func between(k *keyed, what func() []byte) (out []byte) {
	for _, b := range ask() {
		out = append(append(out, k.record(typeData, []byte{b})...), what()...)
	}
	return out
}

// amid puts something into the middle of a request.
func amid(k *keyed, what func() []byte) []byte {
	request := ask()
	out := append(k.data(request[:9], maxPlain), what()...)
	return append(out, k.data(request[9:], maxPlain)...)
}

// many is something, n times.
func many(n int, what func() []byte) (out []byte) {
	for range n {
		out = append(out, what()...)
	}
	return out
}

// recordAttack is what a client sends behind the handshake, and whether it is a request all the same.
type recordAttack struct {
	name   string
	served bool
	sent   func(k *keyed) []byte
}

// recordAttacks are what TLS 1.3 lets a client say that is no request.
var recordAttacks = []recordAttack{
	{"a record that is too long, by its header", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return []byte{typeData, 3, 3, 0x41, 0x01} })
	}},
	{"the longest record, by its header", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return []byte{typeData, 3, 3, 0xff, 0xff} })
	}},
	{"too much in a record", false, func(k *keyed) []byte {
		return k.record(typeData, append(ask(), make([]byte, maxPlain)...))
	}},
	{"a record under other keys", false, func(k *keyed) []byte {
		return amid(k, func() []byte { k.sequence++; return k.record(typeData, nil) })
	}},
	{"a record in the clear", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return []byte{typeHandshake, 3, 3, 0, 4, 0, 0, 0, 0} })
	}},
	{"a record of no type", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(0, make([]byte, 1000)) })
	}},
	{"a record of an unknown type", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(99, []byte("?")) })
	}},
	{"a few empty records", true, func(k *keyed) []byte {
		return between(k, func() []byte { return many(10, func() []byte { return k.record(typeData, nil) }) })
	}},
	{"thousands of empty records", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return many(5000, func() []byte { return k.record(typeData, nil) }) })
	}},
	{"thousands of changes of ciphers", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return bytes.Repeat([]byte{20, 3, 3, 0, 1, 1}, 5000) })
	}},
	{"a warning", true, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeAlert, []byte{warning, userCanceled}) })
	}},
	{"thousands of warnings", false, func(k *keyed) []byte {
		return amid(k, func() []byte {
			return many(5000, func() []byte { return k.record(typeAlert, []byte{warning, userCanceled}) })
		})
	}},
	{"a fatal alert", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeAlert, []byte{fatal, internalError}) })
	}},
	{"half an alert", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeAlert, []byte{fatal}) })
	}},
	{"the end", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeAlert, []byte{warning, closeNotify}) })
	}},
	{"the end behind a request", true, func(k *keyed) []byte {
		return append(k.data(ask(), maxPlain), k.record(typeAlert, []byte{warning, closeNotify})...)
	}},
	{"new keys", true, func(k *keyed) []byte { return between(k, func() []byte { return k.newKeys(false) }) }},
	{"new keys on both sides", true, func(k *keyed) []byte {
		return amid(k, func() []byte { return many(10, func() []byte { return k.newKeys(true) }) })
	}},
	{"thousands of new keys", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return many(5000, func() []byte { return k.newKeys(false) }) })
	}},
	{"thousands of new keys on both sides", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return many(5000, func() []byte { return k.newKeys(true) }) })
	}},
	{"new keys of no kind", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeHandshake, []byte{24, 0, 0, 1, 2}) })
	}},
	{"another hello", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeHandshake, append([]byte{1, 0, 0, 40}, make([]byte, 40)...)) })
	}},
	{"a request for another hello", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeHandshake, []byte{0, 0, 0, 0}) })
	}},
	{"a message of 16 MiB", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeHandshake, []byte{24, 0xff, 0xff, 0xff}) })
	}},
	{"half a message", false, func(k *keyed) []byte {
		return amid(k, func() []byte { return k.record(typeHandshake, []byte{24, 0}) })
	}},
}

// Whatever TLS 1.3 lets a client say that is no request, in the middle of one: the request is answered or the connection
// ends, and nothing is left of it.
func TestRecords(t *testing.T) {
	gate := Open(t, nil)
	for _, door := range gate.Doors() {
		if !door.Secured {
			continue
		}
		t.Run(door.Name, func(t *testing.T) {
			dialKeyed(t, door).socket.Close()
			eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
			goroutines := runtime.NumGoroutine()
			for _, attack := range recordAttacks {
				k := dialKeyed(t, door)
				attacked := attack.sent(k)
				sent := make(chan struct{})
				go func() { // the gateway may be done before it has read all
					_, _ = k.socket.Write(attacked)
					close(sent)
				}()
				if attack.served {
					require.NoError(t, answered(k), attack.name)
				}
				ended := make(chan []byte, 1)
				go func() {
					all, _ := io.ReadAll(k) // an alert or a reset is an error
					ended <- all
				}()
				if attack.served {
					k.socket.(*net.TCPConn).CloseWrite()
				}
				select {
				case rest := <-ended:
					require.Empty(t, rest, attack.name)
				case <-time.After(patience):
					require.Fail(t, "the connection stays open", attack.name)
				}
				k.socket.Close()
				<-sent
			}
			eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
			eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, "goroutines are back at their base")
		})
	}
	require.Zero(t, measured(t, gate, "handler_panics_total"))
}

// answered reads the answer to ask.
func answered(c io.Reader) error {
	head := make([]byte, prefix)
	if _, err := io.ReadFull(c, head); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)))
	return err
}

// A client that has new keys made without end, with a byte of a request now and then, and does not read what they are
// answered with, costs no memory.
func TestUnreadKeys(t *testing.T) {
	const size, each = 2000, 10
	gate := Open(t, nil)
	for _, door := range gate.Doors() {
		if !door.Secured || !door.Login {
			continue
		}
		k := dialKeyed(t, door)
		before := heap()
		sent := k.data(binary.BigEndian.AppendUint32(nil, size+1), maxPlain) // of a request that does not end here
		for range size {
			sent = append(sent, many(each, func() []byte { return k.newKeys(true) })...)
			sent = append(sent, k.record(typeData, []byte{0})...)
		}
		_, err := k.socket.Write(sent)
		require.NoError(t, err)
		require.EqualValues(t, 1, measured(t, gate, "connections"))
		require.Less(t, heap()-before, int64(8<<20)) // 400 bytes for each key; what the gateway does beside takes 2 MiB now and then
		k.socket.Close()
		eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
	}
}

// withExtension adds an extension to a hello (RFC 8446, 4.1.2), of which there is one record.
func withExtension(hello []byte, kind uint16, content []byte) []byte {
	const (
		recordHeader, messageHeader = 5, 4
		version, random             = 2, 32
	)
	body := bytes.Clone(hello[recordHeader+messageHeader:])
	at := version + random
	at += 1 + int(body[at])                           // the session
	at += 2 + int(binary.BigEndian.Uint16(body[at:])) // the suites
	at += 1 + int(body[at])                           // the compressions
	extensions := slices.Insert(body, at+2, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, kind), uint16(len(content)))...)
	extensions = slices.Insert(extensions, at+2+4, content...)
	binary.BigEndian.PutUint16(extensions[at:], uint16(len(extensions)-at-2))
	message := append([]byte{1, 0, byte(len(extensions) >> 8), byte(len(extensions))}, extensions...)
	return asRecords(message, maxPlain)
}

// asRecords puts a message of the handshake into records of size bytes.
func asRecords(message []byte, size int) (out []byte) {
	for piece := range slices.Chunk(message, size) {
		out = append(out, typeHandshake, 3, 1, byte(len(piece)>>8), byte(len(piece)))
		out = append(out, piece...)
	}
	return out
}

// Hellos as few clients send them: those that are right get the gateway's own, whatever they look like, and others an
// alert.
func TestHellos(t *testing.T) {
	t.Parallel()
	gate := Open(t, nil)
	door := gate.secured()[0]
	message := hello(t, door)
	const (
		early, grease = 42, 0xfafa // extensions
		recordHeader  = 5
	)
	for name, test := range map[string]struct {
		hello []byte
		size  int // of each write; 0 is all at once
		right bool
	}{
		"plain":                        {message, 0, true},
		"each byte by itself":          {message, 1, true},
		"each byte in a record":        {asRecords(message[recordHeader:], 1), 0, true},
		"an extension nobody knows":    {withExtension(message, grease, make([]byte, 255)), 0, true},
		"an extension of 60,000 bytes": {withExtension(message, grease, make([]byte, 60_000)), 0, true},
		"too many extensions":          {withExtension(withExtension(message, grease, make([]byte, 40_000)), grease+1, make([]byte, 25_000)), 0, false},
		"an extension twice":           {withExtension(withExtension(message, grease, nil), grease, nil), 0, false},
		"data before the end of it":    {append(withExtension(message, early, nil), typeData, 3, 3, 0, 1, 0), 0, false},
		"another message":              {asRecords([]byte{20, 0, 0, 4, 1, 2, 3, 4}, maxPlain), 0, false},
		"a message of 16 MiB":          {asRecords([]byte{1, 0xff, 0xff, 0xff, 3, 3}, maxPlain), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", door.Addr())
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
			size := len(test.hello)
			if test.size > 0 {
				size = test.size
			}
			for piece := range slices.Chunk(test.hello, size) {
				_, err := c.Write(piece)
				require.NoError(t, err)
			}
			first := make([]byte, 1)
			_, err = io.ReadFull(c, first)
			require.NoError(t, err)
			if test.right {
				require.EqualValues(t, typeHandshake, first[0])
				return
			}
			require.EqualValues(t, typeAlert, first[0])
			closes(t, c)
		})
	}
}

// The longest names that clients may ask for are no matter.
func TestNamesAskedFor(t *testing.T) {
	t.Parallel()
	gate := Open(t, nil)
	label := strings.Repeat("a", 63)
	for _, name := range []string{
		strings.Join([]string{label, label, label, label[:61]}, "."), strings.Repeat("a", 255), strings.Repeat("a.", 15_000) + "a", "x\x00y",
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			c, err := tls.Dial("tcp", gate.secured()[0].Addr(), &tls.Config{ServerName: name, InsecureSkipVerify: true, MaxVersion: version})
			require.NoError(t, err)
			_, err = c.Write(ask())
			require.NoError(t, err)
			require.NoError(t, answered(c))
			c.Close()
		}
	}
}
