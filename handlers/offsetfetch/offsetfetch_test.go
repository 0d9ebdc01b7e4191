package offsetfetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/offsetfetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store keeps three topics, "t" (id …1, 3 partitions), "u" (id …2, 1 partition)
// and "b" (id …3, 1 partition), and what group "g" has committed. It counts its
// calls.
type store struct {
	backend.Backend  // nil: nothing else may be called
	topics           []backend.Topic
	committed        map[string]map[backend.Partition]backend.CommittedOffset
	lookups, fetches int
	err              error // of FetchOffsets
	lost             error // of TopicByID
}

func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

func newStore() *store {
	return &store{
		topics: []backend.Topic{{Name: "t", ID: id(1), Partitions: 3}, {Name: "u", ID: id(2), Partitions: 1}, {Name: "b", ID: id(3), Partitions: 1}},
		committed: map[string]map[backend.Partition]backend.CommittedOffset{"g": {
			{Topic: id(1), Index: 2}: {Offset: 12, LeaderEpoch: -1},
			{Topic: id(1), Index: 0}: {Offset: 10, LeaderEpoch: 4, Metadata: "md"},
			{Topic: id(3), Index: 0}: {Offset: 0, LeaderEpoch: 0},
			{Topic: id(9), Index: 0}: {Offset: 7}, // of a topic that is being deleted
		}},
	}
}

func (s *store) find(match func(backend.Topic) bool) (backend.Topic, error) {
	s.lookups++
	if i := slices.IndexFunc(s.topics, match); i >= 0 {
		return s.topics[i], nil
	}
	return backend.Topic{}, fmt.Errorf("find: %w", backend.ErrUnknownTopic)
}

func (s *store) Topic(_ context.Context, name string) (backend.Topic, error) {
	return s.find(func(t backend.Topic) bool { return t.Name == name })
}

func (s *store) TopicByID(_ context.Context, id uuid.UUID) (backend.Topic, error) {
	if s.lost != nil {
		return backend.Topic{}, s.lost
	}
	return s.find(func(t backend.Topic) bool { return t.ID == id })
}

func (s *store) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	s.fetches++
	if s.err != nil || ps == nil {
		return s.committed[group], s.err
	}
	found := map[backend.Partition]backend.CommittedOffset{}
	for _, p := range ps {
		if c, ok := s.committed[group][p]; ok {
			found[p] = c
		}
	}
	return found, nil
}

func TestConform(t *testing.T) { handlertest.Conform(t, offsetfetch.New(newStore())) }

func TestReadme(t *testing.T) { handlertest.Readme(t, offsetfetch.New(newStore()), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, offsetfetch.New(newStore())) }

// TestScenarios runs against the store above; "fail" makes it fail, "calls"
// shows how often it was called since it was last used.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	s := newStore()
	return handlertest.Env{
		Handler: offsetfetch.New(s),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"fail": func(*testing.T, *datadriven.TestData) string {
				s.err = fmt.Errorf("fetch: %w", backend.ErrStorage)
				return "ok"
			},
			"calls": func(*testing.T, *datadriven.TestData) string {
				defer func() { s.lookups, s.fetches = 0, 0 }()
				return fmt.Sprintf("topics %d, offsets %d", s.lookups, s.fetches)
			},
		},
	}
}

// request asks for partition 0 and 1 of topic "t", or for everything.
func request(version int16, everything bool) *kmsg.OffsetFetchRequest {
	req := &kmsg.OffsetFetchRequest{Version: version, Group: "g", Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g"}}}
	if !everything {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
		req.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: id(1), Partitions: []int32{0, 1}}}
	}
	return req
}

func answer(t *testing.T, s offsetfetch.Store, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	t.Helper()
	resp, err := offsetfetch.New(s).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, req.Version)
	require.NoError(t, err)
	return back.(*kmsg.OffsetFetchResponse)
}

// A failing backend fails the whole group, in the place that each version has
// for it, and never looks like "nothing committed".
func TestBackendFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int16
	}{
		{backend.ErrUnavailable, 14}, {backend.ErrOutcomeUnknown, 14}, {backend.ErrStorage, 14},
		{context.DeadlineExceeded, 14}, {errors.New("unforeseen"), -1},
	} {
		atOffsets := newStore()
		atOffsets.err = tc.err
		for name, s := range map[string]offsetfetch.Store{"topics": backendtest.Failing(nil, tc.err), "offsets": atOffsets} {
			for v := int16(1); v <= 10; v++ {
				for _, everything := range []bool{false, true} {
					if everything && v < 2 {
						continue
					}
					resp := answer(t, s, request(v, everything))
					switch {
					case v == 1:
						require.Len(t, resp.Topics, 1)
						require.Len(t, resp.Topics[0].Partitions, 2)
						for i, p := range resp.Topics[0].Partitions {
							require.Equal(t, int32(i), p.Partition)
							require.Equal(t, tc.code, p.ErrorCode, "v%d %s", v, name)
							require.Equal(t, int64(-1), p.Offset)
						}
					case v <= 7:
						require.Equal(t, tc.code, resp.ErrorCode, "v%d %s", v, name)
						require.Empty(t, resp.Topics)
					default:
						require.Len(t, resp.Groups, 1)
						require.Equal(t, tc.code, resp.Groups[0].ErrorCode, "v%d %s", v, name)
						require.Empty(t, resp.Groups[0].Topics)
					}
				}
			}
		}
	}
}

// To have the offsets and not the names of their topics is a failure too.
func TestNamesOfTopicsCannotBeFound(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.lost = backend.ErrUnavailable
	resp := answer(t, s, request(8, true))
	require.Equal(t, int16(14), resp.Groups[0].ErrorCode)
	require.Empty(t, resp.Groups[0].Topics)
}

// Ten thousand partitions cost one look-up and one fetch when they are named,
// and one look-up a topic when all are asked for.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.topics[0].Partitions = 10_000
	req := request(8, false)
	req.Groups[0].Topics[0].Partitions = make([]int32, 10_000)
	s.committed["g"] = map[backend.Partition]backend.CommittedOffset{}
	for i := range int32(10_000) {
		req.Groups[0].Topics[0].Partitions[i] = i
		s.committed["g"][backend.Partition{Topic: id(1), Index: i}] = backend.CommittedOffset{Offset: int64(i), LeaderEpoch: -1}
	}
	for _, everything := range []bool{false, true} {
		if everything {
			req = request(8, true)
		}
		s.lookups, s.fetches = 0, 0
		resp := answer(t, s, req)
		require.Len(t, resp.Groups[0].Topics, 1)
		require.Len(t, resp.Groups[0].Topics[0].Partitions, 10_000)
		for i, p := range resp.Groups[0].Topics[0].Partitions {
			require.Equal(t, int32(i), p.Partition)
			require.Equal(t, int64(i), p.Offset)
		}
		require.Equal(t, 1, s.lookups)
		require.Equal(t, 1, s.fetches)
	}
}

// A small request can ask for the same large group again and again: the answer
// is given up as soon as it must be too large for a frame, and all of it is
// charged.
func TestRepeatedGroupsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.committed["g"] = map[backend.Partition]backend.CommittedOffset{
		{Topic: id(1), Index: 0}: {Offset: 1, Metadata: strings.Repeat("x", 4096)},
	}
	req := &kmsg.OffsetFetchRequest{Version: 8, Groups: slices.Repeat([]kmsg.OffsetFetchRequestGroup{{Group: "g"}}, 100_000)}
	_, err := offsetfetch.New(s).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
	require.ErrorContains(t, err, "max_frame_size is 1048576")
	require.Less(t, s.fetches, 300)

	req.Groups = req.Groups[:10]
	for _, everything := range []bool{true, false} {
		if !everything {
			for i := range req.Groups {
				req.Groups[i].Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}}
			}
		}
		var charged handlertest.Charges
		_, err = offsetfetch.New(s).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20, Memory: &charged}, req)
		require.NoError(t, err)
		require.Greater(t, charged.Sum(), int64(10*4096))
	}

	handlertest.Spent(t, offsetfetch.New(s), req)
}
