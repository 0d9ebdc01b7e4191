package offsetcommit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/offsetcommit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var limits = settings.Offsets{MetadataMax: 20}

// store keeps two topics, "t" (id …1, 2 partitions) and "u" (id …2, 1
// partition), and remembers each call of CommitOffsets.
type store struct {
	backend.Backend // nil: nothing else may be called
	topics          []backend.Topic
	calls           []string
	lookups         int
	err             error // of CommitOffsets
}

func newStore() *store {
	return &store{topics: []backend.Topic{{Name: "t", ID: uuid.UUID{15: 1}, Partitions: 2}, {Name: "u", ID: uuid.UUID{15: 2}, Partitions: 1}}}
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
	return s.find(func(t backend.Topic) bool { return t.ID == id })
}

func (s *store) CommitOffsets(_ context.Context, group string, commits []backend.Commit) error {
	var text strings.Builder
	fmt.Fprintf(&text, "group %q", group)
	for _, c := range commits {
		fmt.Fprintf(&text, "\n  topic %d partition %d offset %d epoch %d metadata %q",
			c.Partition.Topic[15], c.Partition.Index, c.Offset, c.LeaderEpoch, c.Metadata)
		if c.CommitTime.IsZero() {
			text.WriteString(" without a time")
		}
	}
	s.calls = append(s.calls, text.String())
	return s.err
}

func accepting() *coordinatortest.Fake {
	return &coordinatortest.Fake{CheckCommitFunc: func(context.Context, coordinator.HeartbeatRequest) coordinator.Code {
		return coordinator.None
	}}
}

func TestConform(t *testing.T) {
	handlertest.Conform(t, offsetcommit.New(accepting(), newStore(), limits))
}

func TestReadme(t *testing.T) {
	handlertest.Readme(t, offsetcommit.New(accepting(), newStore(), limits), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, offsetcommit.New(accepting(), newStore(), limits)) }

// TestScenarios runs against a store with two topics; the command "group" sets
// the code of the group's check, "fail" makes the store fail, "asked" shows
// what the group and the store were asked since it was last used.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	s := newStore()
	var code int
	var checks []string
	fake := &coordinatortest.Fake{CheckCommitFunc: func(_ context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
		check := fmt.Sprintf("check group %q member %q generation %d", r.Group, r.MemberID, r.Generation)
		if r.InstanceID != nil {
			check += fmt.Sprintf(" instance %q", *r.InstanceID)
		}
		checks = append(checks, check)
		return coordinator.Code(code)
	}}
	return handlertest.Env{
		Handler: offsetcommit.New(fake, s, limits),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"group": func(t *testing.T, d *datadriven.TestData) string {
				d.ScanArgs(t, "code", &code)
				return "ok"
			},
			"fail": func(*testing.T, *datadriven.TestData) string {
				s.err = fmt.Errorf("commit: %w", backend.ErrStorage)
				return "ok"
			},
			"asked": func(*testing.T, *datadriven.TestData) string {
				all := append(checks, s.calls...)
				checks, s.calls = nil, nil
				if len(all) == 0 {
					return "nothing"
				}
				return strings.Join(all, "\n")
			},
		},
	}
}

func request(version int16, group string, partitions ...int32) *kmsg.OffsetCommitRequest {
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "t", uuid.UUID{15: 1}
	for _, index := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = index, 7
		topic.Partitions = append(topic.Partitions, p)
	}
	return &kmsg.OffsetCommitRequest{Version: version, Group: group, Generation: -1, Topics: []kmsg.OffsetCommitRequestTopic{topic}}
}

func codes(t *testing.T, h handler.Handler, req *kmsg.OffsetCommitRequest) []int16 {
	t.Helper()
	resp, err := h.Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, req.Version)
	require.NoError(t, err)
	var all []int16
	for _, topic := range back.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range topic.Partitions {
			all = append(all, p.ErrorCode)
		}
	}
	return all
}

// A failing backend, at the look-up of a topic or at the commit itself, is a
// code on every partition at every version.
func TestBackendFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int16
	}{
		{backend.ErrUnavailable, 14}, {backend.ErrOutcomeUnknown, 14}, {backend.ErrStorage, 14},
		{context.DeadlineExceeded, 14}, {errors.New("unforeseen"), -1},
	} {
		for v := int16(2); v <= 10; v++ {
			h := offsetcommit.New(accepting(), backendtest.Failing(nil, tc.err), limits)
			require.Equal(t, []int16{tc.code, tc.code}, codes(t, h, request(v, "g", 0, 1)), "v%d look-up: %v", v, tc.err)

			s := newStore()
			s.err = tc.err
			h = offsetcommit.New(accepting(), s, limits)
			require.Equal(t, []int16{tc.code, 3, tc.code}, codes(t, h, request(v, "g", 0, 2, 1)), "v%d commit: %v", v, tc.err)
		}
	}
}

// A group id that a legacy string cannot hold is refused before anything is
// looked at, on every partition, those that do not exist too.
func TestGroupIDTooLong(t *testing.T) {
	t.Parallel()
	s := newStore()
	h := offsetcommit.New(&coordinatortest.Fake{}, s, limits)
	require.Equal(t, []int16{24, 24}, codes(t, h, request(8, strings.Repeat("g", 32_768), 0, 9)))
	require.Zero(t, s.lookups)

	h = offsetcommit.New(accepting(), s, limits)
	require.Equal(t, []int16{0, 3}, codes(t, h, request(8, strings.Repeat("g", 32_767), 0, 9)))
}

// Kafka counts metadata in UTF-16 units. More than 32,767 bytes could not be
// read back by OffsetFetch v1–5, whatever the limit says.
func TestMetadataLength(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		metadata string
		max      int
		code     int16
	}{
		{"as long as allowed", strings.Repeat("x", 20), 20, 0},
		{"one too many", strings.Repeat("x", 21), 20, 12},
		{"two bytes, one unit", strings.Repeat("é", 20), 20, 0},
		{"three bytes, one unit", strings.Repeat("€", 21), 20, 12},
		{"four bytes, two units", strings.Repeat("😀", 10), 20, 0},
		{"four bytes, two units, one too many", strings.Repeat("😀", 10) + "x", 20, 12},
		{"not UTF-8: a unit a byte", strings.Repeat("\xff", 21), 20, 12},
		{"as long as a legacy string", strings.Repeat("x", 32_767), 1 << 20, 0},
		{"longer than a legacy string", strings.Repeat("x", 32_768), 1 << 20, 12},
		{"none allowed", "x", 0, 12},
		{"none allowed, none sent", "", 0, 0},
	} {
		req := request(8, "g", 0, 1)
		req.Topics[0].Partitions[0].Metadata = &tc.metadata
		h := offsetcommit.New(accepting(), newStore(), settings.Offsets{MetadataMax: tc.max})
		require.Equal(t, []int16{tc.code, 0}, codes(t, h, req), tc.name)
	}
}

// Many partitions cost one look-up a topic and one call of the store.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.topics[0].Partitions = 10_000
	indexes := make([]int32, 10_000)
	for i := range indexes {
		indexes[i] = int32(i)
	}
	got := codes(t, offsetcommit.New(accepting(), s, limits), request(8, "g", indexes...))
	require.Equal(t, make([]int16, 10_000), got)
	require.Equal(t, 1, s.lookups)
	require.Len(t, s.calls, 1)
}

// Each partition is stored under the name of the group, so that a long name is paid for as often as there are partitions.
func TestLongNamesArePaidFor(t *testing.T) {
	t.Parallel()
	const partitions = 1000
	name, metadata := strings.Repeat("g", math.MaxInt16), strings.Repeat("m", 1000)
	s := newStore()
	req := request(8, name, make([]int32, partitions)...)
	for i := range req.Topics[0].Partitions {
		req.Topics[0].Partitions[i].Metadata = &metadata
	}
	var paid handlertest.Charges
	_, err := offsetcommit.New(accepting(), s, settings.Offsets{MetadataMax: len(metadata)}).Handle(t.Context(), handler.Call{Memory: &paid}, req)
	require.NoError(t, err)
	require.Len(t, s.calls, 1)
	require.GreaterOrEqual(t, paid.Sum(), int64(2*partitions*(len(name)+len(metadata))))
}

func TestNoMemoryClosesBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	s := newStore()
	handlertest.Spent(t, offsetcommit.New(accepting(), s, limits), request(8, "g", 0))
	require.Empty(t, s.calls)
}
