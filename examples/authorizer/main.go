// Command authorizer is a gateway in which each team has what begins with its name:
// whoever logs in as orders may do everything with topics, groups and transactions
// whose names begin with "orders.", and look at the cluster; who is in no team may
// do nothing. The configuration chooses it by authorization.authorizer: teams.
package main

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/authorizer"
)

func main() { app.Main(gateway.Plugins(), module) }

var module = fx.Module("teams", fx.Provide(func() authorizer.Out {
	return authorizer.Out{Candidate: authorizer.Candidate{
		Name: "teams", Make: func() (security.Authorizer, error) { return teams{"orders", "billing"}, nil },
	}}
}))

// teams are the users who may do something.
type teams []string

func (t teams) Authorize(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	if on.Type == kmsg.ACLResourceTypeCluster {
		return op == kmsg.ACLOperationDescribe && t.AuthorizeAny(ctx, who, op, on.Type)
	}
	return strings.HasPrefix(on.Name, who.Principal.Name+".") && t.AuthorizeAny(ctx, who, op, on.Type)
}

// AuthorizeAny tells who could have something of a type. Numbers that are no
// operation and no type come from clients, too.
func (t teams) AuthorizeAny(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return ctx.Err() == nil && who.Principal.Type == security.UserType && slices.Contains(t, who.Principal.Name) &&
		op >= kmsg.ACLOperationRead && op <= kmsg.ACLOperationAlterConfigs &&
		on >= kmsg.ACLResourceTypeTopic && on <= kmsg.ACLResourceTypeTransactionalId
}
