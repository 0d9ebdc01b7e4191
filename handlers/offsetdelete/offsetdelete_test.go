package offsetdelete

import (
	"context"
	"errors"
	"fmt"
	"math"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store keeps two topics, "t" (id …1, 2 partitions) and "u" (id …2, 1
// partition), and remembers each call of CommitOffsets.
type store struct {
	backend.Backend // nil: nothing else may be called
	groups          map[string]bool
	calls           []string
	lookups         int
	err             error // of CommitOffsets
}

func (s *store) Topic(_ context.Context, name string) (backend.Topic, error) {
	s.lookups++
	switch name {
	case "t":
		return backend.Topic{Name: name, ID: uuid.UUID{15: 1}, Partitions: 2}, nil
	case "u":
		return backend.Topic{Name: name, ID: uuid.UUID{15: 2}, Partitions: 1}, nil
	}
	return backend.Topic{}, fmt.Errorf("topic %s: %w", name, backend.ErrUnknownTopic)
}

func (s *store) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	if ps != nil || !s.groups[group] {
		return nil, nil
	}
	return map[backend.Partition]backend.CommittedOffset{{}: {}}, nil
}

func (s *store) CommitOffsets(_ context.Context, group string, commits []backend.Commit) error {
	var text strings.Builder
	fmt.Fprintf(&text, "group %q", group)
	for _, c := range commits {
		fmt.Fprintf(&text, "\n  topic %d partition %d offset %d", c.Partition.Topic[15], c.Partition.Index, c.Offset)
	}
	s.calls = append(s.calls, text.String())
	return s.err
}

func open() handler.Handler { return New(&coordinatortest.Fake{}, &store{}) }

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open()) }

// describing is a coordinator with one group.
func describing(group *coordinator.Description) *coordinatortest.Fake {
	return &coordinatortest.Fake{DescribeFunc: func(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
		if ids[0] != group.Group {
			return []coordinator.Description{{Group: ids[0], State: coordinator.Dead}}, nil
		}
		if err := b.Reserve(ctx, b.Price(coordinator.Lengths{Members: len(group.Members)})); err != nil {
			return nil, err
		}
		return []coordinator.Description{*group}, nil
	}}
}

func member(topics ...string) coordinator.MemberDescription {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.UserData = 3, topics, []byte("user data")
	return coordinator.MemberDescription{Metadata: meta.AppendTo(nil)}
}

// The command "group" sets the one group that the coordinator has, "commit"
// gives a group an offset, "calls" shows the calls of CommitOffsets since it was
// last used.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		s, group := &store{groups: map[string]bool{}}, &coordinator.Description{}
		return handlertest.Env{
			Handler: New(describing(group), s),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"group": func(t *testing.T, d *datadriven.TestData) string {
					var state string
					*group = coordinator.Description{}
					d.ScanArgs(t, "id", &group.Group)
					d.ScanArgs(t, "state", &state)
					d.ScanArgs(t, "type", &group.ProtocolType)
					d.MaybeScanArgs(t, "protocol", &group.Protocol)
					group.State = coordinator.State(state)
					if arg, ok := d.Arg("topics"); ok {
						group.Members = append(group.Members, member("other"), member(arg.Vals...))
					}
					return "ok"
				},
				"commit": func(t *testing.T, d *datadriven.TestData) string {
					var group string
					d.ScanArgs(t, "group", &group)
					s.groups[group] = true
					return "ok"
				},
				"calls": func(*testing.T, *datadriven.TestData) string {
					calls := s.calls
					s.calls = nil
					return strings.Join(append(calls, fmt.Sprintf("%d calls", len(calls))), "\n")
				},
			},
		}
	})
}

func ask(t *testing.T, h handler.Handler, topics ...string) *kmsg.OffsetDeleteResponse {
	t.Helper()
	req := &kmsg.OffsetDeleteRequest{Group: "g"}
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: make([]kmsg.OffsetDeleteRequestTopicPartition, 1)})
	}
	resp, err := h.Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	back, err := handlertest.RoundTrip(resp, 0)
	require.NoError(t, err)
	return back.(*kmsg.OffsetDeleteResponse)
}

func codes(resp *kmsg.OffsetDeleteResponse) []int16 {
	codes := []int16{resp.ErrorCode}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

// What members say of their subscriptions, as a Kafka 4.4 broker reads it.
func TestMetadata(t *testing.T) {
	t.Parallel()
	const none = "\xff\xff\xff\xff"
	for name, c := range map[string]struct {
		metadata string
		t, u     int16
	}{
		"garbage":                  {"abc", 86, 86},
		"nothing":                  {"", 86, 86},
		"without user data":        {"\x00\x09\x00\x00\x00\x01\x00\x01t", 86, 86},
		"without owned partitions": {"\x00\x01\x00\x00\x00\x01\x00\x01t" + none, 86, 0},
		"negative version":         {"\xff\xff\x00\x00\x00\x01\x00\x01t" + none, 86, 0},
		"more than it says":        {"\x00\x00\x00\x00\x00\x01\x00\x01t" + none + "more", 86, 0},
		"null topics":              {"\x00\x00" + none + none, 0, 0},
		"a huge count":             {"\x00\x00\x7f\xff\xff\xff\x00\x01x", 86, 86},
		"a name that is cut":       {"\x00\x00\x00\x00\x00\x01\x7f\xffx", 86, 86},
	} {
		group := &coordinator.Description{Group: "g", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range",
			Members: []coordinator.MemberDescription{{Metadata: []byte(c.metadata)}}}
		require.Equal(t, []int16{0, c.t, c.u}, codes(ask(t, New(describing(group), &store{}), "t", "u")), name)
	}
}

// A topic is looked up once, however often it is named.
func TestLookups(t *testing.T) {
	t.Parallel()
	s := &store{groups: map[string]bool{"g": true}}
	require.Equal(t, []int16{0, 0, 3, 0, 3}, codes(ask(t, New(&coordinatortest.Fake{}, s), "t", "nope", "t", "nope")))
	require.Equal(t, 2, s.lookups)
}

// After a failed commit nothing is gone, which the top level says.
func TestFailingBackend(t *testing.T) {
	t.Parallel()
	empty := describing(&coordinator.Description{Group: "g", State: coordinator.Empty})
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 14, backend.ErrOutcomeUnknown: 14, backend.ErrStorage: 14, context.DeadlineExceeded: 14, errors.New("odd"): -1,
	} {
		err := fmt.Errorf("offsets: %w", err)
		failing := backendtest.Failing(nil, err)
		require.Equal(t, []int16{code}, codes(ask(t, New(&coordinatortest.Fake{}, failing), "t")), "%v: offsets", err)
		require.Equal(t, []int16{0, code}, codes(ask(t, New(empty, failing), "t")), "%v: topic", err)
		require.Equal(t, []int16{code}, codes(ask(t, New(empty, &store{err: err}), "t")), "%v: commit", err)
	}
}

// The key of each partition has the name of the group, so that a long name is paid for as often as there are partitions.
func TestLongNamesArePaidFor(t *testing.T) {
	t.Parallel()
	const partitions = 1000
	req := &kmsg.OffsetDeleteRequest{Group: strings.Repeat("g", math.MaxInt16)}
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: make([]kmsg.OffsetDeleteRequestTopicPartition, partitions)}}
	require.GreaterOrEqual(t, handlertest.Spent(t, New(nil, nil), req), int64(2*partitions*math.MaxInt16))
}

// A spent budget, or a coordinator without an answer, closes the connection.
func TestClose(t *testing.T) {
	t.Parallel()
	req := &kmsg.OffsetDeleteRequest{Group: "g"}
	handlertest.Spent(t, New(nil, nil), req)

	group := &coordinator.Description{Group: "g", State: coordinator.Stable, Members: make([]coordinator.MemberDescription, 100)}
	spent, calls := errors.New("spent"), 0
	call := handler.Call{Memory: handlertest.Memory(func(n int64) error {
		if calls++; calls == 1 {
			return nil
		}
		require.Equal(t, 100*memberMemory, n)
		return spent
	})}
	_, err := New(describing(group), nil).Handle(t.Context(), call, req)
	require.ErrorIs(t, err, spent)
}
