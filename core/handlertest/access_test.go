package handlertest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

func TestParseRight(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Right{
		"read:topic:a:b":           {kmsg.ACLOperationRead, security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "a:b"}},
		"write:transactional_id:x": {kmsg.ACLOperationWrite, security.Resource{Type: kmsg.ACLResourceTypeTransactionalId, Name: "x"}},
		"alter:cluster":            {kmsg.ACLOperationAlter, security.Cluster},
		"DESCRIBE_CONFIGS:group:":  {kmsg.ACLOperationDescribeConfigs, security.Resource{Type: kmsg.ACLResourceTypeGroup}},
	} {
		r, err := ParseRight(text)
		require.NoError(t, err, text)
		require.Equal(t, want, r, text)
	}
	for _, text := range []string{"", "read", "read:topic", "reed:topic:a", "read:tropic:a"} {
		_, err := ParseRight(text)
		require.Error(t, err, text)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	topic := kmsg.ACLResourceTypeTopic
	read, write := kmsg.ACLOperationRead, kmsg.ACLOperationWrite
	a := Allowing("read:topic:a", "write:topic:*")
	call := handler.Call{Access: a}
	ctx := t.Context()
	require.True(t, call.Allowed(ctx, read, topic, "a"))
	require.False(t, call.Allowed(ctx, read, topic, "b"))
	require.False(t, call.Shown(ctx, read, kmsg.ACLResourceTypeGroup, "a"))
	require.True(t, call.Shown(ctx, write, topic, "b"))
	require.True(t, call.AllowedAny(ctx, read, topic))
	require.False(t, call.AllowedAny(ctx, read, kmsg.ACLResourceTypeGroup))
	var lines []string
	for _, ask := range a.Asked() {
		lines = append(lines, ask.String())
	}
	require.Equal(t, []string{
		`allowed READ topic "a"`, `denied READ topic "b", audited`, `denied READ group "a"`,
		`allowed WRITE topic "b"`, `allowed READ any topic`, `denied READ any group, audited`,
	}, lines)
	require.Empty(t, a.Asked())

	denying := &Access{All: true, Deny: mustParse([]string{"alter:cluster"})}
	call.Access = denying
	require.False(t, call.AllowedCluster(ctx, kmsg.ACLOperationAlter))
	require.True(t, call.AllowedCluster(ctx, kmsg.ACLOperationDescribe))
	call.Access = &Access{}
	require.Zero(t, call.Operations(ctx, topic, "a"))
}

// What is asked and not declared is found, and what is declared and not asked.
func TestChecks(t *testing.T) {
	t.Parallel()
	topic := kmsg.ACLResourceTypeTopic
	read := handler.Check{Operation: kmsg.ACLOperationRead, Resource: topic, Of: "each topic", Code: kerr.TopicAuthorizationFailed.Code}
	operations := handler.AsksOperations(topic, "each topic")
	anyRead := handler.Check{Operation: kmsg.ACLOperationRead, Resource: topic, Any: true}
	declared := []handler.Check{read, operations, anyRead}
	require.Equal(t, []string{"READ", "topic: each topic", "TOPIC_AUTHORIZATION_FAILED (29)", "always"}, read.Row())
	require.Equal(t, []string{"each operation", "topic: each topic", "left out", "authorized operations are asked for"}, operations.Row())
	require.Equal(t, []string{"READ", "any topic", "left out", "always"}, anyRead.Row())

	a := &Access{}
	call, ctx := handler.Call{Access: a}, t.Context()
	var seen checksSeen
	require.Equal(t, declared, seen.unused(declared))
	call.Allowed(ctx, kmsg.ACLOperationRead, topic, "a")
	call.Shown(ctx, kmsg.ACLOperationRead, topic, "a")
	require.Empty(t, seen.see(declared, a.Asked()))
	require.Equal(t, []handler.Check{operations, anyRead}, seen.unused(declared))
	call.Operations(ctx, topic, "a")
	call.AllowedAny(ctx, kmsg.ACLOperationRead, topic)
	require.Empty(t, seen.see(declared, a.Asked()))
	require.Empty(t, seen.unused(declared))
	call.Allowed(ctx, kmsg.ACLOperationWrite, topic, "a")
	call.Operations(ctx, kmsg.ACLResourceTypeGroup, "g")
	call.AllowedAny(ctx, kmsg.ACLOperationWrite, topic)
	require.Len(t, seen.see(declared, a.Asked()), 1+5+1)
}
