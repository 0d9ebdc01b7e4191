// Package aclstest has lists of ACLs for tests of handlers, and commands for their
// scenarios.
package aclstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls"
)

// Max is how many ACLs an Open list may have.
const Max = 1000

// Open returns an empty list over a store of its own.
func Open(t testing.TB) *acls.List {
	t.Helper()
	l := acls.New(embeddedtest.Open(t), acls.Config{Max: Max})
	require.NoError(t, l.Load(t.Context()))
	return l
}

// Topic is an ACL that allows a user to read a topic, from everywhere.
func Topic(user, topic string) security.ACL {
	return security.ACL{
		Type: kmsg.ACLResourceTypeTopic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: topic,
		Principal: security.User(user).String(), Host: "*",
		Operation: kmsg.ACLOperationRead, Permission: kmsg.ACLPermissionTypeAllow,
	}
}

// Create creates ACLs that must be right.
func Create(t testing.TB, l security.ACLs, list ...security.ACL) {
	t.Helper()
	for _, err := range l.CreateACLs(t.Context(), list) {
		require.NoError(t, err)
	}
}

// All chooses every ACL.
func All() security.ACLFilter {
	return security.ACLFilter{
		Type: kmsg.ACLResourceTypeAny, Pattern: kmsg.ACLResourcePatternTypeAny,
		Operation: kmsg.ACLOperationAny, Permission: kmsg.ACLPermissionTypeAny,
	}
}

// Commands are what scenarios may use:
//
//	create    creates the ACLs of its lines, "ALLOW User:a * READ TOPIC LITERAL t"
//	acls      shows all ACLs in the same way
func Commands(l security.ACLs) map[string]func(*testing.T, *datadriven.TestData) string {
	return map[string]func(*testing.T, *datadriven.TestData) string{
		"create": func(t *testing.T, d *datadriven.TestData) string {
			for line := range strings.Lines(d.Input) {
				Create(t, l, parse(t, line))
			}
			return ""
		},
		"acls": func(t *testing.T, _ *datadriven.TestData) string {
			found, err := l.DescribeACLs(t.Context(), All())
			require.NoError(t, err)
			var out strings.Builder
			for _, a := range found {
				fmt.Fprintln(&out, a.Permission, a.Principal, a.Host, a.Operation, a.Type, a.Pattern, a.Name)
			}
			return out.String()
		},
	}
}

func parse(t *testing.T, line string) (a security.ACL) {
	words := strings.Fields(line)
	require.Len(t, words, 7, line)
	var errs [4]error
	a.Permission, errs[0] = kmsg.ParseACLPermissionType(words[0])
	a.Principal, a.Host = words[1], words[2]
	a.Operation, errs[1] = kmsg.ParseACLOperation(words[3])
	a.Type, errs[2] = kmsg.ParseACLResourceType(words[4])
	a.Pattern, errs[3] = kmsg.ParseACLResourcePatternType(words[5])
	a.Name = words[6]
	for _, err := range errs {
		require.NoError(t, err, line)
	}
	return a
}

// Failing is a list whose methods fail with an error.
type Failing struct{ Err error }

// DescribeACLs implements security.ACLs.
func (f Failing) DescribeACLs(context.Context, security.ACLFilter) ([]security.ACL, error) {
	return nil, f.Err
}

// CreateACLs implements security.ACLs.
func (f Failing) CreateACLs(_ context.Context, list []security.ACL) []error {
	errs := make([]error, len(list))
	for i := range errs {
		errs[i] = f.Err
	}
	return errs
}

// DeleteACLs implements security.ACLs.
func (f Failing) DeleteACLs(_ context.Context, filters []security.ACLFilter) []security.DeletedACLs {
	deleted := make([]security.DeletedACLs, len(filters))
	for i := range deleted {
		deleted[i].Err = f.Err
	}
	return deleted
}
