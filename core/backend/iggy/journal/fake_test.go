package journal

import (
	"context"
	"fmt"
	"math"
	"sync"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// fakeServer keeps streams in memory, with the manners of the real server.
type fakeServer struct {
	mu      sync.Mutex
	streams map[string]map[string]*fakeTopic
	clients map[*fakeClient]bool
	ports   int
	noList  bool // the user may not list clients
	sends   int
}

type fakeTopic struct {
	messages []iggcon.IggyMessage
	bad      map[uint64]bool // unreadable offsets
	dark     uint64          // and, unless it is 0, all from this one on
	late     uint64          // unless it is 0, answers do not have those from this one on, yet
}

func newFakeServer() *fakeServer {
	return &fakeServer{streams: map[string]map[string]*fakeTopic{}, clients: map[*fakeClient]bool{}}
}

func (s *fakeServer) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sends
}

// fault is what becomes of one request.
type fault int

const (
	ok         fault = iota
	before           // nothing leaves
	lostBefore       // the connection ends; the server never sees it
	lostAfter        // the server has done it, and the reply is lost
	lostLate         // the server does it while the outcome is being settled
)

// fakeClient is a Client of a fakeServer.
type fakeClient struct {
	server *fakeServer
	local  string
	// fault is asked for every request, by a number that counts from 0.
	fault func(n int, op string) fault

	mu   sync.Mutex
	n    int
	dead bool
	late []func()
	// blind: the server is not ready to list its clients.
	blind bool
}

func (s *fakeServer) connect() *fakeClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports++
	c := &fakeClient{server: s, local: fmt.Sprintf("127.0.0.1:%d", 10_000+s.ports)}
	s.clients[c] = true
	return c
}

// die is kill -9 of the gateway that has the client.
func (c *fakeClient) die() {
	c.setDead(true)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	delete(c.server.clients, c)
}

// setDead cuts the client off, or lets it back.
func (c *fakeClient) setDead(dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = dead
}

func (c *fakeClient) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// do runs one request with what is wrong with it.
func (c *fakeClient) do(op string, changes bool, run func() error) error {
	c.mu.Lock()
	f := ok
	if c.dead {
		f = before
	} else {
		if c.fault != nil {
			f = c.fault(c.n, op)
		}
		c.n++
	}
	c.mu.Unlock()
	locked := func() error {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		return run()
	}
	lost := func() error {
		if changes {
			return &client.Lost{}
		}
		return backend.ErrUnavailable
	}
	switch f {
	case before:
		return backend.ErrUnavailable
	case lostBefore:
		return lost()
	case lostAfter:
		_ = locked()
		return lost()
	case lostLate:
		c.mu.Lock()
		c.late = append(c.late, func() { _ = locked() })
		c.mu.Unlock()
		return lost()
	}
	return locked()
}

func (c *fakeClient) Settle(context.Context, *client.Lost) error {
	c.runLate()
	c.mu.Lock()
	dead := c.dead
	c.mu.Unlock()
	if dead {
		return backend.ErrUnavailable
	}
	return nil
}

// runLate has the server do what it was late with.
func (c *fakeClient) runLate() {
	c.mu.Lock()
	late := c.late
	c.late = nil
	c.mu.Unlock()
	for _, run := range late {
		run()
	}
}

func (s *fakeServer) topic(t client.Topic) (*fakeTopic, error) {
	if topic := s.streams[t.Stream][t.Name]; topic != nil {
		return topic, nil
	}
	return nil, ierror.ErrTopicIdNotFound
}

func (c *fakeClient) Send(_ context.Context, t client.Topic, _ uint32, messages []iggcon.IggyMessage) error {
	return c.do("send", true, func() error {
		topic, err := c.server.topic(t)
		if err != nil {
			return err
		}
		c.server.sends++
		for _, m := range messages {
			m.Header.Offset = uint64(len(topic.messages))
			topic.messages = append(topic.messages, m)
		}
		return nil
	})
}

func (c *fakeClient) Poll(_ context.Context, t client.Topic, _ uint32, from iggcon.PollingStrategy, count uint32) (client.Polled, error) {
	var p client.Polled
	err := c.do("poll", false, func() error {
		topic, err := c.server.topic(t)
		if err != nil {
			return err
		}
		end := uint64(len(topic.messages))
		p.Current = max(end, 1) - 1
		if from.Value == math.MaxUint64 {
			return nil
		}
		for o := from.Value; o < min(end, from.Value+uint64(count)); o++ {
			if topic.bad[o] || topic.dark > 0 && o >= topic.dark {
				return ierror.ErrInvalidOffset
			}
			if topic.late > 0 && o >= topic.late {
				break
			}
			p.Messages = append(p.Messages, topic.messages[o])
		}
		return nil
	})
	return p, err
}

func (c *fakeClient) EnsureStream(_ context.Context, name string) (iggcon.Stream, error) {
	return iggcon.Stream{Name: name}, c.do("stream", true, func() error {
		if c.server.streams[name] == nil {
			c.server.streams[name] = map[string]*fakeTopic{}
		}
		return nil
	})
}

func (c *fakeClient) Topics(_ context.Context, stream string) ([]iggcon.Topic, error) {
	var topics []iggcon.Topic
	err := c.do("topics", false, func() error {
		for name := range c.server.streams[stream] {
			topics = append(topics, iggcon.Topic{Name: name})
		}
		return nil
	})
	return topics, err
}

func (c *fakeClient) Topic(context.Context, client.Topic) (*iggcon.TopicDetails, error) {
	panic("not used")
}

func (c *fakeClient) CreateTopic(_ context.Context, t client.Topic, s client.TopicSettings) (*iggcon.TopicDetails, error) {
	return nil, c.do("create", true, func() error {
		if s.Partitions != 1 || s.MaxSize != math.MaxUint64 || s.Expiry != iggcon.IggyExpiryNeverExpire {
			return ierror.ErrInvalidCommand
		}
		if c.server.streams[t.Stream][t.Name] != nil {
			return ierror.ErrTopicNameAlreadyExists
		}
		c.server.streams[t.Stream][t.Name] = &fakeTopic{}
		return nil
	})
}

func (c *fakeClient) UpdateTopic(context.Context, client.Topic, iggcon.Duration, uint64) error {
	panic("not used")
}

func (c *fakeClient) AddPartitions(context.Context, client.Topic, uint32) error { panic("not used") }

func (c *fakeClient) DeleteTopic(_ context.Context, t client.Topic) error {
	return c.do("delete", true, func() error {
		_, err := c.server.topic(t)
		delete(c.server.streams[t.Stream], t.Name)
		return err
	})
}

func (c *fakeClient) Locals() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil
	}
	return []string{c.local}
}

func (c *fakeClient) Clients(context.Context) ([]string, error) {
	c.mu.Lock()
	blind := c.blind
	c.mu.Unlock()
	if blind {
		return nil, backend.ErrUnavailable
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.noList {
		return nil, ierror.ErrUnauthorized
	}
	var all []string
	for other := range c.server.clients {
		all = append(all, other.local)
	}
	return all, nil
}

// names returns the topics of the journal's stream.
func (s *fakeServer) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.streams[testStream] {
		names = append(names, name)
	}
	return names
}

// only returns the topic when there is one alone.
func (s *fakeServer) only() *fakeTopic {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.streams[testStream] {
		return t
	}
	return nil
}

const testStream = "own"
