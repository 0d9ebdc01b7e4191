package createtopics

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (handler.Handler, *admintest.Topics) {
	s := admintest.New(t)
	return New(s, s.Catalog, admintest.Node(), settings.Topics{DefaultPartitions: 3, MaxNewPartitions: 100}), s
}

func TestConform(t *testing.T)  { admintest.Conform(t, open) }
func TestReadme(t *testing.T)   { admintest.Readme(t, open) }
func Fuzz(f *testing.F)         { admintest.Fuzz(f, open) }
func TestAnything(t *testing.T) { admintest.Anything(t, open) }

// Configs at their default are left out of the scenarios, and made-up ids.
var (
	defaultConfig = regexp.MustCompile(`  - Name: .*\n    Value: .*\n    ReadOnly: false\n    Source: 5\n    IsSensitive: false\n`)
	randomID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := open(t)
		return handlertest.Env{Handler: h, Commands: s.Commands(), Normalize: func(out string) string {
			return randomID.ReplaceAllString(defaultConfig.ReplaceAllString(out, ""), "(made up)")
		}}
	})
}

func plain(names ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 60000
	for _, name := range names {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// The answer shows every config, sorted.
func TestAllConfigs(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	req := plain("t")
	value := "77"
	req.Topics[0].Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: &value}}
	resp, err := h.Handle(context.Background(), handler.Call{}, req)
	require.NoError(t, err)
	configs := resp.(*kmsg.CreateTopicsResponse).Topics[0].Configs
	defs := s.Catalog.Definitions()
	require.Len(t, configs, len(defs))
	for i, c := range configs {
		require.Equal(t, defs[i].Name, c.Name)
		if c.Name == "retention.ms" {
			require.Equal(t, "77", *c.Value)
			require.EqualValues(t, kmsg.ConfigSourceDynamicTopicConfig, c.Source)
			continue
		}
		require.Equal(t, defs[i].Default, *c.Value)
		require.EqualValues(t, kmsg.ConfigSourceDefaultConfig, c.Source)
	}
}

func TestFailing(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	admintest.Failing(t, s, h, func(int16) kmsg.Request { return plain("a", "b") }, codes)
}

func codes(resp kmsg.Response) []int16 {
	var codes []int16
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		codes = append(codes, t.ErrorCode)
	}
	return codes
}

// The timeout of the request bounds the backend's work.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{Topics: admintest.New(t)}
		h := New(s, s.Catalog, admintest.Node(), settings.Topics{DefaultPartitions: 1, MaxNewPartitions: 100})
		req := plain("a")
		req.TimeoutMillis = 1
		resp, err := h.Handle(context.Background(), handler.Call{}, req)
		require.NoError(t, err)
		require.Equal(t, []int16{7}, codes(resp))
		require.Equal(t, time.Now(), s.deadline) // in the bubble's time, which stood still but for the wait
	})
}

// A request whose time is up begins nothing more.
func TestExpired(t *testing.T) { admintest.Expired(t, open, plain("c", "d"), codes) }

// A budget that is spent closes the connection before anything is made.
func TestReserve(t *testing.T) {
	t.Parallel()
	h, s := open(t)
	require.Greater(t, handlertest.Spent(t, h, plain("a", "b")), int64(2*createdCost))
	require.Equal(t, "none", s.String())
}

// What a refusal quotes is cut, so that its length fits into 16 bits: longer texts made the rest of the answer unreadable.
func TestLongValuesAreReadable(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	long := strings.Repeat("x", math.MaxInt16)
	req := plain("a", "b")
	req.Version = 4
	for i := range req.Topics {
		req.Topics[i].Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: &long}}
	}
	answer, err := h.Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	answer.SetVersion(4)
	read := kmsg.NewPtrCreateTopicsResponse()
	read.Version = 4
	require.NoError(t, read.ReadFrom(answer.AppendTo(nil)))
	require.Len(t, read.Topics, 2)
	for i, topic := range read.Topics {
		require.Equal(t, req.Topics[i].Topic, topic.Topic)
		require.Contains(t, *topic.ErrorMessage, "Invalid value xxx")
	}
}
