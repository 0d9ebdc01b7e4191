package fetch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, fetch.New(nil, limits)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, fetch.New(nil, limits), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, fetch.New(nil, limits)) }

const mib = 1 << 20

// What a broker of Kafka 4.4 answers to the same requests.
func TestPartitionChecks(t *testing.T) {
	for name, c := range map[string]struct {
		ask    ask
		change func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition)
		want   *kerr.Error
	}{
		"data":                           {ask{"a", 0, 0, mib}, nil, nil},
		"end":                            {ask{"a", 0, 3, mib}, nil, nil},
		"beyond the end":                 {ask{"a", 0, 4, mib}, nil, kerr.OffsetOutOfRange},
		"negative offset":                {ask{"a", 0, -1, mib}, nil, kerr.OffsetOutOfRange},
		"unknown topic":                  {ask{"nobody", 0, 0, mib}, nil, kerr.UnknownTopicOrPartition},
		"no topic name":                  {ask{"", 0, 0, mib}, nil, kerr.UnknownTopicOrPartition},
		"unknown partition":              {ask{"a", 2, 0, mib}, nil, kerr.UnknownTopicOrPartition},
		"negative partition":             {ask{"a", -1, 0, mib}, nil, kerr.UnknownTopicOrPartition},
		"replica":                        {ask{"a", 0, 0, mib}, func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.ReplicaID = 2 }, kerr.NotLeaderForPartition},
		"debugging consumer":             {ask{"a", 0, 0, mib}, func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.ReplicaID = -2 }, nil},
		"leader epoch":                   {ask{"a", 0, 0, mib}, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 0 }, nil},
		"future leader epoch":            {ask{"a", 0, 0, mib}, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 1 }, kerr.UnknownLeaderEpoch},
		"future leader epoch, no offset": {ask{"a", 0, 9, mib}, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 1 }, kerr.UnknownLeaderEpoch},
		"last fetched epoch":             {ask{"a", 0, 0, mib}, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 0 }, nil},
		"future last fetched epoch":      {ask{"a", 0, 0, mib}, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 1 }, kerr.OffsetOutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			f := store("a")
			f.add(t, "a", 0, 100, 100, 100)
			req := request(c.ask)
			if c.change != nil {
				c.change(req, &req.Topics[0].Partitions[0])
			}
			// None of these waits, but for the end of the log.
			req.MaxWaitMillis = 1 << 30
			if name == "end" {
				req.MaxWaitMillis = 0
			}
			resp := answer(t, f, req)
			require.Zero(t, resp.ErrorCode)
			require.Zero(t, resp.SessionID)
			want := got{c.ask.topic, c.ask.index, 0, 0, 3, []int{100, 100, 100}}
			switch {
			case c.want != nil:
				want = got{c.ask.topic, c.ask.index, c.want.Code, -1, -1, nil}
			case name == "end":
				want.Batches = nil
			}
			require.Equal(t, []got{want}, parts(t, resp))
		})
	}
}

func TestReplicaStateFromV15(t *testing.T) {
	f := store("a")
	req := request(ask{"", 0, 0, mib})
	req.Version, req.Topics[0].TopicID, req.ReplicaState.ID = 15, f.topics["a"], 3
	require.Equal(t, kerr.NotLeaderForPartition.Code, answer(t, f, req).Topics[0].Partitions[0].ErrorCode)
}

func TestSessions(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 100)
	for _, epoch := range []int32{0, -1} {
		req := request(ask{"a", 0, 0, mib})
		req.SessionID, req.SessionEpoch = 77, epoch
		resp := answer(t, f, req)
		require.Zero(t, resp.ErrorCode)
		require.Zero(t, resp.SessionID)
		require.Len(t, parts(t, resp)[0].Batches, 1)
	}
	for _, epoch := range []int32{1, -2, 1 << 30} {
		req := request(ask{"a", 0, 0, mib})
		req.SessionID, req.SessionEpoch = 77, epoch
		resp := answer(t, f, req)
		require.Equal(t, kerr.FetchSessionIDNotFound.Code, resp.ErrorCode)
		require.Empty(t, resp.Topics)
	}
}

func TestIsolation(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 100)
	for level, null := range map[int8]bool{0: true, 1: false} {
		req := request(ask{"a", 0, 0, mib})
		req.IsolationLevel = level
		p := answer(t, f, req).Topics[0].Partitions[0]
		require.Zero(t, p.ErrorCode)
		require.Equal(t, null, p.AbortedTransactions == nil)
		require.Equal(t, int32(-1), p.PreferredReadReplica)
		require.NotEmpty(t, p.RecordBatches)
	}
	for _, level := range []int8{2, -1} {
		req := request(ask{"a", 0, 0, mib}, ask{"a", 1, 0, mib})
		req.IsolationLevel, req.MaxWaitMillis = level, 1<<30
		resp := answer(t, f, req)
		require.Equal(t, kerr.InvalidRequest.Code, resp.ErrorCode)
		code := kerr.InvalidRequest.Code
		require.Equal(t, []got{{"a", 0, code, -1, -1, nil}, {"a", 1, code, -1, -1, nil}}, parts(t, resp))
	}
}

func TestLimits(t *testing.T) {
	f := store("a", "b")
	f.add(t, "a", 1, 100, 200, 300)
	f.add(t, "b", 0, 1000)
	f.add(t, "b", 1, 100, 100)
	all := func(max int32) []ask {
		return []ask{{"a", 0, 0, max}, {"a", 1, 0, max}, {"b", 0, 0, max}, {"b", 1, 0, max}}
	}
	for name, c := range map[string]struct {
		max  int32 // of the request
		each int32 // of each partition
		want [][]int
	}{
		"all":                            {mib, mib, [][]int{nil, {100, 200, 300}, {1000}, {100, 100}}},
		"exactly all":                    {1800, mib, [][]int{nil, {100, 200, 300}, {1000}, {100, 100}}},
		"a byte less":                    {1799, mib, [][]int{nil, {100, 200, 300}, {1000}, {100}}},
		"large batch is passed by":       {900, mib, [][]int{nil, {100, 200, 300}, nil, {100, 100}}},
		"full":                           {600, mib, [][]int{nil, {100, 200, 300}, nil, nil}},
		"whole batches":                  {599, mib, [][]int{nil, {100, 200}, nil, {100, 100}}},
		"first whatever the limit":       {1, mib, [][]int{nil, {100}, nil, nil}},
		"nothing allowed":                {0, mib, [][]int{nil, {100}, nil, nil}},
		"negative":                       {-5, -5, [][]int{nil, {100}, nil, nil}},
		"nothing allowed of a partition": {mib, 0, [][]int{nil, {100}, nil, nil}},
		"limits of the partitions":       {mib, 300, [][]int{nil, {100, 200}, nil, {100, 100}}},
		"one a partition":                {mib, 150, [][]int{nil, {100}, nil, {100}}},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(all(c.each)...)
			req.MaxBytes, req.MaxWaitMillis = c.max, 1<<30
			var batches [][]int
			for _, p := range parts(t, answer(t, f, req)) {
				require.Zero(t, p.Code)
				batches = append(batches, p.Batches)
			}
			require.Equal(t, c.want, batches)
		})
	}
}

// The gateway's own limits lower those of the request.
func TestOwnLimits(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 100, 200, 300)
	small := limits
	small.MaxBytes = 350
	resp, err := fetch.New(f, small).Handle(context.Background(), handler.Call{}, request(ask{"a", 0, 0, mib}))
	require.NoError(t, err)
	require.Equal(t, []int{100, 200}, parts(t, resp.(*kmsg.FetchResponse))[0].Batches)

	// An answer fits a frame: header and partition take less than 150 bytes.
	resp, err = fetch.New(f, limits).Handle(context.Background(), handler.Call{MaxFrame: 500}, request(ask{"a", 0, 0, mib}))
	require.NoError(t, err)
	require.Equal(t, []int{100, 200}, parts(t, resp.(*kmsg.FetchResponse))[0].Batches)
	resp.SetVersion(12)
	require.LessOrEqual(t, len(resp.AppendTo(nil)), 500)
}

// The batch that contains the offset is returned whole.
func TestOffsetInsideBatch(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 100, 200)
	f.change("a", 0, func(l *partitionLog) {
		l.batches[1].LastOffsetDelta, l.bounds.End, l.bounds.Start = 4, 6, 1
	})
	require.Equal(t, []got{{"a", 0, 0, 1, 6, []int{200}}}, parts(t, answer(t, f, request(ask{"a", 0, 4, mib}))))
}

// Of several entries for a partition the last counts; a topic named twice is
// one topic.
func TestRepeats(t *testing.T) {
	f := store("a", "b")
	f.add(t, "a", 0, 100)
	f.add(t, "b", 0, 100)
	resp := answer(t, f, request(ask{"a", 0, 99, mib}, ask{"a", 1, 0, mib}, ask{"b", 0, 0, mib}, ask{"a", 0, 0, mib}))
	require.Equal(t, []got{{"a", 0, 0, 0, 1, []int{100}}, {"a", 1, 0, 0, 0, nil}, {"b", 0, 0, 0, 1, []int{100}}}, parts(t, resp))
	resp = answer(t, f, request(ask{"a", 0, 0, mib}, ask{"a", 0, 99, mib}))
	require.Equal(t, []got{{"a", 0, 1, -1, -1, nil}}, parts(t, resp))
}

func TestTopicIDs(t *testing.T) {
	f := store("a")
	f.add(t, "a", 0, 100)
	req := request(ask{"", 0, 0, mib}, ask{"x", 0, 0, mib}, ask{"y", 0, 0, mib}, ask{"z", 7, 0, mib})
	req.Version = 13
	unknown := uuid.New()
	for i, id := range []uuid.UUID{f.topics["a"], unknown, uuid.Nil, f.topics["a"]} {
		req.Topics[i].Topic, req.Topics[i].TopicID = "", id
	}
	resp := answer(t, f, req)
	require.Len(t, resp.Topics, 3)
	for i, id := range []uuid.UUID{f.topics["a"], unknown, uuid.Nil} {
		require.Equal(t, id, uuid.UUID(resp.Topics[i].TopicID))
	}
	require.Equal(t, []got{
		{"", 0, 0, 0, 1, []int{100}}, {"", 7, kerr.UnknownTopicOrPartition.Code, -1, -1, nil},
		{"", 0, kerr.UnknownTopicID.Code, -1, -1, nil}, {"", 0, kerr.UnknownTopicID.Code, -1, -1, nil},
	}, parts(t, resp))
}

func TestNoTopics(t *testing.T) {
	req := request()
	req.MaxWaitMillis = 1 << 30
	resp := answer(t, store(), req)
	require.Zero(t, resp.ErrorCode)
	require.Empty(t, resp.Topics)
}

func TestBackendErrors(t *testing.T) {
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 6, backend.ErrOutcomeUnknown: 6, context.DeadlineExceeded: 6, backend.ErrStorage: 56,
		errors.New("odd"): -1, backend.ErrUnknownTopic: 3,
	} {
		f := store("a")
		f.add(t, "a", 0, 100)
		f.change("a", 1, func(l *partitionLog) { l.err = err })
		require.Equal(t, []got{{"a", 0, 0, 0, 1, []int{100}}, {"a", 1, code, -1, -1, nil}},
			parts(t, answer(t, f, request(ask{"a", 0, 0, mib}, ask{"a", 1, 0, mib}))))
	}
}

// Every error answer can be read at every version, whatever failed.
func TestFailingBackend(t *testing.T) {
	for _, err := range []error{backend.ErrUnavailable, backend.ErrOutcomeUnknown, backend.ErrStorage, errors.New("odd")} {
		for version := int16(4); version <= 18; version++ {
			req := request(ask{"a", 0, 0, mib}, ask{"a", 1, 0, mib})
			req.Version, req.MaxWaitMillis = version, 1<<30
			if version >= 13 {
				req.Topics[0].Topic, req.Topics[0].TopicID = "", uuid.New()
			}
			resp := answer(t, backendtest.Failing(nil, err), req)
			require.Len(t, resp.Topics[0].Partitions, 2)
			for _, p := range resp.Topics[0].Partitions {
				require.NotZero(t, p.ErrorCode)
			}
		}
	}
}
