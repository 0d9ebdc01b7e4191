package createacls

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/security/acls/aclstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(nil)) }

func TestReadme(t *testing.T) { handlertest.Readme(t, New(nil), "README.md") }

func Fuzz(f *testing.F) { handlertest.Fuzz(f, New(nil)) }

func TestScenarios(t *testing.T) { aclstest.Scenarios(t, New) }

func two(version int16) *kmsg.CreateACLsRequest {
	n := kmsg.NewCreateACLsRequestCreation()
	n.ResourceType, n.ResourceName, n.Principal, n.Host, n.Operation, n.PermissionType = 2, "t", "User:a", "*", 3, 3
	return &kmsg.CreateACLsRequest{Version: version, Creations: []kmsg.CreateACLsRequestCreation{n, n}}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	aclstest.Errors(t, New, func(v int16) kmsg.Request { return two(v) }, func(resp kmsg.Response) (all []aclstest.Result) {
		for _, r := range resp.(*kmsg.CreateACLsResponse).Results {
			all = append(all, aclstest.Result{Code: r.ErrorCode, Message: r.ErrorMessage})
		}
		return all
	})
}

func TestSpent(t *testing.T) {
	t.Parallel()
	l := aclstest.Open(t)
	handlertest.Spent(t, New(l), two(3))
	require.Zero(t, l.Len(), "created before it was paid for")
}
