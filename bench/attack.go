package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/internal/rawclient"
)

// The attackers of the measurement flood: connections that open, stall at one of the points at which a client can, and reset, each
// replaced by another one.

// stall is where a connection stops.
type stall struct {
	name   string
	weight int
	do     func(*assault, net.Conn) error
}

// stalls are all of them. After do the connection is kept for a while, unless it failed.
func stalls() []stall {
	return []stall{
		{"silent", 20, func(*assault, net.Conn) error { return nil }},
		{"half a hello", 20, (*assault).halfHello},
		{"after the handshake", 10, func(a *assault, nc net.Conn) error { _, err := a.secure(nc); return err }},
		{"in the login", 10, (*assault).halfLogin},
		{"half a request", 10, (*assault).halfRequest},
		{"reset", 20, func(*assault, net.Conn) error { return errDone }},
		{"wrong password, PLAIN", 5, (*assault).wrongPlain},
		{"wrong password, SCRAM", 5, (*assault).wrongScram},
	}
}

// errDone ends a connection at once.
var errDone = errors.New("done")

// assault is what the attackers share.
type assault struct {
	*target
	hello []byte        // of TLS; empty without it
	keep  time.Duration // how long connections stall, at most
	kinds []stall
	count []atomic.Int64 // of kinds
	open  atomic.Int64
}

// attack keeps n connections until ctx ends, and returns how many there were of each kind.
func attack(ctx context.Context, t *target, n int, keep time.Duration) map[string]int64 {
	a := &assault{target: t, hello: helloOf(t.access.tls), keep: keep, kinds: stalls()}
	a.count = make([]atomic.Int64, len(a.kinds))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				a.one(ctx, i)
			}
		})
	}
	all.Wait()
	counts := map[string]int64{}
	for i, k := range a.kinds {
		counts[k.name] = a.count[i].Load()
	}
	return counts
}

// sources is how many addresses of the loopback network attackers have, from 127.0.0.2.
const sources = 200

// one makes a connection of some kind.
func (a *assault) one(ctx context.Context, number int) {
	kind := a.pick()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+number%sources))}}
	nc, err := dialer.DialContext(ctx, "tcp", a.addr)
	if err != nil {
		rest(ctx, 100*time.Millisecond)
		return
	}
	defer nc.Close()
	_ = nc.(*net.TCPConn).SetLinger(0) // its port is free at once
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	a.count[kind].Add(1)
	if a.kinds[kind].do(a, nc) != nil {
		rest(ctx, 10*time.Millisecond)
		return
	}
	a.open.Add(1)
	defer a.open.Add(-1)
	_ = nc.SetReadDeadline(time.Now().Add(rand.N(a.keep)))
	if ctx.Err() == nil {
		_, _ = io.Copy(io.Discard, nc) // until it is closed, or its time is over
	}
}

func (a *assault) pick() int {
	n := 0
	for _, k := range a.kinds {
		n += k.weight
	}
	n = rand.IntN(n)
	for i, k := range a.kinds {
		if n -= k.weight; n < 0 {
			return i
		}
	}
	return 0
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// first keeps what is written first.
type first struct {
	net.Conn
	b []byte
}

func (f *first) Write(p []byte) (int, error) {
	f.b = append([]byte(nil), p...)
	return 0, errDone
}

// helloOf returns the first message of a handshake.
func helloOf(config *tls.Config) []byte {
	if config == nil {
		return nil
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	f := &first{Conn: near}
	config = config.Clone()
	config.ServerName = "localhost"
	_ = tls.Client(f, config).Handshake()
	return f.b
}

func (a *assault) halfHello(nc net.Conn) error {
	_, err := nc.Write(a.hello[:len(a.hello)/2])
	return err
}

// secure agrees on TLS, if there is any.
func (a *assault) secure(nc net.Conn) (net.Conn, error) {
	if a.access.tls == nil {
		return nc, nil
	}
	_ = nc.SetDeadline(time.Now().Add(patience))
	secured := tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) // attackers care for nobody's certificate
	return secured, secured.Handshake()
}

// handshake chooses a mechanism.
func (a *assault) handshake(nc net.Conn, mechanism string) (*rawclient.Conn, error) {
	nc, err := a.secure(nc)
	if err != nil {
		return nil, err
	}
	c := rawclient.New(nc, "bench")
	if a.access.login == nil {
		return c, nil
	}
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = 1, mechanism
	_, err = c.Call(req)
	return c, err
}

func (a *assault) halfLogin(nc net.Conn) error {
	_, err := a.handshake(nc, "SCRAM-SHA-512")
	return err
}

func (a *assault) halfRequest(nc net.Conn) error {
	nc, err := a.secure(nc)
	if err != nil {
		return err
	}
	c := rawclient.New(nc, "bench")
	if a.access.login != nil {
		if err := logIn(context.Background(), c, a.access.login, a.addr); err != nil {
			return err
		}
	}
	_, err = c.Write([]byte{0, 1, 0, 0, 0, 3, 0, 9, 0, 0})
	return err
}

// token sends one token of a login.
func token(c *rawclient.Conn, text string) (string, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 2, []byte(text)
	answer, err := c.Call(req)
	if err != nil {
		return "", err
	}
	return string(answer.(*kmsg.SASLAuthenticateResponse).SASLAuthBytes), nil
}

func (a *assault) wrongPlain(nc net.Conn) error {
	c, err := a.handshake(nc, "PLAIN")
	if err == nil {
		_, err = token(c, fmt.Sprintf("\x00bench\x00%x", rand.Uint64()))
	}
	return errors.Join(err, errDone)
}

// wrongScram guesses the proof: that costs the attacker nothing.
func (a *assault) wrongScram(nc net.Conn) error {
	c, err := a.handshake(nc, "SCRAM-SHA-512")
	if err != nil {
		return err
	}
	answer, err := token(c, "n,,n=bench,r=nonce")
	if err != nil {
		return err
	}
	var nonce string
	if _, err := fmt.Sscanf(answer, "r=%s", &nonce); err != nil {
		return err
	}
	for i, r := range nonce {
		if r == ',' {
			nonce = nonce[:i]
			break
		}
	}
	_, err = token(c, "c=biws,r="+nonce+",p="+base64.StdEncoding.EncodeToString(make([]byte, 64)))
	return errors.Join(err, errDone)
}

// attacking is the process of the attackers: until its input ends.
func attacking(ctx context.Context, t *target, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return json.NewEncoder(os.Stdout).Encode(attack(ctx, t, o.flood, o.stall))
}
