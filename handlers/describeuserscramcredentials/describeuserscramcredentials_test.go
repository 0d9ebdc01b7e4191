package describeuserscramcredentials

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(&securitytest.Users{})) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(&securitytest.Users{}), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(&securitytest.Users{})) }

func set(t *testing.T, users *securitytest.Users, name string, mechanism int8, iterations int32) {
	t.Helper()
	c := securitytest.Credential(mechanism, name, iterations)
	require.NoError(t, users.AlterScramCredentials(t.Context(), []security.ScramChange{{User: name, Mechanism: mechanism, Credential: &c}}))
}

// The command "user" gives a user a credential.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		users := &securitytest.Users{}
		return handlertest.Env{Handler: New(users), Commands: map[string]func(*testing.T, *datadriven.TestData) string{
			"user": func(t *testing.T, d *datadriven.TestData) string {
				var name string
				var mechanism, iterations int
				d.ScanArgs(t, "name", &name)
				d.ScanArgs(t, "mechanism", &mechanism)
				d.ScanArgs(t, "iterations", &iterations)
				set(t, users, name, int8(mechanism), int32(iterations))
				return "ok"
			},
		}}
	})
}

func ask(names ...string) *kmsg.DescribeUserSCRAMCredentialsRequest {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range names {
		req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	return req
}

// Credentials that cannot be read are not none.
func TestFailing(t *testing.T) {
	t.Parallel()
	resp, err := New(&securitytest.Users{Err: errors.New("no disk")}).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, ask())
	require.NoError(t, err)
	require.EqualValues(t, -1, resp.(*kmsg.DescribeUserSCRAMCredentialsResponse).ErrorCode)
}

// A gateway without users does not offer the key, and has none to show.
func TestWithoutUsers(t *testing.T) {
	t.Parallel()
	h := New(nil)
	require.True(t, h.Spec().Hidden)
	require.False(t, New(&securitytest.Users{}).Spec().Hidden)
	resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, ask())
	require.NoError(t, err)
	require.Empty(t, resp.(*kmsg.DescribeUserSCRAMCredentialsResponse).Results)
	resp, err = h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, ask("alice"))
	require.NoError(t, err)
	require.EqualValues(t, 91, resp.(*kmsg.DescribeUserSCRAMCredentialsResponse).Results[0].ErrorCode)
}

// An answer as large as a frame may be goes out; with one byte less of room the
// connection closes.
func TestPriceEqualsTheEncoder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 127, 300} {
		users := &securitytest.Users{}
		named := ask("alice", "alice", strings.Repeat("x", n))
		for i := range n {
			name := strings.Repeat("u", 1+i)
			set(t, users, name, int8(1+i%2), 4096)
			set(t, users, name, security.ScramSHA256, 8192)
			named = ask(append([]string{name, name, name + "?"}, names(named)...)...)
		}
		for _, req := range []*kmsg.DescribeUserSCRAMCredentialsRequest{ask(), named} {
			h := New(users)
			resp, err := h.Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, req)
			require.NoError(t, err)
			size := 5 + len(resp.AppendTo(nil))
			_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size}, req)
			require.NoError(t, err)
			_, err = h.Handle(t.Context(), handler.Call{MaxFrame: size - 1}, req)
			require.EqualError(t, err, fmt.Sprintf("DescribeUserScramCredentials answer of %d bytes is above max_frame_size %d", size, size-1))
		}
	}
}

func names(req *kmsg.DescribeUserSCRAMCredentialsRequest) []string {
	var names []string
	for _, u := range req.Users {
		names = append(names, u.Name)
	}
	return names
}

func TestReserve(t *testing.T) {
	t.Parallel()
	users := &securitytest.Users{}
	set(t, users, "alice", security.ScramSHA256, 4096)
	handlertest.Spent(t, New(users), ask("alice"))
	handlertest.Spent(t, New(users), ask())
}
