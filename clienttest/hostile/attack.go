package hostile

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/handler"
)

// attacker makes one connection after the other.
type attacker struct {
	mutator
	stock stock
	doors []Door
	done  *Counts
	// last are the requests of the last connection, for the report of what broke the gateway.
	last   [][]byte
	at     string
	damage float64 // the share of requests that are damaged, of this connection
}

// damages are the shares of damaged requests. Most of those end their connection, so what comes before them goes deepest where
// they are few.
var damages = []float64{0, 0.02, 0.1, 0.5, 1}

// Counts is what attackers did.
type Counts struct {
	Connections, Requests, Damaged, Answers atomic.Int64
}

// String says it in a line.
func (c *Counts) String() string {
	return fmt.Sprintf("%d connections, %d requests, %d of them damaged, %d answers",
		c.Connections.Load(), c.Requests.Load(), c.Damaged.Load(), c.Answers.Load())
}

// newAttacker returns the attacker of a number. The same seed makes the same requests.
func newAttacker(seed, number uint64, doors []Door, handlers []handler.Handler, done *Counts) *attacker {
	r := rand.New(rand.NewPCG(seed, number))
	a := &attacker{stock: stock{r, handlers}, doors: doors, done: done}
	a.mutator = mutator{r, a.stock.frame}
	return a
}

// damagedHandshake is how long the answer to a damaged handshake is waited for, which may have no end.
const damagedHandshake = 300 * time.Millisecond

// maxRequests bounds the requests of a connection.
const maxRequests = 40

// errHangs is that of a gateway that neither answers nor closes.
var errHangs = errors.New("the gateway does not close a connection that its client has ended")

// door picks one, most often an inner one: the others let little happen.
func (a *attacker) door() Door {
	door := a.doors[a.IntN(len(a.doors))]
	if !door.In && a.IntN(4) != 0 {
		return a.door()
	}
	return door
}

// connect makes one connection. An error is one of the gateway, not what it thinks of the requests.
func (a *attacker) connect(ctx context.Context) error {
	door := a.door()
	a.last, a.at = a.last[:0], door.Name
	a.damage = damages[a.IntN(len(damages))]
	damaged, within := a.IntN(8) == 0, patience
	if damaged {
		within = damagedHandshake
	}
	conn, err := door.dial(within, func(c net.Conn) net.Conn {
		if !damaged {
			return c
		}
		return &noisy{Conn: c, random: rand.New(rand.NewPCG(a.Uint64(), 1)), after: a.IntN(2000)}
	})
	switch {
	case err != nil && (damaged || ctx.Err() != nil):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", door.Name, err)
	}
	defer conn.Close()
	a.done.Connections.Add(1)
	answers := make(chan error, 1)
	go func() { answers <- a.answers(conn, damaged || !door.Secured && door.gate.tls(door)) }()
	for range 1 + a.IntN(maxRequests) {
		if ctx.Err() != nil || !a.send(conn) {
			break
		}
	}
	a.leave(conn)
	err = <-answers
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", door.Name, err)
	}
	return nil
}

// tls reports whether the door's listener speaks TLS.
func (g *Gate) tls(d Door) bool { return d.addr == g.addrs["SSL"] || d.addr == g.addrs["SASL_SSL"] }

// send writes one request, and reports whether the connection goes on.
func (a *attacker) send(conn net.Conn) bool {
	frame := a.stock.frame()
	if a.Float64() < a.damage {
		frame = a.mutate(frame)
		a.done.Damaged.Add(1)
	}
	a.last = append(a.last, frame)
	a.done.Requests.Add(1)
	if len(frame) > 1 && a.IntN(8) == 0 { // in two pieces
		at := 1 + a.IntN(len(frame)-1)
		if _, err := conn.Write(frame[:at]); err != nil {
			return false
		}
		frame = frame[at:]
	}
	_, err := conn.Write(frame)
	return err == nil
}

// leave ends the connection in one of the ways that there are, or its half.
func (a *attacker) leave(conn net.Conn) {
	socket := socketOf(conn)
	switch a.IntN(6) {
	case 0:
		_ = socket.SetLinger(0)
		_ = socket.Close()
	case 1:
		_ = conn.Close()
	default: // and reads what comes until the gateway closes, too
		if secured, ok := conn.(*tls.Conn); ok && a.IntN(2) == 0 {
			_ = secured.CloseWrite()
		}
		_ = socket.CloseWrite()
	}
}

// socketOf is what is below all that dial puts over it.
func socketOf(conn net.Conn) *net.TCPConn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if n, ok := conn.(*noisy); ok {
		conn = n.Conn
	}
	return conn.(*net.TCPConn)
}

// maxAnswer is the largest answer that the gateway may give.
const maxAnswer = 100 << 20

// answers reads until the end of the connection. All must be whole frames, but for a connection that was reset, and what
// comes from TLS to one who does not speak it.
func (a *attacker) answers(conn net.Conn, anything bool) error {
	var size [prefix]byte
	for {
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return errHangs
			}
			return nil
		}
		n := binary.BigEndian.Uint32(size[:])
		if anything {
			continue
		}
		if n > maxAnswer {
			return fmt.Errorf("an answer with the length %x", size)
		}
		if _, err := io.CopyN(io.Discard, conn, int64(n)); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return errHangs
			}
			return nil
		}
		a.done.Answers.Add(1)
	}
}

// noisy damages what is written, after a number of bytes: below TLS, of the handshake or of a record.
type noisy struct {
	net.Conn
	random *rand.Rand
	after  int
}

// Write implements net.Conn.
func (n *noisy) Write(p []byte) (int, error) {
	if n.after -= len(p); n.after > 0 || len(p) == 0 {
		return n.Conn.Write(p)
	}
	n.after = n.random.IntN(500)
	b := append([]byte(nil), p...)
	switch n.random.IntN(4) {
	case 0, 1:
		b[n.random.IntN(len(b))] ^= 1 << n.random.IntN(8)
	case 2:
		b = b[:n.random.IntN(len(b))]
	case 3:
		b = append(b, b...)
	}
	_, err := n.Conn.Write(b)
	return len(p), err
}

// pace is how long an attacker rests between connections, so that the system has ports for them all.
const pace = 2 * time.Millisecond
