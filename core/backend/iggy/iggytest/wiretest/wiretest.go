// Package wiretest speaks Iggy's TCP protocol frame by frame, for tests that
// need what the SDK cannot send or does not show.
//
//	request: u32 length of what follows · u32 code · body
//	reply:   u32 status, 0 when it went well · u32 length · body
//
// All numbers are little-endian.
package wiretest

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// MaxReply is the largest reply that Call takes, in bytes.
const MaxReply = 256 << 20

// Conn is a connection to a server. It is not safe for concurrent use.
type Conn struct {
	net.Conn
}

// Dial connects to a server; with a config, over TLS. The wait bounds this and
// every later call.
func Dial(address string, config *tls.Config, wait time.Duration) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", address, wait)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if config != nil {
		conn = tls.Client(conn, config)
	}
	return &Conn{conn}, nil
}

// Frame returns the bytes of a request.
func Frame(code uint32, body []byte) []byte {
	frame := make([]byte, 0, 8+len(body))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(4+len(body)))
	frame = binary.LittleEndian.AppendUint32(frame, code)
	return append(frame, body...)
}

// Call sends a request and reads its reply. The error is one of the connection;
// a refusal of the server is a status.
func (c *Conn) Call(code uint32, body []byte) (status uint32, reply []byte, err error) {
	if _, err := c.Write(Frame(code, body)); err != nil {
		return 0, nil, err
	}
	return c.Reply()
}

// Reply reads one reply.
func (c *Conn) Reply() (status uint32, reply []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	status, length := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if length > MaxReply {
		return 0, nil, fmt.Errorf("reply of %d bytes", length)
	}
	reply = make([]byte, length)
	if _, err := io.ReadFull(c, reply); err != nil {
		return 0, nil, err
	}
	return status, reply, nil
}

// Login logs in with a name and a password.
func (c *Conn) Login(username, password string) (status uint32, err error) {
	status, _, err = c.Call(LoginUser, LoginBody(username, password))
	return status, err
}

// LoginBody is the body of a login: both names with a length of one byte, then
// version and context with lengths of four.
func LoginBody(username, password string) []byte {
	body := append(String8(nil, username), String8(nil, password)...)
	return append(body, make([]byte, 8)...)
}

// String8 appends a string with its length in one byte.
func String8(to []byte, s string) []byte {
	return append(append(to, byte(len(s))), s...)
}

// Name appends an identifier that is a name.
func Name(to []byte, name string) []byte {
	const kindString = 2
	return String8(append(to, kindString), name)
}

// Number appends an identifier that is a number.
func Number(to []byte, n uint32) []byte {
	const kindNumeric = 1
	return binary.LittleEndian.AppendUint32(append(to, kindNumeric, 4), n)
}
