package describegroups_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/describegroups"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, describegroups.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, describegroups.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, describegroups.New(&coordinatortest.Fake{})) }

// shelf is a coordinator that describes what stands on it, as the contract of
// Describe asks: distinct ids, priced first, copied after.
type shelf struct {
	groups map[string]coordinator.Description
	asked  []string
	copied int
}

func (s *shelf) describe(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
	s.asked = append(s.asked, strings.Join(ids, ","))
	var sum int64
	for _, id := range ids {
		if sum += b.Price(lengths(s.find(id))); sum > b.Limit {
			return nil, fmt.Errorf("describe: %w", coordinator.ErrTooLarge)
		}
	}
	if b.Reserve != nil {
		if err := b.Reserve(ctx, sum); err != nil {
			return nil, err
		}
	}
	var out []coordinator.Description
	for _, id := range ids {
		s.copied++
		out = append(out, s.find(id))
	}
	return out, nil
}

func (s *shelf) find(id string) coordinator.Description {
	if d, ok := s.groups[id]; ok {
		return d
	}
	return coordinator.Description{Group: id, State: coordinator.Dead}
}

func lengths(d coordinator.Description) coordinator.Lengths {
	l := coordinator.Lengths{Group: d.Group, State: d.State, ProtocolType: d.ProtocolType, Protocol: d.Protocol, Members: len(d.Members)}
	for _, m := range d.Members {
		l.MemberIDs.Add(len(m.MemberID), 1)
		if m.InstanceID == nil {
			l.InstanceIDs.Add(-1, 1)
		} else {
			l.InstanceIDs.Add(len(*m.InstanceID), 1)
		}
		l.ClientIDs.Add(len(m.ClientID), 1)
		l.ClientHosts.Add(len(m.ClientHost), 1)
		l.Metadata.Add(len(m.Metadata), 1)
		l.Assignments.Add(len(m.Assignment), 1)
	}
	return l
}

func fakeOf(s *shelf) *coordinatortest.Fake { return &coordinatortest.Fake{DescribeFunc: s.describe} }

func stocked() *shelf {
	instance := "instance-1"
	return &shelf{groups: map[string]coordinator.Description{
		"stable": {
			Group: "stable", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range",
			Members: []coordinator.MemberDescription{
				{MemberID: "a", InstanceID: &instance, ClientID: "app", ClientHost: "/10.0.0.7", Metadata: []byte("ma"), Assignment: []byte("xa")},
				{MemberID: "b", Metadata: []byte("mb"), Assignment: []byte("xb")},
			},
		},
		"completing": {
			Group: "completing", State: coordinator.CompletingRebalance, ProtocolType: "connect", Protocol: "sessioned",
			Members: []coordinator.MemberDescription{{MemberID: "c", Metadata: []byte("mc")}},
		},
		"preparing": {Group: "preparing", State: coordinator.PreparingRebalance},
	}}
}

// TestScenarios runs against a shelf with three groups; "asked" shows the ids
// of each call since it was last used.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	s := stocked()
	return handlertest.Env{
		Handler: describegroups.New(fakeOf(s)),
		Call:    handler.Call{MaxFrame: 1 << 10},
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"asked": func(*testing.T, *datadriven.TestData) string {
				defer func() { s.asked = nil }()
				return strings.Join(s.asked, "\n")
			},
		},
	}
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes, nothing is copied, and the error carries both numbers.
func TestAnswerAtTheFrameLimit(t *testing.T) {
	t.Parallel()
	for v := int16(0); v <= 6; v++ {
		s := stocked()
		h := describegroups.New(fakeOf(s))
		req := &kmsg.DescribeGroupsRequest{Version: v, Groups: []string{"stable", "absent", "stable"}}
		resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := handlertest.Size(resp, v)

		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err, "v%d: equal is allowed", v)

		s.copied = 0
		resp, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
		require.ErrorIs(t, err, coordinator.ErrTooLarge)
		require.ErrorContains(t, err, fmt.Sprintf("at least %d bytes, max_frame_size is %d", size, size-1))
		require.Nil(t, resp)
		require.Zero(t, s.copied)
	}
}

// The answer is charged to the memory budget before anything is copied; when
// the budget is spent the connection closes with the budget's own error.
func TestAnswerIsChargedBeforeItIsCopied(t *testing.T) {
	t.Parallel()
	s := stocked()
	h := describegroups.New(fakeOf(s))
	req := &kmsg.DescribeGroupsRequest{Version: 6, Groups: []string{"stable"}}
	var charged handlertest.Charges
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20, Memory: &charged}, req)
	require.NoError(t, err)
	resp.SetVersion(6)
	require.Len(t, charged, 2, "the ids, then the answer")
	require.GreaterOrEqual(t, charged[1], int64(len(resp.AppendTo(nil))))

	s.copied = 0
	handlertest.Spent(t, h, req)
	require.Zero(t, s.copied)
}

// Ten thousand names of one group, and of ten thousand, in one request.
func TestManyIDs(t *testing.T) {
	t.Parallel()
	s := stocked()
	h := describegroups.New(fakeOf(s))
	same := slices.Repeat([]string{"stable"}, 10_000)
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 10}, &kmsg.DescribeGroupsRequest{Groups: same})
	require.NoError(t, err)
	require.Len(t, resp.(*kmsg.DescribeGroupsResponse).Groups, 1)
	require.Equal(t, []string{"stable"}, s.asked)

	different := make([]string, 10_000)
	for i := range different {
		different[i] = fmt.Sprint(i)
	}
	resp, err = h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, &kmsg.DescribeGroupsRequest{Groups: different})
	require.NoError(t, err)
	require.Len(t, resp.(*kmsg.DescribeGroupsResponse).Groups, 10_000)
}
