package acls

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

var producer = security.Requester{Principal: security.User("producer"), Host: "10.0.0.1"}

// filled returns a list with n ACLs about other names, n more about the same name and
// other users, n prefixed ones, and one that lets producer write.
func filled(t testing.TB, n int) *List {
	l := New(newMemory(), Config{Max: 1 << 20})
	require.NoError(t, l.Load(t.Context()))
	acls := []security.ACL{acl("producer", "orders", kmsg.ACLOperationWrite)}
	for i := range n {
		prefixed := acl("producer", fmt.Sprint("orders", i), kmsg.ACLOperationAll)
		prefixed.Pattern = kmsg.ACLResourcePatternTypePrefixed
		acls = append(acls, prefixed,
			acl("producer", fmt.Sprint("topic-", i), kmsg.ACLOperationWrite),
			acl(fmt.Sprint("user-", i), "orders", kmsg.ACLOperationWrite))
	}
	create(t, l, acls...)
	return l
}

// A question takes no longer because there are ACLs about other names or users:
//
//	go test ./security/acls -run - -bench .
func BenchmarkAuthorize(b *testing.B) {
	for _, n := range []int{0, 10, 10_000} {
		b.Run(fmt.Sprintf("ACLs=%d", 3*n+1), func(b *testing.B) {
			l := filled(b, n)
			ctx := context.Background()
			on := security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "orders"}
			b.ReportAllocs()
			for b.Loop() {
				if !l.Authorize(ctx, producer, kmsg.ACLOperationWrite, on) {
					b.Fatal("denied")
				}
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	l := filled(b, 3333)
	extra := acl("a", "extra", kmsg.ACLOperationRead)
	for b.Loop() {
		l.CreateACLs(context.Background(), []security.ACL{extra})
		l.DeleteACLs(context.Background(), []security.ACLFilter{filterOf(extra)})
	}
}

func TestQuestionsAllocateNothing(t *testing.T) {
	l := filled(t, 100)
	here := acl("producer", "orders", kmsg.ACLOperationRead)
	here.Host = "10.0.0.0/8"
	create(t, l, here)
	ctx := t.Context()
	on := security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "orders"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		l.Authorize(ctx, producer, kmsg.ACLOperationRead, on)
		l.Authorize(ctx, producer, kmsg.ACLOperationWrite, on)
		l.Authorize(ctx, producer, kmsg.ACLOperationDelete, on)
	}))
}
