package listoffsets_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/listoffsets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, listoffsets.New(nil)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, listoffsets.New(nil), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, listoffsets.New(nil)) }

// store returns a store with topic "a" of two partitions. Partition 0 holds
// five records in three batches, all but the first compressed:
//
//	offset     0      1    2    3       4
//	timestamp  1000   3000 2000 3000    2500
func store(t *testing.T) backend.Backend {
	s := embeddedtest.Open(t)
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 2})
	require.NoError(t, err)
	at := func(codec record.Codec, ms ...int64) {
		b := recordtest.New().Compressed(codec)
		for _, m := range ms {
			b.Records = append(b.Records, recordtest.Record{Value: []byte("v"), Timestamp: m})
		}
		for _, a := range s.Append(t.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID}, Batch: b.Batch(t)}}) {
			require.NoError(t, a.Err)
		}
	}
	at(record.None, 1000)
	at(record.Zstd, 3000, 2000, 3000)
	at(record.Gzip, 2500)
	return s
}

type ask struct {
	topic     string
	index     int32
	timestamp int64
}

func request(version int16, asks ...ask) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version, r.ReplicaID = version, -1
	for _, a := range asks {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = a.index, a.timestamp
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = a.topic, append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// answers lists the partitions of an answer: topic, index, code, timestamp,
// offset, leader epoch.
func answers(t *testing.T, s listoffsets.Store, req *kmsg.ListOffsetsRequest) []string {
	t.Helper()
	resp, err := listoffsets.New(s).Handle(context.Background(), handler.Call{}, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, req.Version)
	require.NoError(t, err)
	var out []string
	for _, topic := range back.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range topic.Partitions {
			out = append(out, fmt.Sprint(topic.Topic, p.Partition, " ", p.ErrorCode, " ", p.Timestamp, " ", p.Offset, " ", p.LeaderEpoch))
		}
	}
	return out
}

func TestTimes(t *testing.T) {
	s := store(t)
	for ms, want := range map[int64]string{
		0: "a0 0 1000 0 0", 1000: "a0 0 1000 0 0", 1001: "a0 0 3000 1 0", 2000: "a0 0 3000 1 0", 2500: "a0 0 3000 1 0",
		3000: "a0 0 3000 1 0", 3001: "a0 0 -1 -1 -1", math.MaxInt64: "a0 0 -1 -1 -1",
	} {
		require.Equal(t, []string{want}, answers(t, s, request(11, ask{"a", 0, ms})), "ms %d", ms)
		require.Equal(t, []string{"a1 0 -1 -1 -1"}, answers(t, s, request(11, ask{"a", 1, ms})))
	}
}

// Below v4 the answer has no leader epoch.
func TestSpecialTimestamps(t *testing.T) {
	s := store(t)
	const refused = "a0 35 -1 -1 -1"
	for _, c := range []struct {
		timestamp int64
		since     int16
		full      string // the log with records
		empty     string
	}{
		{-1, 1, "a0 0 -1 5 0", "a1 0 -1 0 0"},
		{-2, 1, "a0 0 -1 0 0", "a1 0 -1 0 0"},
		{-3, 7, "a0 0 3000 1 0", "a1 0 -1 -1 -1"},
		{-4, 8, "a0 0 -1 0 0", "a1 0 -1 0 0"},
		{-5, 9, "a0 0 -1 -1 -1", "a1 0 -1 -1 -1"},
		{-6, 11, "a0 0 -1 -1 -1", "a1 0 -1 -1 -1"},
		{-7, 12, "", ""},
		{math.MinInt64, 12, "", ""},
	} {
		for version := int16(4); version <= 11; version++ {
			got := answers(t, s, request(version, ask{"a", 0, c.timestamp}, ask{"a", 1, c.timestamp}))
			if version < c.since {
				require.Equal(t, refused, got[0], "timestamp %d at v%d", c.timestamp, version)
				continue
			}
			require.Equal(t, []string{c.full, c.empty}, got, "timestamp %d at v%d", c.timestamp, version)
		}
	}
	require.Equal(t, []string{"a0 0 -1 5 -1"}, answers(t, s, request(1, ask{"a", 0, -1})))
}

// The order of the checks, and what a broker of Kafka 4.4 answers, but for the
// isolation level.
func TestChecks(t *testing.T) {
	s := store(t)
	epoch := func(r *kmsg.ListOffsetsRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 1 }
	for name, c := range map[string]struct {
		ask    ask
		change func(*kmsg.ListOffsetsRequest)
		want   *kerr.Error
	}{
		"fine":                              {ask{"a", 0, -1}, func(r *kmsg.ListOffsetsRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 0 }, nil},
		"committed only":                    {ask{"a", 0, -1}, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 1 }, nil},
		"a replica":                         {ask{"a", 0, -1}, func(r *kmsg.ListOffsetsRequest) { r.ReplicaID = 3 }, nil},
		"isolation level 2":                 {ask{"a", 0, -1}, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 2 }, kerr.InvalidRequest},
		"isolation level -1":                {ask{"a", 0, -1}, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = -1 }, kerr.InvalidRequest},
		"unknown topic":                     {ask{"nobody", 0, -1}, epoch, kerr.UnknownTopicOrPartition},
		"unknown partition":                 {ask{"a", 2, -1}, epoch, kerr.UnknownTopicOrPartition},
		"negative partition":                {ask{"a", -1, -5}, epoch, kerr.UnknownTopicOrPartition},
		"unknown partition, no tiered data": {ask{"a", 2, -5}, nil, kerr.UnknownTopicOrPartition},
		"future epoch":                      {ask{"a", 0, -1}, epoch, kerr.UnknownLeaderEpoch},
		"timestamp before topic":            {ask{"nobody", 0, -20}, epoch, kerr.UnsupportedVersion},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(11, c.ask)
			if c.change != nil {
				c.change(req)
			}
			want := "a0 0 -1 5 0"
			if c.want != nil {
				want = fmt.Sprintf("%s%d %d -1 -1 -1", c.ask.topic, c.ask.index, c.want.Code)
			}
			require.Equal(t, []string{want}, answers(t, s, req))
		})
	}
}

func TestRepeats(t *testing.T) {
	s := store(t)
	require.Equal(t, []string{"a0 42 -1 -1 -1", "a1 0 -1 0 0", "nobody0 42 -1 -1 -1"}, answers(t, s, request(7,
		ask{"a", 0, -1}, ask{"nobody", 0, -1}, ask{"a", 1, -1}, ask{"a", 0, -2}, ask{"nobody", 0, -1})))
	// A timestamp that the version does not know comes first.
	require.Equal(t, []string{"a0 35 -1 -1 -1"}, answers(t, s, request(7, ask{"a", 0, -9}, ask{"a", 0, -2})))
	require.Empty(t, answers(t, s, request(7)))
}

// Every error answer can be read at every version, whatever failed.
func TestFailingBackend(t *testing.T) {
	s := store(t)
	a, err := s.Topic(t.Context(), "a")
	require.NoError(t, err)
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 6, backend.ErrOutcomeUnknown: 7, backend.ErrStorage: 56, errors.New("odd"): -1,
	} {
		failing := backendtest.Failing(nil, err)
		for _, store := range []listoffsets.Store{failing, halfFailing{failing, a}} {
			for version := int16(1); version <= 11; version++ {
				for _, timestamp := range []int64{0, -1, -2} {
					require.Equal(t, []string{fmt.Sprintf("a0 %d -1 -1 -1", code)},
						answers(t, store, request(version, ask{"a", 0, timestamp})))
				}
			}
			require.Equal(t, []string{fmt.Sprintf("a0 %d -1 -1 -1", code)}, answers(t, store, request(7, ask{"a", 0, -3})))
		}
	}
}

// halfFailing knows its topic and nothing else.
type halfFailing struct {
	backend.Backend
	topic backend.Topic
}

func (h halfFailing) Topic(context.Context, string) (backend.Topic, error) { return h.topic, nil }

func TestClientGoesAway(t *testing.T) {
	handlertest.Gone(t, listoffsets.New(store(t)), request(7, ask{"a", 0, -1}))
}
