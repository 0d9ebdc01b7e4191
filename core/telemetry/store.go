package telemetry

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// The refusals of a Store.
var (
	// ErrID: the client instance id is none that was given out.
	ErrID = errors.New("not a client instance id")
	// ErrTerminating: the client has said before that it ends.
	ErrTerminating = errors.New("the client is terminating")
	// ErrEarly: the client asks or pushes before its interval has passed.
	ErrEarly = errors.New("too early")
	// ErrSubscription: the push is not for the present subscription.
	ErrSubscription = errors.New("unknown subscription")
	// ErrCompression: no codec has the number.
	ErrCompression = errors.New("unsupported compression")
	// ErrTooLarge: the push is above Config.MaxBytes.
	ErrTooLarge = errors.New("push too large")
	// ErrInvalid: the push is no OTLP metrics.
	ErrInvalid = errors.New("invalid metrics")
)

const (
	// remembered is for how many push intervals a silent client is remembered.
	remembered = 3
	// linger is how long the last values of a client that has ended are shown, so
	// that they are scraped.
	linger = time.Minute
	// maxClientID is the length of the client_id label, in bytes.
	maxClientID = 256
	// zstd is the codec with the largest number.
	zstd = 4
)

// reserved is the one id besides zero that Kafka keeps for itself.
var reserved = uuid.UUID{15: 1}

// Subscription is what a client is asked for.
type Subscription struct {
	Client  uuid.UUID
	ID      int32
	Metrics []string // beginnings of names; none: nothing, "": everything
}

// Store remembers clients and their last metrics. It is safe for concurrent use,
// and a prometheus.Collector.
type Store struct {
	cfg      Config
	prefixes []string
	hash     uint32 // of the subscription
	now      func() time.Time
	dropped  *prometheus.CounterVec

	mu       sync.Mutex
	clients  map[uuid.UUID]*client
	families map[string]family
	series   int
}

// client is what is remembered of one client instance.
type client struct {
	asked, pushed time.Time // the last time that each was allowed
	mayPush       bool      // it has asked since it pushed
	resubscribe   bool      // it was told to ask for its subscription again
	terminating   bool
	heard         time.Time
	expires       time.Time
	labels        []string // values of clientLabels
	series        map[string]series
}

// New returns a store. now is the clock, time.Now.
func New(cfg Config, now func() time.Time) *Store {
	s := &Store{
		cfg: cfg, prefixes: cfg.prefixes(), now: now, dropped: newDropped(),
		clients: map[uuid.UUID]*client{}, families: map[string]family{},
	}
	text := strings.Join(s.prefixes, ",") + cfg.PushInterval.String()
	s.hash = crc32.Checksum([]byte(text), castagnoli)
	return s
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Config returns what the store was made with.
func (s *Store) Config() Config { return s.cfg }

// Wanted reports whether clients are asked for any metrics.
func (s *Store) Wanted() bool { return len(s.prefixes) > 0 }

// subscription is the id of a client's subscription. It depends on nothing but the
// client and what it is asked for, so it is the same after a restart.
func (s *Store) subscription(id uuid.UUID) int32 {
	var hash [4]byte
	binary.BigEndian.PutUint32(hash[:], s.hash)
	return int32(crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, hash[:]))
}

// Subscribe tells a client what to push. A zero id gets a new one. ErrEarly when
// the client asked or pushed less than an interval ago, unless it was told to ask
// again.
func (s *Store) Subscribe(id uuid.UUID, clientID string) (Subscription, error) {
	for id == uuid.Nil || id == reserved {
		id = uuid.New()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	c := s.client(id, clientID, now)
	last := c.asked
	if c.pushed.After(last) {
		last = c.pushed
	}
	if now.Sub(last) < s.cfg.PushInterval && !c.resubscribe {
		return Subscription{}, ErrEarly
	}
	c.asked, c.mayPush, c.resubscribe = now, true, false
	s.touch(c, now)
	return Subscription{Client: id, ID: s.subscription(id), Metrics: s.prefixes}, nil
}

// Push is what is known of a push before it is read.
type Push struct {
	Client       uuid.UUID
	ClientID     string
	Subscription int32
	Terminating  bool
	Compression  int8
	Size         int // bytes, compressed as they are
}

// Admit decides about a push before it is read, in this order: ErrID,
// ErrTerminating, ErrEarly, ErrSubscription, ErrCompression, ErrTooLarge. One push
// may follow a subscription at once, and the last push of a client any other.
func (s *Store) Admit(p Push) error {
	if p.Client == uuid.Nil || p.Client == reserved {
		return ErrID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	c := s.client(p.Client, p.ClientID, now)
	if c.terminating {
		return ErrTerminating
	}
	if c.mayPush || now.Sub(c.pushed) >= s.cfg.PushInterval {
		c.pushed, c.mayPush = now, false
	} else if !p.Terminating {
		return ErrEarly
	}
	s.touch(c, now)
	switch {
	case p.Subscription != s.subscription(p.Client):
		c.resubscribe = true
		return ErrSubscription
	case p.Compression < 0 || p.Compression > zstd:
		c.resubscribe = true
		return ErrCompression
	case p.Size > int(s.cfg.MaxBytes):
		return ErrTooLarge
	}
	if p.Terminating {
		c.terminating, c.expires = true, now.Add(linger)
	}
	return nil
}

// touch notes that a client was heard of.
func (s *Store) touch(c *client, now time.Time) {
	c.heard, c.expires = now, now.Add(remembered*s.cfg.PushInterval)
}

// client returns what is remembered of a client, which may be new.
func (s *Store) client(id uuid.UUID, clientID string, now time.Time) *client {
	if c, ok := s.clients[id]; ok && now.Before(c.expires) {
		return c
	}
	s.forget(id)
	if len(s.clients) >= s.cfg.MaxClients {
		s.expire(now)
	}
	for len(s.clients) >= s.cfg.MaxClients {
		s.forget(s.oldest())
	}
	c := &client{labels: clientLabelValues(clientID, id)}
	s.clients[id] = c
	s.touch(c, now)
	return c
}

// expire forgets the clients whose time has come.
func (s *Store) expire(now time.Time) {
	for id, c := range s.clients {
		if !now.Before(c.expires) {
			s.forget(id)
		}
	}
}

// oldest returns the client that was not heard of for longest.
func (s *Store) oldest() (oldest uuid.UUID) {
	var heard time.Time
	for id, c := range s.clients {
		if oldest == uuid.Nil || c.heard.Before(heard) {
			oldest, heard = id, c.heard
		}
	}
	return oldest
}

// forget drops a client, if it is there, with its series.
func (s *Store) forget(id uuid.UUID) {
	if c, ok := s.clients[id]; ok {
		for _, one := range c.series {
			s.release(one)
		}
		delete(s.clients, id)
	}
}
