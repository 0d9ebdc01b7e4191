package metadata

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var defaults = settings.Topics{AutoCreate: true, DefaultPartitions: 2, MaxNewPartitions: 20}

func open(s *admintest.Topics, cfg settings.Topics) handler.Handler {
	return New(s, cluster.New(s, admintest.Node()), cfg)
}

func TestConform(t *testing.T) { handlertest.Conform(t, open(admintest.New(t), defaults)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(admintest.New(t), defaults), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open(admintest.New(f), defaults)) }

func TestAnything(t *testing.T) {
	admintest.Anything(t, func(t testing.TB) (handler.Handler, *admintest.Topics) {
		s := admintest.New(t)
		return open(s, defaults), s
	})
}

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		s, cfg := admintest.New(t), defaults
		cfg.AutoCreate = !strings.Contains(t.Name(), "no_creation")
		return handlertest.Env{Handler: open(s, cfg), Call: admintest.Call(), Commands: s.Commands()}
	})
}

func ask(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.AllowAutoTopicCreation = true
	for i := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &names[i]
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// The price is the length that the encoder makes of the answer.
func TestPrice(t *testing.T) {
	t.Parallel()
	s := server{cluster: cluster.New(admintest.New(t), admintest.Node())}
	random := rand.New(rand.NewPCG(1, 2))
	text := func(max int) string { return strings.Repeat("x", random.IntN(max+1)) }
	for i := range 20000 {
		p := plan{version: int16(i % 14), host: text(300)}
		if random.IntN(4) > 0 {
			id := text(40)
			p.clusterID = &id
		}
		p.topics = make([]entry, random.IntN(8))
		if random.IntN(50) == 0 {
			p.topics = make([]entry, random.IntN(400))
		}
		for j := range p.topics {
			e := &p.topics[j]
			e.partitions = random.Int32N(5)
			if random.IntN(100) == 0 {
				e.partitions = random.Int32N(300)
			}
			if random.IntN(5) > 0 {
				name := text(260)
				e.name = &name
			}
		}
		req := ask(p.version)
		resp := s.build(t.Context(), handler.Call{}, req, p)
		require.EqualValues(t, handlertest.Size(resp, p.version), p.price(), "v%d", p.version)
	}
}

// An answer of just the limit is sent, one byte more closes the connection
// before anything is built.
func TestLimit(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	for i := range 100 {
		_, err := s.Create(fmt.Sprint("topic", i), 7, nil)
		require.NoError(t, err)
	}
	h := open(s, defaults)
	for v := int16(0); v <= 13; v++ {
		req := ask(v)
		resp, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := handlertest.Size(resp, v)
		_, err = h.Handle(context.Background(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err)
		_, err = h.Handle(context.Background(), handler.Call{MaxFrame: size - 1}, req)
		require.EqualError(t, err, fmt.Sprintf("metadata of 100 topics takes %d bytes, more than max_frame_size %d", size, size-1))
	}
}

// The price is charged, and a spent budget closes the connection.
func TestReserve(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	_, err := s.Create("t", 1000, nil)
	require.NoError(t, err)
	require.Greater(t, handlertest.Spent(t, open(s, defaults), ask(12)), int64(1000*26))
}

// Clients that name a new topic at once all get it, and it is made once.
func TestConcurrentCreation(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	var meet sync.WaitGroup
	meet.Add(8)
	s.Before = func(method string) error {
		if method == "CreateTopic" { // all have found the topic missing
			meet.Done()
			meet.Wait()
		}
		return nil
	}
	h := open(s, defaults)
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			resp, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, ask(9, "new"))
			require.NoError(t, err)
			topic := resp.(*kmsg.MetadataResponse).Topics[0]
			require.Zero(t, topic.ErrorCode)
			require.Len(t, topic.Partitions, 2)
			require.Equal(t, [16]byte{3: 1}, topic.TopicID)
		})
	}
	done.Wait()
	require.Equal(t, "new partitions=2\n", s.String())
}

// A failing backend gives a code for each topic that was named.
func TestFailing(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	h := open(s, defaults)
	codes := func(resp kmsg.Response) []int16 {
		var codes []int16
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			codes = append(codes, t.ErrorCode)
		}
		return codes
	}
	admintest.Failing(t, s, h, func(v int16) kmsg.Request {
		req := ask(v, "a", "b")
		if v >= 12 {
			req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: [16]byte{9}})
		}
		return req
	}, codes)

	// A list of all topics has no place for a code.
	s.Before = func(string) error { return backend.ErrUnavailable }
	_, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, ask(13))
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

// What a failing creation answers.
func TestFailingCreation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int16{"unavailable": 41, "outcome-unknown": 5, "too-many-topics": 44, "storage": 56} {
		s := admintest.New(t)
		s.Before = func(method string) error {
			if method == "CreateTopic" {
				return admintest.Errors[name]
			}
			return nil
		}
		resp, err := open(s, defaults).Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, ask(9, "new"))
		require.NoError(t, err)
		require.Equal(t, want, resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode, name)
	}
}

func BenchmarkOneTopic(b *testing.B)    { bench(b, 1, 1) }
func BenchmarkTenThousand(b *testing.B) { bench(b, 10000, 10) }

func bench(b *testing.B, topics int, partitions int32) {
	s := admintest.New(b)
	for i := range topics {
		_, err := s.Create(fmt.Sprintf("topic-%06d", i), partitions, nil)
		require.NoError(b, err)
	}
	h, call := open(s, defaults), handler.Call{MaxFrame: 100 << 20}
	req := ask(12)
	if topics == 1 {
		req = ask(12, "topic-000000")
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		resp, err := h.Handle(context.Background(), call, req)
		if err != nil {
			b.Fatal(err)
		}
		resp.SetVersion(12)
		buf = resp.AppendTo(buf[:0])
	}
}
