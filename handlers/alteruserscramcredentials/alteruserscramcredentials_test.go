package alteruserscramcredentials

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(&securitytest.Users{})) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(&securitytest.Users{}), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(&securitytest.Users{})) }

// The command "users" lists the users with the iterations of their credentials;
// "fix" makes one that cannot be altered.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		users := &securitytest.Users{}
		return handlertest.Env{Handler: New(users), Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"users": func(t *testing.T, d *datadriven.TestData) string { return list(t, users) },
			"fix": func(t *testing.T, d *datadriven.TestData) string {
				var name string
				d.ScanArgs(t, "name", &name)
				users.Fix(name, security.ScramSHA256, securitytest.Credential(security.ScramSHA256, name, 4096))
				return list(t, users)
			},
		}}
	})
}

func list(t *testing.T, users *securitytest.Users) string {
	t.Helper()
	all, err := users.ScramUsers(t.Context())
	require.NoError(t, err)
	out := ""
	for _, u := range all {
		out += fmt.Sprintf("%q %v\n", u.Name, u.Iterations)
	}
	if out == "" {
		return "nobody"
	}
	return out
}

func set(users ...string) *kmsg.AlterUserSCRAMCredentialsRequest {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, name := range users {
		req.Upsertions = append(req.Upsertions, upsertion{
			Name: name, Mechanism: security.ScramSHA256, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("salted"),
		})
	}
	return req
}

func codes(t *testing.T, resp kmsg.Response) map[string]int16 {
	t.Helper()
	codes := map[string]int16{}
	for _, r := range resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
		require.NotContains(t, codes, r.User)
		codes[r.User] = r.ErrorCode
	}
	return codes
}

// What is stored is what a server needs, not what the client sent.
func TestStored(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	_, err := New(users).Handle(t.Context(), handler.Call{}, set("alice"))
	require.NoError(t, err)
	c, ok := users.ScramCredential("alice", security.ScramSHA256)
	require.True(t, ok)
	want := security.NewScramCredential(security.ScramSHA256, []byte("salted"), []byte("salt"), 4096)
	require.Equal(t, want.StoredKey, c.StoredKey)
	require.Equal(t, want.ServerKey, c.ServerKey)
	require.Equal(t, "salt", string(c.Salt))
	require.EqualValues(t, 4096, c.Iterations)
}

// A change that the backend did not make is not said to be made; faults of the
// request are told all the same.
func TestFailing(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 41, backend.ErrOutcomeUnknown: 7, backend.ErrStorage: 56, backend.ErrTooLarge: 10,
		context.DeadlineExceeded: 7, errors.New("odd"): -1,
	} {
		h := New(&securitytest.Users{Err: fmt.Errorf("users: %w", err)})
		resp, err := h.Handle(t.Context(), handler.Call{}, set("alice", "", "bob"))
		require.NoError(t, err)
		require.Equal(t, map[string]int16{"alice": code, "bob": code, "": 93}, codes(t, resp))
	}
}

// Once the client has gone nothing more is changed.
func TestGone(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resp, err := New(users).Handle(ctx, handler.Call{}, set("alice"))
	require.NoError(t, err)
	require.Equal(t, map[string]int16{"alice": 7}, codes(t, resp))
	require.Equal(t, "nobody", list(t, users))
}

// A gateway without users does not offer the key, and changes nothing.
func TestWithoutUsers(t *testing.T) {
	t.Parallel()
	h := New(nil)
	require.True(t, h.Spec().Hidden)
	resp, err := h.Handle(t.Context(), handler.Call{}, set("alice", "", "alice"))
	require.NoError(t, err)
	require.Equal(t, map[string]int16{"alice": 54, "": 54}, codes(t, resp))
}

func TestLimits(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	req := set("fits", "long", "empty", "\xff")
	req.Upsertions[0].Salt = []byte(strings.Repeat("s", security.MaxScramSalt))
	req.Upsertions[1].Salt = []byte(strings.Repeat("s", security.MaxScramSalt+1))
	req.Upsertions[2].SaltedPassword = nil
	resp, err := New(users).Handle(t.Context(), handler.Call{}, req)
	require.NoError(t, err)
	require.Equal(t, map[string]int16{"fits": 0, "long": 93, "empty": 93, "\xff": 93}, codes(t, resp))
	require.Equal(t, "\"fits\" map[1:4096]\n", list(t, users))
}

// A name is bounded where it is kept, and the keeper of users says in its own words why there is no room for more.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	longest := strings.Repeat("u", security.MaxScramName)
	resp, err := New(users).Handle(t.Context(), handler.Call{}, set(longest, longest+"u"))
	require.NoError(t, err)
	require.Equal(t, map[string]int16{longest: 0, longest + "u": 93}, codes(t, resp))
	users.Err = security.Refuse(kerr.PolicyViolation, "full")
	resp, err = New(users).Handle(t.Context(), handler.Call{}, set("alice"))
	require.NoError(t, err)
	require.Equal(t, map[string]int16{"alice": 44}, codes(t, resp))
	require.Equal(t, "full", *resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results[0].ErrorMessage)
}

// A budget that is spent closes the connection before anything is changed.
func TestReserve(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	handlertest.Spent(t, New(users), set("alice"))
	require.Equal(t, "nobody", list(t, users))
}
