package handler_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// readers allows READ alone, and fails the test when it would be audited.
type readers struct{ t *testing.T }

func (r readers) Authorize(_ context.Context, op kmsg.ACLOperation, _ security.Resource, quiet bool) bool {
	require.True(r.t, quiet)
	return op == kmsg.ACLOperationRead
}

func (readers) AuthorizeAny(context.Context, kmsg.ACLOperation, kmsg.ACLResourceType) bool {
	return false
}

// The bits are those that Kafka answers to a super user.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on  kmsg.ACLResourceType
		all int32
	}{
		{kmsg.ACLResourceTypeTopic, 3576},
		{kmsg.ACLResourceTypeGroup, 3400},
		{kmsg.ACLResourceTypeCluster, 8096},
		{kmsg.ACLResourceTypeTransactionalId, 0},
	} {
		require.Equal(t, c.all, handler.Call{}.Operations(t.Context(), c.on, "a"), "%s without an authorizer", c.on)
		reader := handler.Call{Access: readers{t}}.Operations(t.Context(), c.on, "a")
		require.Equal(t, c.all&(1<<kmsg.ACLOperationRead), reader, "%s of a reader", c.on)
	}
}
