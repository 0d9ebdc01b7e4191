package heartbeat_test

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
	"github.com/iggykafka/gateway/handlers/heartbeat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, heartbeat.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, heartbeat.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, heartbeat.New(&coordinatortest.Fake{})) }

// TestScenarios runs against a coordinator that answers the code set by the
// command "coordinator"; "asked" shows what it was last asked.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	var asked string
	var code int
	fake := &coordinatortest.Fake{HeartbeatFunc: func(_ context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
		asked = fmt.Sprintf("group %q member %q generation %d", r.Group, r.MemberID, r.Generation)
		if r.InstanceID != nil {
			asked += fmt.Sprintf(" instance %q", *r.InstanceID)
		}
		return coordinator.Code(code)
	}}
	return handlertest.Env{
		Handler: heartbeat.New(fake),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"coordinator": func(t *testing.T, d *datadriven.TestData) string {
				d.ScanArgs(t, "code", &code)
				return "ok"
			},
			"asked": func(*testing.T, *datadriven.TestData) string { return asked },
		},
	}
}

func TestEveryCodeAtEveryVersion(t *testing.T) {
	t.Parallel()
	for _, code := range []coordinator.Code{
		coordinator.None, coordinator.NotCoordinator, coordinator.InvalidGroupID, coordinator.UnknownMemberID,
		coordinator.FencedInstanceID, coordinator.IllegalGeneration, coordinator.RebalanceInProgress,
	} {
		h := heartbeat.New(&coordinatortest.Fake{HeartbeatFunc: func(context.Context, coordinator.HeartbeatRequest) coordinator.Code {
			return code
		}})
		for v := int16(0); v <= 4; v++ {
			resp, err := h.Handle(t.Context(), handler.Call{}, &kmsg.HeartbeatRequest{Version: v})
			require.NoError(t, err)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoError(t, err)
			require.Equal(t, int16(code), back.(*kmsg.HeartbeatResponse).ErrorCode, "v%d", v)
		}
	}
}
