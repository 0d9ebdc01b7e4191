package describeconfigs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is what the application fills in: every config that is described.
var broker = settings.Broker{
	Values: map[string]string{
		"broker.id": "1", "node.id": "1", "num.partitions": "3", "default.replication.factor": "1",
		"auto.create.topics.enable": "true", "delete.topic.enable": "true", "message.max.bytes": "2000",
		"log.retention.ms": "604800000", "log.retention.bytes": "-1", "log.cleanup.policy": "delete",
		"log.message.timestamp.type": "CreateTime", "socket.request.max.bytes": "104857600",
		"connections.max.idle.ms": "600000", "fetch.max.bytes": "57671680", "offset.metadata.max.bytes": "4096",
		"group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "1800000",
		"group.initial.rebalance.delay.ms": "3000", "group.max.size": "2147483647", "producer.id.expiration.ms": "86400000",
	},
	Set: map[string]bool{"node.id": true, "broker.id": true, "num.partitions": true},
}

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	var err error
	s.Catalog, err = topicconfig.NewCatalog(map[string]string{topicconfig.MaxMessageBytes: "2000"})
	require.NoError(t, err)
	return New(s, s.Catalog, admintest.Node(), broker), s
}

func TestConform(t *testing.T)  { admintest.Conform(t, open) }
func TestReadme(t *testing.T)   { admintest.Readme(t, open) }
func Fuzz(f *testing.F)         { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T) { admintest.Anything(t, open) }
func TestHidden(t *testing.T)   { admintest.Hidden(t, open) }

// Configs are shown one a line.
var shown = regexp.MustCompile(`(?m)^  - Name: "(.*)"\n    Value: (.*)\n    ReadOnly: (.*)\n    IsDefault: .*\n    Source: (.*)\n    IsSensitive: false\n`)

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := open(t)
		return handlertest.Env{Handler: h, Commands: s.Commands(), Normalize: func(out string) string {
			out = shown.ReplaceAllString(out, "  - $1=$2 read-only $3 $4\n")
			out = strings.ReplaceAll(out, "    ConfigSynonyms: null\n", "")
			return strings.ReplaceAll(out, "    Documentation: null\n", "")
		}}
	})
}

func request(version int16, names ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	for _, name := range names {
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name})
	}
	return req
}

// The price is the length that the encoder makes of the answer, for any mixture
// of resources, names and versions: a limit of just that length is kept, one
// byte less closes the connection.
func TestPrice(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	for i := range 5 {
		_, err := s.Create(fmt.Sprint("topic", i), 1, map[string]string{"retention.ms": fmt.Sprint(i), "cleanup.policy": ""})
		require.NoError(t, err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	pickOne := func(of ...string) string { return of[random.IntN(len(of))] }
	for i := range 400 {
		req := request(int16(1 + i%4))
		req.IncludeSynonyms, req.IncludeDocumentation = random.IntN(2) == 0, random.IntN(2) == 0
		for range random.IntN(6) {
			r := kmsg.DescribeConfigsRequestResource{
				ResourceType: kmsg.ConfigResourceType(pickOne("\x02", "\x02", "\x04", "\x08")[0]),
				ResourceName: pickOne("topic0", "topic1", "topic4", "nope", "a b", "", "1", strings.Repeat("x", 300)),
			}
			for range random.IntN(4) {
				r.ConfigNames = append(r.ConfigNames, pickOne("retention.ms", "segment.ms", "node.id", "nope"))
			}
			req.Resources = append(req.Resources, r)
		}
		resp, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := handlertest.Size(resp, req.Version)
		_, err = h.Handle(context.Background(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err)
		if len(req.Resources) > 0 {
			_, err = h.Handle(context.Background(), handler.Call{MaxFrame: size - 1}, req)
			require.EqualError(t, err, fmt.Sprintf("configs of %d resources take more than max_frame_size %d", len(req.Resources), size-1))
		}
	}
}

// A request that repeats a topic many times stops at the limit, having taken
// little memory.
func TestRepeats(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	names := make([]string, 100000)
	for i := range names {
		names[i] = "a"
	}
	var charged handlertest.Charges
	_, err = h.Handle(t.Context(), handler.Call{MaxFrame: 4 << 20, Memory: &charged}, request(4, names...))
	require.ErrorContains(t, err, "configs of 100000 resources take more than max_frame_size 4194304")
	require.Greater(t, charged.Sum(), int64(4<<20-4096))
	require.Less(t, charged.Sum(), int64(8<<20))
}

// A spent budget closes the connection.
func TestReserve(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	handlertest.Spent(t, h, request(1, "a"))
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, h, func(v int16) kmsg.Request { return request(v, "a", "b") }, func(resp kmsg.Response) []int16 {
		var codes []int16
		for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
			codes = append(codes, r.ErrorCode)
		}
		return codes
	})
}

// The list of a topic is complete and documented.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	req := request(3, "a")
	req.IncludeDocumentation = true
	resp, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, req)
	require.NoError(t, err)
	defs := s.Catalog.Definitions()
	configs := resp.(*kmsg.DescribeConfigsResponse).Resources[0].Configs
	require.Len(t, configs, len(defs))
	for i, c := range configs {
		require.Equal(t, defs[i].Name, c.Name)
		require.Equal(t, defs[i].Documentation, *c.Documentation)
	}
}
