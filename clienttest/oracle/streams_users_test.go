package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A change of a user's credential, as both lists of a request have it.
type (
	deleteUser = kmsg.AlterUserSCRAMCredentialsRequestDeletion
	setUser    = kmsg.AlterUserSCRAMCredentialsRequestUpsertion
)

func set(user string, mechanism int8, iterations int32) setUser {
	return setUser{Name: user, Mechanism: mechanism, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: []byte("salted")}
}

func drop(user string, mechanism int8) deleteUser {
	return deleteUser{Name: user, Mechanism: mechanism}
}

func alterUsers(deletions []deleteUser, upsertions ...setUser) kmsg.Request {
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	r.Deletions, r.Upsertions = deletions, upsertions
	return r
}

func describeUsers(names ...string) kmsg.Request {
	r := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range names {
		r.Users = append(r.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	return r
}

// sortUsers undoes the order of Kafka's hash tables.
func sortUsers(_ *side, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		slices.SortFunc(r.Results, func(a, b kmsg.AlterUserSCRAMCredentialsResponseResult) int { return strings.Compare(a.User, b.User) })
	case *kmsg.DescribeUserSCRAMCredentialsResponse:
		slices.SortFunc(r.Results, func(a, b kmsg.DescribeUserSCRAMCredentialsResponseResult) int { return strings.Compare(a.User, b.User) })
		for _, u := range r.Results {
			slices.SortFunc(u.CredentialInfos, func(a, b kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo) int {
				return cmp.Compare(a.Mechanism, b.Mechanism)
			})
		}
	}
}

// userSteps manage the credentials of users (KIP-554).
func userSteps() []step {
	send := func(name string, req kmsg.Request) step {
		return step{name: name, capture: sortUsers, build: func(*side, int16) kmsg.Request { return req }}
	}
	alter := func(name string, deletions []deleteUser, upsertions ...setUser) step {
		return send(name, alterUsers(deletions, upsertions...))
	}
	deletes := func(d ...deleteUser) []deleteUser { return d }
	unsalted, unlocked, short, long := set("oracle-y", 1, 4096), set("oracle-y", 2, 4096), set("oracle-y", 1, 4096), set("oracle-y", 1, 4096)
	unsalted.Salt, unlocked.SaltedPassword = nil, nil
	short.SaltedPassword, long.SaltedPassword = []byte("x"), make([]byte, 500)
	empty := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	empty.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{}
	return []step{
		send("nobody", describeUsers()),
		send("nobody by name", describeUsers("oracle-nobody", "", "oracle-nobody", "oracle-other")),
		alter("nothing", nil),
		alter("users", nil, set("oracle-a", 1, 4096), set("oracle-b", 2, 16384), set("oracle ü", 1, 4097), set("o=r,a", 1, 5000)),
		send("all", describeUsers()),
		send("all by an empty list", empty),
		send("some", describeUsers("oracle-a", "oracle-b", "oracle-a", "oracle-nobody", "", "", "oracle ü")),
		alter("the other mechanism", nil, set("oracle-a", 2, 8192)),
		alter("the same again", nil, set("oracle-a", 2, 10000)),
		send("both mechanisms", describeUsers("oracle-a")),

		alter("iterations", nil, set("oracle-x", 1, 4095), set("oracle-y", 2, 0), set("oracle-z", 1, -1), set("oracle-0", 2, 16385), set("oracle-c", 2, 16384)),
		alter("mechanisms", deletes(drop("oracle-a", 3), drop("oracle-b", -1)), set("oracle-x", 0, 4096), set("oracle-y", 3, 4096), set("oracle-z", 3, 1)),
		alter("no name", deletes(drop("", 9)), set("", 1, 1)),
		alter("no name to set", nil, set("", 3, 1)),
		alter("no salt", nil, unsalted),
		alter("no password", nil, unlocked),
		alter("a short password", nil, short),
		alter("a long password", nil, long),
		alter("a long name", nil, set(strings.Repeat("n", 3000), 1, 4096)),

		alter("both mechanisms at once", nil, set("oracle-d", 1, 4096), set("oracle-d", 2, 4096)),
		alter("twice", nil, set("oracle-d", 1, 4096), set("oracle-d", 1, 4096), set("oracle-e", 1, 4096)),
		alter("thrice", nil, set("oracle-d", 1, 4096), set("oracle-d", 1, 4096), set("oracle-d", 1, 4096)),
		alter("twice, the second wrong", nil, set("oracle-d", 1, 4096), set("oracle-d", 2, 1)),
		alter("twice, the first wrong", nil, set("oracle-d", 1, 1), set("oracle-d", 2, 4096)),
		alter("twice, both wrong", nil, set("oracle-d", 1, 1), set("oracle-d", 9, 4096)),
		alter("delete and set", deletes(drop("oracle-a", 1)), set("oracle-a", 1, 4096)),
		alter("delete and set the other", deletes(drop("oracle-a", 1)), set("oracle-a", 2, 4096)),
		alter("delete what is not there and set", deletes(drop("oracle-d", 1)), set("oracle-d", 1, 4096)),
		alter("delete both mechanisms at once", deletes(drop("oracle-a", 1), drop("oracle-a", 2))),
		alter("delete twice", deletes(drop("oracle-b", 2), drop("oracle-b", 2))),
		send("what is there", describeUsers("oracle-a", "oracle-b", "oracle-c", "oracle-d", "oracle-e", "oracle-x", "oracle-y", "oracle-z")),

		alter("good among bad", deletes(drop("oracle-nobody", 1), drop("oracle-b", 2), drop("oracle-c", 1)), set("oracle-f", 1, 4096), set("oracle-x", 1, 1)),
		alter("delete again", deletes(drop("oracle-b", 2))),
		alter("delete the other mechanism", deletes(drop("oracle-f", 2))),
		send("who is left", describeUsers()),
		alter("clean up", deletes(drop("oracle-a", 1), drop("oracle-c", 2), drop("oracle-e", 1), drop("oracle-f", 1), drop("oracle ü", 1),
			drop("o=r,a", 1), drop("oracle-y", 1), drop(strings.Repeat("n", 3000), 1))),
		alter("clean up the rest", deletes(drop("oracle-a", 2))),
		send("nobody is left", describeUsers()),
	}
}

// userSubjects are what one must be allowed to manage users.
func userSubjects() []subject {
	only := []string{"describe cluster", "alter cluster", "all cluster", "deny all cluster", "cluster_action cluster", "alter_configs cluster", "alter user alice"}
	users := []kmsg.Request{alterUsers(nil, set("oracle-a", 1, 4096))}
	return []subject{{"Users", func(*side) []kmsg.Request { return users }, []question{
		{name: "describe users", capture: sortUsers, grants: only, build: func(*side, int16) kmsg.Request {
			return describeUsers("oracle-a", "oracle-nobody", "oracle-nobody")
		}},
		{name: "describe nobody", capture: sortUsers, unanswered: true, build: func(*side, int16) kmsg.Request { return describeUsers() }},
		{name: "alter users", capture: sortUsers, grants: only, build: func(*side, int16) kmsg.Request {
			return alterUsers([]deleteUser{drop("oracle-nobody", 1), drop("", 9), drop("oracle-a", 9)}, set("oracle-b", 1, 1), set("oracle-b", 1, 1), set("oracle-a", 2, 4096))
		}},
		{name: "alter nobody", build: func(*side, int16) kmsg.Request { return alterUsers(nil) }},
	}}}
}

// userAllowances are the differences of userSubjects that are known and wanted.
var userAllowances = []allowance{
	{`Users/alter users/.*`, `.*ErrorMessage`, `"Request Request\(.*\) needs ALTER permission\."`, `"Request needs ALTER permission\."`, "Kafka tells how it handles requests inside"},
	{`Users/describe nobody/nothing .*`, `.*`, `absent|silent`, `.*`, "Kafka never answers who may not describe all users"},
}
