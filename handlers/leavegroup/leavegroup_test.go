package leavegroup_test

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
	"github.com/iggykafka/gateway/handlers/leavegroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, leavegroup.New(&coordinatortest.Fake{})) }

func TestReadme(t *testing.T) {
	handlertest.Readme(t, leavegroup.New(&coordinatortest.Fake{}), "README.md")
}

func Fuzz(f *testing.F) { handlertest.Fuzz(f, leavegroup.New(&coordinatortest.Fake{})) }

// TestScenarios runs against a coordinator that answers with what the command
// "coordinator" sets: a code that refuses the request, or codes for the
// identities. "asked" shows what it was last asked.
func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }

func open(*testing.T) handlertest.Env {
	var asked []string
	var refused coordinator.Code
	var codes []coordinator.Code
	fake := &coordinatortest.Fake{LeaveFunc: func(_ context.Context, group string, ids []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
		asked = []string{fmt.Sprintf("group %q", group)}
		for _, id := range ids {
			who := fmt.Sprintf("member %q", id.MemberID)
			if id.InstanceID != nil {
				who += fmt.Sprintf(" instance %q", *id.InstanceID)
			}
			asked = append(asked, who)
		}
		return refused, codes
	}}
	return handlertest.Env{
		Handler: leavegroup.New(fake),
		Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"coordinator": func(t *testing.T, d *datadriven.TestData) string {
				refused, codes = 0, nil
				for _, arg := range d.CmdArgs {
					for i := range arg.Vals {
						var code int
						arg.Scan(t, i, &code)
						if arg.Key == "refused" {
							refused = coordinator.Code(code)
						} else {
							codes = append(codes, coordinator.Code(code))
						}
					}
				}
				return "ok"
			},
			"asked": func(*testing.T, *datadriven.TestData) string { return strings.Join(asked, "\n") },
		},
	}
}

func TestEveryCodeAtEveryVersion(t *testing.T) {
	t.Parallel()
	for _, code := range []coordinator.Code{coordinator.InvalidGroupID, coordinator.UnknownMemberID, coordinator.FencedInstanceID} {
		for _, refuse := range []bool{true, false} {
			h := leavegroup.New(&coordinatortest.Fake{LeaveFunc: func(_ context.Context, _ string, ids []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
				if refuse {
					return code, nil
				}
				codes := make([]coordinator.Code, len(ids))
				for i := range codes {
					codes[i] = code
				}
				return coordinator.None, codes
			}})
			for v := int16(0); v <= 5; v++ {
				req := &kmsg.LeaveGroupRequest{Version: v, Members: []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}}
				resp, err := h.Handle(t.Context(), handler.Call{}, req)
				require.NoError(t, err)
				back, err := handlertest.RoundTrip(resp, v)
				require.NoError(t, err)
				got := back.(*kmsg.LeaveGroupResponse)
				if refuse || v < 3 {
					require.Equal(t, int16(code), got.ErrorCode, "v%d", v)
					require.Empty(t, got.Members)
					continue
				}
				require.Zero(t, got.ErrorCode)
				require.Len(t, got.Members, 1)
				require.Equal(t, int16(code), got.Members[0].ErrorCode)
			}
		}
	}
}

// A coordinator that breaks its contract does not get a wrong answer out.
func TestMissingCodesClose(t *testing.T) {
	t.Parallel()
	h := leavegroup.New(&coordinatortest.Fake{LeaveFunc: func(context.Context, string, []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
		return coordinator.None, nil
	}})
	_, err := h.Handle(t.Context(), handler.Call{}, &kmsg.LeaveGroupRequest{Version: 0})
	require.ErrorContains(t, err, "0 codes for 1 leaving members")
}
