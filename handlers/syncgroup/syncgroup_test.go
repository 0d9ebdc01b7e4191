package syncgroup_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/syncgroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, syncgroup.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, syncgroup.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, syncgroup.New(&coordinatortest.Fake{})) }

// TestScenarios runs against a coordinator whose next result is set by the
// command "coordinator"; "asked" shows what it was last asked, or that it was
// not.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	asked := "nothing"
	var next coordinator.SyncResult
	fake := &coordinatortest.Fake{SyncFunc: func(_ context.Context, r coordinator.SyncRequest) coordinator.SyncResult {
		asked = describe(r)
		return next
	}}
	return handlertest.Env{
		Handler: syncgroup.New(fake),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"coordinator": func(t *testing.T, d *datadriven.TestData) string {
				var code int
				var assignment string
				next = coordinator.SyncResult{}
				d.MaybeScanArgs(t, "code", &code)
				d.MaybeScanArgs(t, "type", &next.ProtocolType)
				d.MaybeScanArgs(t, "protocol", &next.Protocol)
				d.MaybeScanArgs(t, "assignment", &assignment)
				next.Code, next.Assignment = coordinator.Code(code), []byte(assignment)
				return "ok"
			},
			"asked": func(*testing.T, *datadriven.TestData) string {
				defer func() { asked = "nothing" }()
				return asked
			},
		},
	}
}

func describe(r coordinator.SyncRequest) string {
	or := func(s *string) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%q", *s)
	}
	text := fmt.Sprintf("group %q member %q instance %s generation %d type %s protocol %s\n",
		r.Group, r.MemberID, or(r.InstanceID), r.Generation, or(r.ProtocolType), or(r.Protocol))
	for _, a := range r.Assignments {
		text += fmt.Sprintf("assign %q %q\n", a.MemberID, a.Data)
	}
	return text
}

func TestEveryRefusalAtEveryVersion(t *testing.T) {
	t.Parallel()
	for _, code := range []coordinator.Code{
		coordinator.NotCoordinator, coordinator.InvalidGroupID, coordinator.UnknownMemberID, coordinator.FencedInstanceID,
		coordinator.IllegalGeneration, coordinator.InconsistentGroupProtocol, coordinator.InvalidRequest,
		coordinator.RebalanceInProgress,
	} {
		h := syncgroup.New(&coordinatortest.Fake{SyncFunc: func(context.Context, coordinator.SyncRequest) coordinator.SyncResult {
			return coordinator.SyncResult{Code: code, ProtocolType: "leaks", Protocol: "leaks", Assignment: []byte("leaks")}
		}})
		named := "range"
		for v := int16(0); v <= 5; v++ {
			resp, err := h.Handle(t.Context(), handler.Call{}, &kmsg.SyncGroupRequest{Version: v, ProtocolType: &named, Protocol: &named})
			require.NoError(t, err)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoError(t, err)
			got := back.(*kmsg.SyncGroupResponse)
			require.Equal(t, int16(code), got.ErrorCode, "v%d", v)
			require.Nil(t, got.ProtocolType)
			require.Nil(t, got.Protocol)
			require.Empty(t, got.MemberAssignment)
		}
	}
}

// A parked call ends when the client goes away, and when the gateway shuts
// down although the client is still there.
func TestTheWaitEndsWithTheCallAndWithTheGateway(t *testing.T) {
	t.Parallel()
	parked := make(chan struct{}, 1)
	h := syncgroup.New(&coordinatortest.Fake{SyncFunc: func(ctx context.Context, _ coordinator.SyncRequest) coordinator.SyncResult {
		parked <- struct{}{}
		<-ctx.Done()
		return coordinator.SyncResult{Code: coordinator.NotCoordinator}
	}})
	for _, ending := range []string{"client", "gateway"} {
		ctx, goAway := context.WithCancel(t.Context())
		drain, shutDown := context.WithCancel(t.Context())
		answered := make(chan kmsg.Response, 1)
		go func() {
			resp, _ := h.Handle(ctx, handler.Call{Drain: drain}, &kmsg.SyncGroupRequest{})
			answered <- resp
		}()
		<-parked
		if ending == "client" {
			goAway()
		} else {
			shutDown()
		}
		require.Equal(t, int16(coordinator.NotCoordinator), (<-answered).(*kmsg.SyncGroupResponse).ErrorCode, ending)
		goAway()
		shutDown()
	}
}
