package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// impatient allows what is about topics, as long as there is time to find out.
type impatient struct{ asked int }

func (i *impatient) Authorize(ctx context.Context, _ security.Requester, _ kmsg.ACLOperation, on security.Resource) bool {
	return i.AuthorizeAny(ctx, security.Requester{}, 0, on.Type)
}

func (i *impatient) AuthorizeAny(ctx context.Context, _ security.Requester, _ kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	i.asked++
	return ctx.Err() == nil && on == kmsg.ACLResourceTypeTopic
}

// stuck never finds out.
type stuck struct{}

func (stuck) Authorize(ctx context.Context, _ security.Requester, _ kmsg.ACLOperation, _ security.Resource) bool {
	<-ctx.Done()
	return false
}

func (s stuck) AuthorizeAny(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return s.Authorize(ctx, who, op, security.Resource{Type: on})
}

// denials counts what an audit is told.
type denials struct {
	security.Audit
	told int
}

func (d *denials) Denied(security.Requester, kmsg.Key, kmsg.ACLOperation, security.Resource) {
	d.told++
}

// Who may do something is not told otherwise because the time of the request is over,
// and nothing of it is audited.
func TestAccessWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), over} {
		audit, authorizer := &denials{}, &impatient{}
		a := access{authorizer: authorizer, audit: audit}
		topic, group := security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "t"}, security.Resource{Type: kmsg.ACLResourceTypeGroup, Name: "g"}
		require.True(t, a.Authorize(ctx, kmsg.ACLOperationRead, topic, false))
		require.True(t, a.AuthorizeAny(ctx, kmsg.ACLOperationRead, topic.Type))
		require.Zero(t, audit.told)
		require.False(t, a.Authorize(ctx, kmsg.ACLOperationRead, group, true))
		require.False(t, a.Authorize(ctx, kmsg.ACLOperationRead, group, false))
		require.False(t, a.AuthorizeAny(ctx, kmsg.ACLOperationRead, group.Type))
		require.Equal(t, 2, audit.told)
		if ctx.Err() == nil {
			require.Equal(t, 5, authorizer.asked, "a no is a no")
		}
	}
}

// An authorizer that does not find out is not waited for without end.
func TestAccessIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		a := access{authorizer: stuck{}}
		require.False(t, a.Authorize(ctx, kmsg.ACLOperationRead, security.Cluster, false))
		require.Equal(t, time.Second+secondAnswer, time.Since(began))
	})
}
