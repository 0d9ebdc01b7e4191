package createacls

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls/aclstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil)) }

func TestReadme(t *testing.T) { handlertest.Readme(t, New(nil), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, New(nil)) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		l := aclstest.Open(t)
		return handlertest.Env{Handler: New(l), Commands: aclstest.Commands(l)}
	})
}

func two(version int16) *kmsg.CreateACLsRequest {
	n := kmsg.NewCreateACLsRequestCreation()
	n.ResourceType, n.ResourceName, n.Principal, n.Host, n.Operation, n.PermissionType = 2, "t", "User:a", "*", 3, 3
	return &kmsg.CreateACLsRequest{Version: version, Creations: []kmsg.CreateACLsRequestCreation{n, n}}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for v := int16(1); v <= 3; v++ {
		for _, c := range []struct {
			acls security.ACLs
			code int16
			text *string
		}{
			{nil, 54, kmsg.StringPtr("No Authorizer is configured.")},
			{aclstest.Failing{Err: backend.ErrUnavailable}, 41, nil},
			{aclstest.Failing{Err: security.Refuse(kerr.PolicyViolation, "full")}, 44, kmsg.StringPtr("full")},
		} {
			resp, err := New(c.acls).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, two(v))
			require.NoError(t, err)
			back, err := handlertest.RoundTrip(resp, v)
			require.NoError(t, err)
			results := back.(*kmsg.CreateACLsResponse).Results
			require.Len(t, results, 2)
			for _, r := range results {
				require.Equal(t, c.code, r.ErrorCode)
				require.Equal(t, c.text, r.ErrorMessage)
			}
		}
	}
}

func TestSpent(t *testing.T) {
	t.Parallel()
	l := aclstest.Open(t)
	handlertest.Spent(t, New(l), two(3))
	require.Zero(t, l.Len(), "created before it was paid for")
}
