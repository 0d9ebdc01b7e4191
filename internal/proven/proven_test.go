package proven

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPasswords(t *testing.T) {
	t.Parallel()
	p := New[int](2)
	right := func(user, password string, want int, known bool) {
		t.Helper()
		got, ok := p.Right(user, p.Mark(user, password))
		require.Equal(t, known, ok, "%s/%s", user, password)
		require.Equal(t, want, got)
	}
	right("alice", "a", 0, false)
	p.Remember("alice", p.Mark("alice", "a"), 1)
	p.Remember("bob", p.Mark("bob", "b"), 2)
	right("alice", "a", 1, true)
	right("alice", "b", 0, false)
	right("bob", "a", 0, false)
	right("bob", "b", 2, true)
	_, ok := p.Right("bob", p.Mark("alice", "a"))
	require.False(t, ok, "another user's")
	_, ok = p.Right("ali", p.Mark("ali", "cea"))
	require.False(t, ok, "a name ends where it ends")

	p.Remember("alice", p.Mark("alice", "new"), 3)
	right("alice", "a", 0, false)
	right("alice", "new", 3, true)
	p.Forget("alice", p.Mark("alice", "a"))
	right("alice", "new", 3, true)
	p.Forget("alice", p.Mark("alice", "new"))
	right("alice", "new", 0, false)
	p.ForgetUser("bob")
	right("bob", "b", 0, false)

	require.NotEqual(t, p.Mark("u", "p"), New[int](1).Mark("u", "p"), "each has its own key")
	require.Panics(t, func() { New[int](0) })
}

// Of too many users the one that was asked for least lately goes.
func TestForgetsTheOldest(t *testing.T) {
	t.Parallel()
	p := New[int](3)
	mark := func(user string) Mark { return p.Mark(user, "p") }
	for _, user := range []string{"a", "b", "c"} {
		p.Remember(user, mark(user), 0)
	}
	_, ok := p.Right("a", mark("a"))
	require.True(t, ok)
	p.Remember("d", mark("d"), 0)
	for user, known := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		_, ok := p.Right(user, mark(user))
		require.Equal(t, known, ok, user)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := New[string](100)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				user := fmt.Sprint(n % 120)
				m := p.Mark(user, user)
				p.Remember(user, m, user)
				if with, ok := p.Right(user, m); ok && with != user {
					t.Errorf("%s got %s", user, with)
				}
				if n%7 == i {
					p.Forget(user, m)
				}
			}
		})
	}
	all.Wait()
}
