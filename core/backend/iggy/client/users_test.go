package client

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// root returns the SDK's client, logged in as the root user.
func root(t *testing.T, address string) iggcon.Client {
	t.Helper()
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(address))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	return c
}

func TestUsers(t *testing.T) { each(t, users, iggytest.NoFsync()) }

func users(t *testing.T, server iggytest.Server) {
	c, admin := start(t, configFor(server.Address())), root(t, server.Address())
	alice, err := iggcon.NewIdentifier("alice")
	require.NoError(t, err)
	_, err = c.User(t.Context(), "alice")
	require.ErrorIs(t, err, ErrNoUser)
	for _, name := range []string{"", strings.Repeat("a", 256), "7"} {
		_, err = c.User(t.Context(), name)
		require.ErrorIs(t, err, ErrNoUser)
	}
	permissions := &iggcon.Permissions{Streams: map[int]*iggcon.StreamPermissions{
		3: {PollMessages: true, Topics: map[int]*iggcon.TopicPermissions{5: {SendMessages: true}, 6: {ReadTopic: true}}},
		4: {ManageStream: true, Topics: map[int]*iggcon.TopicPermissions{}},
	}}
	_, err = admin.CreateUser("alice", "secret", iggcon.Active, permissions)
	require.NoError(t, err)
	found, err := c.User(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, permissions, found.Permissions)
	names, err := c.UserNames(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{iggytest.Username, "alice"}, names)
	_, err = c.Stream(t.Context(), "none")
	require.Equal(t, ierror.StreamIdNotFoundCode, Code(err))

	require.NoError(t, c.CheckPassword(t.Context(), "alice", "secret"))
	for _, wrong := range [][2]string{
		{"alice", "Secret"}, {"alice", ""}, {"", "secret"}, {"bob", "secret"}, {"al", "secret"}, {"alice", "s"},
		{strings.Repeat("a", 60), "secret"}, {strings.Repeat("a", 256), "secret"}, {"alice", strings.Repeat("s", 200)}, {"alice", strings.Repeat("s", 256)},
	} {
		require.ErrorIs(t, c.CheckPassword(t.Context(), wrong[0], wrong[1]), ErrWrongPassword, wrong)
	}
	// Iggy takes a name that is a number for that of a user, so that alice could log in
	// by many names, and as somebody else whose name is her number.
	for _, number := range []string{fmt.Sprint(found.Id), fmt.Sprintf("%03d", found.Id), fmt.Sprintf("+%09d", found.Id), "99999999999"} {
		require.ErrorIs(t, c.CheckPassword(t.Context(), number, "secret"), ErrWrongPassword, number)
	}
	inactive := iggcon.Inactive
	require.NoError(t, admin.UpdateUser(alice, nil, &inactive))
	require.ErrorIs(t, c.CheckPassword(t.Context(), "alice", "secret"), ErrInactive)
	found, err = c.User(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, iggcon.Inactive, found.Status)

	clients, err := c.Clients(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		clients, err = c.Clients(t.Context())
		require.NoError(t, err)
		return len(clients) == len(c.Locals())+1
	}, soon, tick, "no connection of a check stays: %v", clients)
}

func TestCheckPasswordWithoutServer(t *testing.T) { each(t, checkWithoutServer, iggytest.NoFsync()) }

func checkWithoutServer(t *testing.T, server iggytest.Server) {
	c := start(t, configFor(server.Address()))
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := c.CheckPassword(ctx, iggytest.Username, iggytest.Password)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Resume()
	server.Kill()
	require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
	require.ErrorIs(t, c.CheckPassword(t.Context(), iggytest.Username, iggytest.Password), backend.ErrUnavailable)
	server.Start()
	require.Eventually(t, func() bool {
		return c.CheckPassword(t.Context(), iggytest.Username, iggytest.Password) == nil
	}, soon, tick)
}

// What cannot be an answer to a login is none: nobody is let in.
func TestCheckPasswordOddReplies(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string][]byte{
		"nothing":       {},
		"half a header": {0, 0, 0, 0},
		"cut off":       {0, 0, 0, 0, 4, 0, 0, 0, 1},
		"huge":          {0, 0, 0, 0, 255, 255, 255, 255},
		"another error": {3, 0, 0, 0, 0, 0, 0, 0},
		"an alert":      {21, 3, 3, 0, 2, 2, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(_ *fake, conn net.Conn, code uint32, body []byte) (handled, keep bool) {
				if code != cmdLogin || !strings.Contains(string(body), "mallory") {
					return false, true
				}
				_, _ = conn.Write(reply)
				return true, false
			})
			c := start(t, configFor(f.address()))
			err := c.CheckPassword(t.Context(), "mallory", "secret")
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.NotErrorIs(t, err, ErrWrongPassword)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
