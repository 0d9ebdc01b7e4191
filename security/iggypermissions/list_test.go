package iggypermissions

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls"
)

// everyACL chooses all.
var everyACL = security.ACLFilter{
	Type: kmsg.ACLResourceTypeAny, Pattern: kmsg.ACLResourcePatternTypeAny,
	Operation: kmsg.ACLOperationAny, Permission: kmsg.ACLPermissionTypeAny,
}

// fake is a server with the stream kafka (1), of which topic one is number 1 and topic
// two number 2, and, where it is mapped, the stream elsewhere (2) with topic far,
// number 1.
type fake struct {
	users  map[string]*iggcon.Permissions
	mapped bool
	err    error
	asked  int
}

func (f *fake) User(_ context.Context, name string) (iggcon.UserInfoDetails, error) {
	f.asked++
	if f.err != nil {
		return iggcon.UserInfoDetails{}, f.err
	}
	p, ok := f.users[name]
	if !ok {
		return iggcon.UserInfoDetails{}, client.ErrNoUser
	}
	return iggcon.UserInfoDetails{UserInfo: iggcon.UserInfo{Username: name}, Permissions: p}, nil
}

func (f *fake) UserNames(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(f.users)), f.err
}

func (f *fake) Places(context.Context) (iggy.Places, error) {
	at := iggy.Places{
		Streams: map[uint32]string{1: "kafka"},
		Topics:  map[iggy.Place]string{{Stream: 1, Topic: 1}: "one", {Stream: 1, Topic: 2}: "two"},
	}
	if f.mapped {
		at.Streams[2], at.Topics[iggy.Place{Stream: 2, Topic: 1}] = "elsewhere", "far"
	}
	return at, f.err
}

func (f *fake) StreamOf(topic string) string {
	if f.mapped && topic == "far" {
		return "elsewhere"
	}
	return "kafka"
}

func (f *fake) Mapped() bool { return f.mapped }

// everybody has a user for each permission.
func everybody(mapped bool) *fake {
	f := &fake{users: map[string]*iggcon.Permissions{}, mapped: mapped}
	for name, p := range permissionsOf(1, 2) {
		f.users[name] = p
	}
	if mapped {
		for name, p := range permissionsOf(2, 1) {
			f.users["elsewhere "+name] = p
		}
	}
	f.users["ANONYMOUS"] = &iggcon.Permissions{Global: iggcon.GlobalPermissions{ManageStreams: true, ManageServers: true}}
	return f
}

// The ACLs that are shown allow just what the authorizer allows.
func TestACLsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		t.Run(fmt.Sprint("mapped ", mapped), func(t *testing.T) {
			t.Parallel()
			f := everybody(mapped)
			a := open(t, f)
			shown, err := a.DescribeACLs(t.Context(), everyACL)
			require.NoError(t, err)
			require.True(t, slices.IsSortedFunc(shown, acls.Compare))
			list := acls.New(embeddedtest.Open(t), acls.Config{Max: len(shown)})
			require.NoError(t, list.Load(t.Context()))
			for i, err := range list.CreateACLs(t.Context(), shown) {
				require.NoError(t, err, "%+v", shown[i])
			}
			require.Equal(t, len(shown), list.Len(), "none twice")
			topics := []string{"one", "two", "far", "new"}
			if mapped {
				topics = topics[:3] // of a stream among others what is there is shown
			}
			for user := range f.users {
				who := security.Requester{Principal: security.User(user), Host: "10.0.0.7"}
				for kind := kmsg.ACLResourceTypeTopic; kind <= kmsg.ACLResourceTypeUser; kind++ {
					names := topics
					if kind != kmsg.ACLResourceTypeTopic {
						names = []string{"g", security.ClusterName}
					}
					for op := kmsg.ACLOperationRead; op <= kmsg.ACLOperationDescribeTokens; op++ {
						for _, name := range names {
							on := security.Resource{Type: kind, Name: name}
							require.Equal(t, list.Authorize(t.Context(), who, op, on), a.Authorize(t.Context(), who, op, on), "%s: %s %v", user, op, on)
						}
						require.Equal(t, list.AuthorizeAny(t.Context(), who, op, kind), a.AuthorizeAny(t.Context(), who, op, kind), "%s: %s any %s", user, op, kind)
					}
				}
			}
		})
	}
}

func TestFiltersChoose(t *testing.T) {
	t.Parallel()
	a := open(t, everybody(false))
	filter, principal, name := everyACL, "User:topic PollMessages", "two"
	filter.Principal, filter.Type, filter.Name = &principal, kmsg.ACLResourceTypeTopic, &name
	got, err := a.DescribeACLs(t.Context(), filter)
	require.NoError(t, err)
	one := security.ACL{
		Type: kmsg.ACLResourceTypeTopic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: "two", Principal: principal,
		Host: "*", Operation: kmsg.ACLOperationRead, Permission: kmsg.ACLPermissionTypeAllow,
	}
	two := one
	two.Operation = kmsg.ACLOperationDescribe
	require.Equal(t, []security.ACL{one, two}, got)
}

// What is shown cannot be changed, and the reason is told.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	a := open(t, everybody(false))
	errs := a.CreateACLs(t.Context(), make([]security.ACL, 2))
	require.Len(t, errs, 2)
	deleted := a.DeleteACLs(t.Context(), []security.ACLFilter{everyACL})
	require.Len(t, deleted, 1)
	for _, err := range append(errs, deleted[0].Err) {
		code, text, ok := security.Refused(err)
		require.True(t, ok)
		require.Equal(t, kerr.InvalidRequest.Code, code)
		require.Contains(t, text, "set in the Iggy server")
	}
}

// A list is bounded, and asked for once by a request with many filters.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	f := everybody(false)
	a := open(t, f)
	for range 10 {
		_, err := a.DescribeACLs(t.Context(), everyACL)
		require.NoError(t, err)
	}
	require.Equal(t, len(f.users), f.asked)
	small := open(t, f)
	small.cfg.MaxACLs = 10
	_, err := small.DescribeACLs(t.Context(), everyACL)
	code, text, _ := security.Refused(err)
	require.Equal(t, kerr.PolicyViolation.Code, code)
	require.Contains(t, text, "authorization.max_acls")
}

// docs/iggy.md has the table of the mapping, as this makes it.
func TestTableInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "iggy.md"))
	require.NoError(t, err)
	want := table()
	if !strings.Contains(string(page), want) {
		t.Fatalf("docs/iggy.md does not have this table:\n%s", want)
	}
}

// table is the mapping in words.
func table() string {
	words := map[rights]string{
		poll: "poll messages of it", send: "send messages to it", create: "create topics in its stream",
		manage: "manage it", show: "read it", show | poll | send: "read it, or poll or send messages",
	}
	var b strings.Builder
	b.WriteString("| on | operation | takes the right to |\n| --- | --- | --- |\n")
	row := func(kind kmsg.ACLResourceType, op kmsg.ACLOperation, takes string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ToLower(strings.ReplaceAll(kind.String(), "_", " ")), op, takes)
	}
	for _, rule := range topicRules {
		row(kmsg.ACLResourceTypeTopic, rule.operation, words[rule.anyOf])
	}
	for _, kind := range slices.Sorted(maps.Keys(otherRules)) {
		for _, rule := range otherRules[kind] {
			row(kind, rule.operation, rule.takes)
		}
	}
	return b.String()
}
