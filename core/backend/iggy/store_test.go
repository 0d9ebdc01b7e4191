package iggy

import (
	"context"
	"errors"
	"testing"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	for want, change := range map[string]func(*Config){
		"iggy.stream: \"\" is not the name of a stream; it has 1 to 255 bytes":                                                           func(c *Config) { c.Stream = "" },
		"iggy.internal_stream: \"kafka\" is iggy.stream too; clients would see what the gateway keeps for itself":                        func(c *Config) { c.InternalStream = "kafka" },
		"iggy.fetch_compression: \"lzma\" is none of none, gzip, snappy, lz4, zstd":                                                      func(c *Config) { c.FetchCompression = "lzma" },
		"iggy.poll_interval: 0s is too short; set at least 1ms":                                                                          func(c *Config) { c.PollInterval = 0 },
		"iggy.send_bytes: 1 is too small; set at least 1024":                                                                             func(c *Config) { c.SendBytes = 1 },
		"iggy.cache_bytes: -1 is negative; 0 keeps nothing":                                                                              func(c *Config) { c.CacheBytes = -1 },
		"iggy.topic_map: \"a\" is not an entry; write name=stream/topic":                                                                 func(c *Config) { c.TopicMap = "a" },
		"iggy.topic_map: \"a=b\" is not an entry; write name=stream/topic":                                                               func(c *Config) { c.TopicMap = "a=b" },
		"iggy.topic_map: \"a=s/u\": topic \"a\" has an entry already":                                                                    func(c *Config) { c.TopicMap = "a=s/t,a=s/u" },
		"iggy.topic_map: \"b=s/t\": topic \"a\" points there already":                                                                    func(c *Config) { c.TopicMap = "a=s/t,b=s/t" },
		"iggy.topic_map: \"a=kafka-gateway/t\": stream \"kafka-gateway\" is iggy.internal_stream, which is the gateway's own":            func(c *Config) { c.TopicMap = "a=kafka-gateway/t" },
		"iggy.topic_map: \"a b=s/t\": no Kafka topic can be named \"a b\": 1 to 249 of A-Z a-z 0-9 . _ - are":                            func(c *Config) { c.TopicMap = "a b=s/t" },
		"iggy.topic_map: \"x\" is not an entry; write name=stream/topic\niggy.topic_map: \"y\" is not an entry; write name=stream/topic": func(c *Config) { c.TopicMap = "x,y" },
	} {
		c := DefaultConfig()
		change(&c)
		require.EqualError(t, c.Validate(), want)
	}
	// All at once, those of the connections too.
	err := Config{}.Validate()
	for _, key := range []string{"iggy.address: ", "iggy.stream: ", "iggy.connections.send: ", "iggy.poll_interval: "} {
		require.ErrorContains(t, err, key)
	}
}

func TestTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	lost := make(chan error, 1)
	f := newFakes(t, func(f *fakes) { f.opts.OnLost = func(err error) { lost <- err } })
	topic := f.create("t", 1)
	close(f.ledger.lost)
	require.ErrorContains(t, <-lost, "iggy.internal_stream")
	_, err := f.Topic(t.Context(), "t")
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = f.partition(t.Context(), backend.Partition{Topic: topic.ID})
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = f.NewProducerID(t.Context())
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Len(t, messages(f.logs, zapcore.ErrorLevel), 1)
}

func TestNothingBeforeTheStartAndAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	require.NoError(t, f.Store.Close())
	require.NoError(t, f.Store.Close(), "twice does no harm")
	for _, s := range []*Store{f.Store, New(DefaultConfig(), f.configs, Options{})} {
		_, err := s.AllTopics(t.Context())
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.ErrorIs(t, s.CommitOffsets(t.Context(), "g", nil), backend.ErrUnavailable)
		require.NoError(t, s.Close())
	}
}

func TestAStartThatFails(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	s := New(f.cfg, f.configs, f.opts)
	s.opts.dial = func(Config, Options) (server, error) { return f.server, nil }
	s.opts.open = func(context.Context, server, Config, Options) (ledger, error) { return nil, errors.New("owned") }
	require.EqualError(t, s.Start(t.Context()), "iggy.internal_stream: owned")
	require.NoError(t, s.Close())
}

// A user that may not do what it must is told what that is.
func TestStartWithoutPermissions(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.server.set(func() { f.server.errs["EnsureStream"] = ierror.ErrUnauthorized })
	s := New(f.cfg, f.configs, f.opts)
	s.opts.dial = func(Config, Options) (server, error) { return f.server, nil }
	err := s.Start(t.Context())
	require.ErrorContains(t, err, "iggy.stream: kafka: ")
	require.ErrorContains(t, err, "manage streams and topics, and to poll and send messages")
	require.NoError(t, s.Close())
}

func TestEnds(t *testing.T) {
	t.Parallel()
	f := newFakes(t, func(f *fakes) { f.opts.endsInterval = time.Millisecond })
	topic := f.create("t", 2)
	at := func(i int32) *partition {
		p, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID, Index: i})
		require.NoError(t, err)
		return p
	}
	require.Zero(t, f.knownEnd(at(0)))
	f.sawEnd(at(0), 5)
	f.sawEnd(at(0), 4)
	require.EqualValues(t, 5, f.knownEnd(at(0)))
	require.Eventually(t, func() bool { return f.ledger.keys(keyEnd) == 1 }, time.Minute, time.Millisecond)
	f.sawEnd(at(1), 7)
	f.restart()
	require.EqualValues(t, 5, f.knownEnd(at(0)))
	require.EqualValues(t, 7, f.knownEnd(at(1)), "the end of the store writes the last ones")
	require.NoError(t, f.checkEnd(t.Context(), at(0), 5))
	err := f.checkEnd(t.Context(), at(0), 3)
	require.ErrorIs(t, err, backend.ErrStorage)
	for _, part := range []string{"partition 0 of topic t", "offset 3", "reached 5", "iggy.accept_truncation"} {
		require.ErrorContains(t, err, part)
	}

	f.cfg.AcceptTruncation = true
	f.restart()
	require.NoError(t, f.checkEnd(t.Context(), at(0), 3))
	require.NoError(t, f.checkEnd(t.Context(), at(0), 3))
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1, "said once")
	require.EqualValues(t, 3, f.knownEnd(at(0)))
	f.cfg.AcceptTruncation = false
	f.restart()
	require.NoError(t, f.checkEnd(t.Context(), at(0), 3), "the lower end has taken its place")
}

func TestLeads(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 1)
	find := func() *partition {
		p, err := f.partition(t.Context(), backend.Partition{Topic: topic.ID})
		require.NoError(t, err)
		return p
	}
	p := find()
	require.EqualValues(t, assumedLead, f.lead(p))
	require.NoError(t, f.raiseLead(t.Context(), p, assumedLead))
	require.Zero(t, f.ledger.keys(keyLead), "that much is assumed anyway")
	require.NoError(t, f.raiseLead(t.Context(), p, assumedLead+1))
	require.EqualValues(t, 16384, f.lead(p))
	f.ledger.fail(backend.ErrUnavailable)
	require.NoError(t, f.raiseLead(t.Context(), p, 16384))
	require.ErrorIs(t, f.raiseLead(t.Context(), p, 16385), backend.ErrUnavailable)
	f.ledger.fail(nil)
	require.NoError(t, f.raiseLead(t.Context(), p, 1<<62+1))
	f.restart()
	require.EqualValues(t, 1<<62+1, f.lead(find()))
}

// Ids are never handed out twice, also when it is not known whether a block was
// reserved.
func TestProducerIDs(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	seen := map[int64]bool{}
	draw := func() {
		t.Helper()
		id, err := f.NewProducerID(t.Context())
		require.NoError(t, err)
		require.False(t, seen[id], id)
		seen[id] = true
	}
	for range idBlock + 1 {
		draw()
	}
	f.ids.next = f.ids.end
	f.ledger.fail(backend.ErrOutcomeUnknown)
	_, err := f.NewProducerID(t.Context())
	require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
	f.ledger.fail(nil)
	draw()
	f.restart()
	draw()
	require.Equal(t, 4, len(seen)-idBlock+1)
}
