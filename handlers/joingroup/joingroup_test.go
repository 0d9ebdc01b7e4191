package joingroup_test

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
	"github.com/iggykafka/gateway/handlers/joingroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, joingroup.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, joingroup.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, joingroup.New(&coordinatortest.Fake{})) }

// TestScenarios runs against a coordinator whose next result is set by the
// command "coordinator"; "asked" shows what it was last asked.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(t *testing.T) handlertest.Env {
	var asked coordinator.JoinRequest
	var next coordinator.JoinResult
	fake := &coordinatortest.Fake{JoinFunc: func(_ context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
		asked = r
		return next
	}}
	return handlertest.Env{
		Handler: joingroup.New(fake),
		Call:    handler.Call{ClientID: "app", Host: "/10.0.0.7"},
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"coordinator": func(t *testing.T, d *datadriven.TestData) string {
				next = result(t, d)
				return "ok"
			},
			"asked": func(*testing.T, *datadriven.TestData) string { return describe(asked) },
		},
	}
}

// result reads: coordinator code=79 generation=2 type=consumer protocol=range
// leader=a member=b skip members=(id/instance/metadata, id//metadata).
func result(t *testing.T, d *datadriven.TestData) coordinator.JoinResult {
	var r coordinator.JoinResult
	var code int
	var members []string
	d.MaybeScanArgs(t, "code", &code)
	d.MaybeScanArgs(t, "generation", &r.Generation)
	d.MaybeScanArgs(t, "type", &r.ProtocolType)
	d.MaybeScanArgs(t, "protocol", &r.Protocol)
	d.MaybeScanArgs(t, "leader", &r.LeaderID)
	d.MaybeScanArgs(t, "member", &r.MemberID)
	for _, arg := range d.CmdArgs {
		if arg.Key == "members" {
			members = arg.Vals
		}
	}
	r.Code, r.SkipAssignment = coordinator.Code(code), d.HasArg("skip")
	for _, m := range members {
		part := strings.Split(m, "/")
		require.Len(t, part, 3)
		member := coordinator.JoinedMember{MemberID: part[0], Metadata: []byte(part[2])}
		if part[1] != "" {
			member.InstanceID = &part[1]
		}
		r.Members = append(r.Members, member)
	}
	return r
}

func describe(r coordinator.JoinRequest) string {
	instance := "none"
	if r.InstanceID != nil {
		instance = *r.InstanceID
	}
	text := fmt.Sprintf("group %q member %q instance %s client %q at %q\n", r.Group, r.MemberID, instance, r.ClientID, r.ClientHost) +
		fmt.Sprintf("session %v rebalance %v type %q\n", r.SessionTimeout, r.RebalanceTimeout, r.ProtocolType)
	for _, p := range r.Protocols {
		text += fmt.Sprintf("protocol %q %q\n", p.Name, p.Metadata)
	}
	return text + fmt.Sprintf("require member id %v, can skip assignment %v\n", r.RequireMemberID, r.CanSkipAssignment)
}

// Every code of the coordinator encodes and decodes at every version.
func TestEveryRefusalAtEveryVersion(t *testing.T) {
	t.Parallel()
	for _, code := range []coordinator.Code{
		coordinator.CoordinatorNotAvailable, coordinator.NotCoordinator, coordinator.InconsistentGroupProtocol,
		coordinator.InvalidGroupID, coordinator.UnknownMemberID, coordinator.InvalidSessionTimeout,
		coordinator.InvalidRequest, coordinator.MemberIDRequired, coordinator.GroupMaxSizeReached,
		coordinator.FencedInstanceID,
	} {
		h := joingroup.New(&coordinatortest.Fake{JoinFunc: func(context.Context, coordinator.JoinRequest) coordinator.JoinResult {
			return coordinator.JoinResult{Code: code, MemberID: "m"}
		}})
		for v := int16(0); v <= 9; v++ {
			resp, err := h.Handle(t.Context(), handler.Call{}, &kmsg.JoinGroupRequest{Version: v})
			require.NoError(t, err)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoError(t, err, "v%d %v", v, code)
			got := back.(*kmsg.JoinGroupResponse)
			require.Equal(t, int16(code), got.ErrorCode)
			require.Equal(t, int32(-1), got.Generation)
			require.Equal(t, "m", got.MemberID)
			require.Empty(t, got.LeaderID)
			require.Empty(t, got.Members)
			if v >= 7 {
				require.Nil(t, got.Protocol)
				require.Nil(t, got.ProtocolType)
			}
		}
	}
}

// A parked call ends when the client goes away, and when the gateway shuts
// down although the client is still there.
func TestTheWaitEndsWithTheCallAndWithTheGateway(t *testing.T) {
	t.Parallel()
	parked := make(chan struct{}, 1)
	h := joingroup.New(&coordinatortest.Fake{JoinFunc: func(ctx context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
		parked <- struct{}{}
		<-ctx.Done()
		return coordinator.JoinResult{Code: coordinator.NotCoordinator, MemberID: r.MemberID}
	}})
	for _, ending := range []string{"client", "gateway"} {
		ctx, goAway := context.WithCancel(t.Context())
		drain, shutDown := context.WithCancel(t.Context())
		answered := make(chan kmsg.Response, 1)
		go func() {
			resp, _ := h.Handle(ctx, handler.Call{Drain: drain}, &kmsg.JoinGroupRequest{MemberID: "m"})
			answered <- resp
		}()
		<-parked
		if ending == "client" {
			goAway()
		} else {
			shutDown()
		}
		require.Equal(t, int16(coordinator.NotCoordinator), (<-answered).(*kmsg.JoinGroupResponse).ErrorCode, ending)
		goAway()
		shutDown()
	}
}

// Each call that gets the leader's answer is charged for it: calls that are
// parked for one member all get that member's answer.
func TestTheLeadersAnswerIsCharged(t *testing.T) {
	t.Parallel()
	metadata := make([]byte, 1<<20)
	instance := "instance"
	h := joingroup.New(&coordinatortest.Fake{JoinFunc: func(context.Context, coordinator.JoinRequest) coordinator.JoinResult {
		return coordinator.JoinResult{Members: []coordinator.JoinedMember{
			{MemberID: "a", Metadata: metadata}, {MemberID: "b", InstanceID: &instance, Metadata: metadata},
		}}
	}})
	var charged handlertest.Charges
	_, err := h.Handle(t.Context(), handler.Call{Memory: &charged}, &kmsg.JoinGroupRequest{})
	require.NoError(t, err)
	require.InDelta(t, 2<<20, charged.Sum(), 1<<10)

	handlertest.Spent(t, h, &kmsg.JoinGroupRequest{}) // no room for the answer closes the connection
}
