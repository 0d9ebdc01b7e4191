package listgroups_test

import (
	"context"
	"fmt"
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
	"github.com/iggykafka/gateway/handlers/listgroups"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, listgroups.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, listgroups.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, listgroups.New(&coordinatortest.Fake{})) }

var three = []coordinator.Listing{
	{Group: "a", ProtocolType: "consumer", State: coordinator.Stable},
	{Group: "b", ProtocolType: "connect", State: coordinator.CompletingRebalance},
	{Group: "c", State: coordinator.PreparingRebalance},
}

// TestScenarios runs against a coordinator that lists three groups whatever it
// is asked; "asked" shows the filter it was asked with.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	var asked coordinator.Filter
	fake := &coordinatortest.Fake{ListFunc: func(_ context.Context, f coordinator.Filter) []coordinator.Listing {
		asked = f
		return three
	}}
	return handlertest.Env{
		Handler: listgroups.New(fake),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"asked": func(*testing.T, *datadriven.TestData) string {
				return fmt.Sprintf("states %q types %q", asked.States, asked.Types)
			},
		},
	}
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes, and the error carries both numbers.
func TestAnswerAtTheFrameLimit(t *testing.T) {
	t.Parallel()
	h := listgroups.New(&coordinatortest.Fake{ListFunc: func(context.Context, coordinator.Filter) []coordinator.Listing {
		return three
	}})
	for v := int16(0); v <= 5; v++ {
		req := &kmsg.ListGroupsRequest{Version: v}
		resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
		require.NoError(t, err)
		size := handlertest.Size(resp, v)

		_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
		require.NoError(t, err, "v%d: equal is allowed", v)
		resp, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
		require.EqualError(t, err, fmt.Sprintf("ListGroups answer of %d bytes is above max_frame_size %d", size, size-1))
		require.Nil(t, resp)
	}
}

func TestAnswerIsCharged(t *testing.T) {
	t.Parallel()
	h := listgroups.New(&coordinatortest.Fake{ListFunc: func(context.Context, coordinator.Filter) []coordinator.Listing {
		return []coordinator.Listing{{Group: strings.Repeat("g", 1<<10)}}
	}})
	var charged handlertest.Charges
	_, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20, Memory: &charged}, &kmsg.ListGroupsRequest{})
	require.NoError(t, err)
	require.Greater(t, charged.Sum(), int64(1<<10))

	handlertest.Spent(t, h, &kmsg.ListGroupsRequest{})
}
