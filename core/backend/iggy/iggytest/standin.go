package iggytest

import (
	"crypto/tls"
	"testing"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
)

// Standin is the stand-in, under a test's control. What it can suffer beyond what
// a real server can is in standintest: Inject, Lose, Expire, Unreadable.
type Standin struct {
	t testing.TB
	*standintest.Server
}

var _ Server = (*Standin)(nil)

// StandIn starts the stand-in without any data.
func StandIn(t testing.TB, opts ...Option) *Standin {
	t.Helper()
	o := collect(opts)
	options := standintest.Options{Username: Username, Password: Password, SegmentSize: o.segment, LoseOnKill: o.lose}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			t.Fatal(err)
		}
		options.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	server, err := standintest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := &Standin{t: t, Server: server}
	s.Start()
	return s
}

// Start starts it again.
func (s *Standin) Start() {
	s.t.Helper()
	s.must(s.Server.Start())
}

// Tear kills it while it writes a message.
func (s *Standin) Tear(stream, topic string, partition uint32) {
	s.t.Helper()
	s.Kill()
	s.must(s.Server.Tear(stream, topic, partition))
	s.Start()
}

func (s *Standin) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Start starts a server for a test.
type Start func(t testing.TB, opts ...Option) Server

// Each runs a test twice: with the stand-in, as subtest "stand-in", and with the
// real server, as subtest "server", which is skipped where there is none.
func Each(t *testing.T, test func(t *testing.T, start Start)) {
	t.Helper()
	t.Run("stand-in", func(t *testing.T) {
		test(t, func(t testing.TB, opts ...Option) Server { return StandIn(t, opts...) })
	})
	t.Run("server", func(t *testing.T) {
		if find() == "" {
			t.Skip(Absent)
		}
		test(t, func(t testing.TB, opts ...Option) Server { return Real(t, opts...) })
	})
}
