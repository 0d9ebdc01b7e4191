package acls

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// over returns a list over a store.
func over(t testing.TB, entries backend.Entries) *List {
	l := New(entries, Config{Max: 100})
	require.NoError(t, l.Load(t.Context()))
	return l
}

// acl is an ACL for a literal topic.
func acl(user, topic string, op kmsg.ACLOperation) security.ACL {
	return security.ACL{
		Type: kmsg.ACLResourceTypeTopic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: topic,
		Principal: "User:" + user, Host: "*", Operation: op, Permission: kmsg.ACLPermissionTypeAllow,
	}
}

func create(t testing.TB, l *List, acls ...security.ACL) {
	t.Helper()
	for _, err := range l.CreateACLs(t.Context(), acls) {
		require.NoError(t, err)
	}
}

// may asks whether a user of 127.0.0.1 may do something with a topic.
func may(l *List, user string, op kmsg.ACLOperation, topic string) bool {
	return from(l, user, "127.0.0.1", op, topic)
}

func from(l *List, user, host string, op kmsg.ACLOperation, topic string) bool {
	return l.index.Load().authorize(&client{principal: security.User(user), host: host}, op,
		security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic}, l.config.AllowIfNone)
}

func TestConform(t *testing.T) {
	t.Parallel()
	securitytest.Authorizers(t, func(t *testing.T) securitytest.Authorizing {
		store := &failingEntries{stored: embeddedtest.Open(t)}
		l := over(t, store)
		create(t, l, acl("reader", "t", kmsg.ACLOperationRead))
		question := func(user string, op kmsg.ACLOperation, topic string) securitytest.Question {
			return securitytest.Question{
				Who:       security.Requester{Principal: security.User(user), Host: "127.0.0.1"},
				Operation: op, On: security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic},
			}
		}
		return securitytest.Authorizing{
			Authorizer: l, Managed: true, Fail: func() { store.err = backend.ErrUnavailable },
			May:    []securitytest.Question{question("reader", kmsg.ACLOperationRead, "t"), question("reader", kmsg.ACLOperationDescribe, "t")},
			MayAny: []securitytest.Question{question("reader", kmsg.ACLOperationRead, "")},
			MayNot: []securitytest.Question{question("reader", kmsg.ACLOperationWrite, "t"), question("reader", kmsg.ACLOperationRead, "u")},
		}
	})
}

// stored is a store by another name than that of one of its methods.
type stored interface{ backend.Entries }

// failingEntries fails with err, if there is one.
type failingEntries struct {
	stored
	err error
}

func (f *failingEntries) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	if f.err != nil {
		return f.err
	}
	return f.stored.ChangeEntries(ctx, kind, changes)
}

// A list that is not loaded, or could not be, allows nothing.
func TestNotLoaded(t *testing.T) {
	t.Parallel()
	unavailable := backendtest.Failing(nil, backend.ErrUnavailable)
	l := New(unavailable, Config{AllowIfNone: true})
	require.ErrorIs(t, l.Load(t.Context()), backend.ErrUnavailable)
	who := security.Requester{Principal: security.User("a")}
	require.False(t, l.Authorize(t.Context(), who, kmsg.ACLOperationRead, security.Cluster))
	require.False(t, l.AuthorizeAny(t.Context(), who, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic))
}

// ACLs outlive the list; what was deleted stays so.
func TestRestart(t *testing.T) {
	t.Parallel()
	store := embeddedtest.Open(t)
	l := over(t, store)
	odd := acl("CN=a,O=\"b\"", "ü<>&", kmsg.ACLOperationAll)
	odd.Host, odd.Pattern, odd.Permission = "10.0.0.0/8", kmsg.ACLResourcePatternTypePrefixed, kmsg.ACLPermissionTypeDeny
	last := acl("b", "t", lastOperation)
	gone := acl("a", "gone", kmsg.ACLOperationRead)
	create(t, l, odd, last, gone)
	l.DeleteACLs(t.Context(), []security.ACLFilter{filterOf(gone)})

	again := over(t, store)
	found, err := again.DescribeACLs(t.Context(), everything())
	require.NoError(t, err)
	require.Equal(t, []security.ACL{last, odd}, found)
}

func everything() security.ACLFilter {
	return security.ACLFilter{
		Type: kmsg.ACLResourceTypeAny, Pattern: kmsg.ACLResourcePatternTypeAny,
		Operation: kmsg.ACLOperationAny, Permission: kmsg.ACLPermissionTypeAny,
	}
}

func filterOf(acl security.ACL) security.ACLFilter {
	return security.ACLFilter{
		Type: acl.Type, Pattern: acl.Pattern, Name: &acl.Name, Principal: &acl.Principal, Host: &acl.Host,
		Operation: acl.Operation, Permission: acl.Permission,
	}
}

// A stored ACL that cannot be read stops the start: it may have denied something.
func TestUnreadableEntries(t *testing.T) {
	t.Parallel()
	name, value := encode(acl("a", "t", kmsg.ACLOperationRead))
	other, _ := encode(acl("a", "u", kmsg.ACLOperationRead))
	for text, changes := range map[string]map[string][]byte{
		"cannot be read":     {name: []byte("{")},
		"is none":            {name: []byte("{}")},
		"has the content of": {other: value},
	} {
		store := embeddedtest.Open(t)
		require.NoError(t, store.ChangeEntries(t.Context(), kind, changes))
		require.ErrorContains(t, New(store, Config{Max: 1}).Load(t.Context()), text)
	}
}

// Storage that fails changes nothing, and the error is its own.
func TestFailingStorage(t *testing.T) {
	t.Parallel()
	store := &failingEntries{stored: embeddedtest.Open(t)}
	l := over(t, store)
	old, young := acl("a", "old", kmsg.ACLOperationRead), acl("a", "young", kmsg.ACLOperationRead)
	create(t, l, old)
	store.err = backend.ErrUnavailable
	bad := young
	bad.Name = ""
	errs := l.CreateACLs(t.Context(), []security.ACL{young, bad, old, young})
	require.ErrorIs(t, errs[0], backend.ErrUnavailable)
	require.EqualError(t, errs[1], "Invalid empty resource name")
	require.NoError(t, errs[2], "it exists already")
	require.ErrorIs(t, errs[3], backend.ErrUnavailable)
	require.False(t, may(l, "a", kmsg.ACLOperationRead, "young"))

	deleted := l.DeleteACLs(t.Context(), []security.ACLFilter{filterOf(old), filterOf(young)})
	require.ErrorIs(t, deleted[0].Err, backend.ErrUnavailable)
	require.Equal(t, security.DeletedACLs{}, deleted[1])
	require.True(t, may(l, "a", kmsg.ACLOperationRead, "old"))
}

// There are no more ACLs than the configuration allows.
func TestMax(t *testing.T) {
	t.Parallel()
	l := New(embeddedtest.Open(t), Config{Max: 2})
	require.NoError(t, l.Load(t.Context()))
	a, b, c := acl("a", "a", kmsg.ACLOperationRead), acl("a", "b", kmsg.ACLOperationRead), acl("a", "c", kmsg.ACLOperationRead)
	create(t, l, a)
	errs := l.CreateACLs(t.Context(), []security.ACL{a, b, c})
	require.NoError(t, errs[0])
	for _, err := range errs[1:] {
		require.EqualError(t, err, "There would be 3 ACLs; authorization.max_acls is 2.")
		code, _, ok := security.Refused(err)
		require.True(t, ok)
		require.Equal(t, int16(44), code)
	}
	require.Equal(t, 1, l.Len())
	create(t, l, a, b)
	require.Equal(t, 2, l.Len())
}

// Many ACLs in one request are stored in pieces, and an error leaves in force what was
// stored.
func TestPieces(t *testing.T) {
	t.Parallel()
	store := &countedEntries{stored: embeddedtest.Open(t)}
	l := New(store, Config{Max: 10_000})
	require.NoError(t, l.Load(t.Context()))
	var many []security.ACL
	for i := range 1000 {
		many = append(many, acl("a", strings.Repeat("x", 3000)+strconv.Itoa(i), kmsg.ACLOperationRead))
	}
	store.most = 2
	errs := l.CreateACLs(t.Context(), many)
	for _, err := range errs {
		require.ErrorIs(t, err, errTooMany)
	}
	require.Positive(t, l.Len())
	require.Less(t, l.Len(), 1000)
	store.most = 10
	create(t, l, many...)
	require.Equal(t, 1000, l.Len())
	require.Equal(t, 1000, over(t, store).Len())
}

var errTooMany = errors.New("too many changes")

// countedEntries fails after so many changes.
type countedEntries struct {
	stored
	changes, most int
}

func (c *countedEntries) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	if c.changes++; c.changes > c.most {
		return errTooMany
	}
	return c.stored.ChangeEntries(ctx, kind, changes)
}
