package iggytest_test

import (
	"fmt"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// TestAgreeUsers makes users, changes them and looks at them.
func TestAgreeUsers(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		root := sdk(t, server)
		alice := named(t, "alice")
		permissions := &iggcon.Permissions{
			Global: iggcon.GlobalPermissions{ReadUsers: true},
			Streams: map[int]*iggcon.StreamPermissions{
				7: {PollMessages: true, Topics: map[int]*iggcon.TopicPermissions{3: {SendMessages: true}}},
			},
		}
		_, err := root.CreateUser("alice", "secret", iggcon.Active, permissions)
		require.NoError(t, err)
		_, err = root.CreateUser("alice", "secret", iggcon.Active, nil)
		require.ErrorIs(t, err, ierror.ErrUserAlreadyExists)
		made, err := root.CreateUser("bob", "secret", iggcon.Active, nil)
		require.NoError(t, err)
		require.EqualValues(t, 2, made.Id)

		got, err := root.GetUser(alice)
		require.NoError(t, err)
		alices := got
		require.Equal(t, permissions, got.Permissions)
		require.Equal(t, iggcon.Active, got.Status)
		got, err = root.GetUser(named(t, iggytest.Username))
		require.NoError(t, err)
		require.Zero(t, got.Id)
		require.True(t, got.Permissions.Global.SendMessages)
		_, err = root.GetUser(named(t, "nobody"))
		require.ErrorIs(t, err, ierror.ErrResourceNotFound)
		users, err := root.GetUsers()
		require.NoError(t, err)
		require.Len(t, users, 3)

		login := func(name, password string) *peer {
			p := &peer{t, dial(t, server.Address())}
			p.ok(wiretest.LoginUser, wiretest.LoginBody(name, password))
			return p
		}
		login("alice", "secret").ok(wiretest.GetUsers, nil)
		login(fmt.Sprintf("%03d", alices.Id), "secret").ok(wiretest.GetUsers, nil)
		login(fmt.Sprintf("+%02d", alices.Id), "secret").ok(wiretest.GetUsers, nil)
		b := login("bob", "secret")
		b.ok(wiretest.GetUser, wiretest.Name(nil, "bob"))
		b.refused(41, wiretest.GetUser, wiretest.Name(nil, "alice"))
		require.Empty(t, b.ok(wiretest.GetUser, wiretest.Name(nil, "nobody")))
		b.refused(41, wiretest.GetUsers, nil)
		b.refused(41, wiretest.DeleteUser, wiretest.Name(nil, "alice"))

		require.NoError(t, root.UpdatePermissions(named(t, "bob"), permissions))
		b.ok(wiretest.GetUser, wiretest.Name(nil, "alice"))
		require.NoError(t, root.ChangePassword(alice, "secret", "other"))
		p := &peer{t, dial(t, server.Address())}
		p.refused(42, wiretest.LoginUser, wiretest.LoginBody("alice", "secret"))
		login("alice", "other")
		inactive := iggcon.Inactive
		require.NoError(t, root.UpdateUser(alice, nil, &inactive))
		p.refused(47, wiretest.LoginUser, wiretest.LoginBody("alice", "other"))
		p.refused(47, wiretest.LoginUser, wiretest.LoginBody("alice", "secret"))
		require.NoError(t, root.DeleteUser(alice))
		p.refused(42, wiretest.LoginUser, wiretest.LoginBody("alice", "other"))
		_, err = root.GetUser(alice)
		require.ErrorIs(t, err, ierror.ErrResourceNotFound)
	})
}
