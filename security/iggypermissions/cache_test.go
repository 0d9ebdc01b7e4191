package iggypermissions

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

// slow is a fake server with one user, alice, and a lock.
type slow struct {
	fake
	mu     sync.Mutex
	takes  time.Duration
	silent bool
}

func (s *slow) User(ctx context.Context, name string) (iggcon.UserInfoDetails, error) {
	s.mu.Lock()
	user, err := s.fake.User(ctx, name)
	takes, silent := s.takes, s.silent
	s.mu.Unlock()
	if silent {
		<-ctx.Done()
		return iggcon.UserInfoDetails{}, ctx.Err()
	}
	time.Sleep(takes) // in a bubble, where it takes no time
	return user, err
}

func (s *slow) set(change func(*slow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *slow) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

var errAway = fmt.Errorf("%w: no connection", backend.ErrUnavailable)

const cacheTime, staleTime = 10 * time.Second, time.Minute

// openSlow returns an authorizer over a slow server, whose user alice may poll.
func openSlow(t *testing.T) (*slow, *Authorizer, *observer.ObservedLogs) {
	polls := &iggcon.Permissions{Global: iggcon.GlobalPermissions{PollMessages: true}}
	s := &slow{fake: fake{users: map[string]*iggcon.Permissions{"alice": polls}}}
	core, logs := observer.New(zap.WarnLevel)
	a := New(s, Config{CacheTime: cacheTime, StaleTime: staleTime, MaxACLs: 100}, zap.New(core))
	t.Cleanup(a.Close)
	return s, a, logs
}

func (a *Authorizer) reads(t *testing.T, user string) bool {
	return a.may(t, user, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, "t")
}

// One question is good for half of the time; then it is asked anew in the background.
func TestAskedInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := openSlow(t)
		for range 100 {
			require.True(t, a.reads(t, "alice"))
			require.False(t, a.reads(t, "nobody"))
		}
		require.Equal(t, 2, s.count())
		time.Sleep(cacheTime / 2)
		s.set(func(s *slow) { s.takes, s.users["alice"] = time.Second, nil })
		began := time.Now()
		for range 100 {
			require.True(t, a.reads(t, "alice"), "the answer is not there yet")
		}
		require.Zero(t, time.Since(began), "and nobody waits for it")
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, a.reads(t, "alice"))
		require.Equal(t, 3, s.count())
	})
}

// What was taken away holds for no longer than the time, also of a user who did
// nothing meanwhile.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := openSlow(t)
		require.True(t, a.reads(t, "alice"))
		s.set(func(s *slow) { s.takes, s.users["alice"] = time.Second, nil })
		time.Sleep(cacheTime)
		require.False(t, a.reads(t, "alice"))
	})
}

// Many who ask together share a question.
func TestOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := openSlow(t)
		s.takes = time.Second
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if !a.reads(t, "alice") {
					t.Error("denied")
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, s.count())
	})
}

// In an outage what was known holds for a time, without anybody waiting for it again
// and again; what was not known is denied.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, logs := openSlow(t)
		require.True(t, a.reads(t, "alice"))
		began := time.Now()
		s.set(func(s *slow) { s.err = errAway })
		for time.Since(began) < staleTime-time.Second {
			require.True(t, a.reads(t, "alice"))
			require.False(t, a.reads(t, "bob"))
			time.Sleep(100 * time.Millisecond)
		}
		require.LessOrEqual(t, s.count(), 2*int(staleTime/time.Second)+2, "each is asked for once a second")
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, a.reads(t, "alice"))
		s.set(func(s *slow) { s.err = nil })
		time.Sleep(retry)
		require.True(t, a.reads(t, "alice"))
		require.Zero(t, logs.Len(), "others tell that the server is away")
	})
}

// A silent server holds who is known, and active, for no time at all, and others no
// longer than they want to wait.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := openSlow(t)
		require.True(t, a.reads(t, "alice"))
		s.set(func(s *slow) { s.silent = true })
		began := time.Now()
		for range 50 {
			time.Sleep(time.Second)
			before := time.Now()
			require.True(t, a.reads(t, "alice"))
			require.LessOrEqual(t, time.Since(before), askLimit/2)
		}
		require.LessOrEqual(t, time.Since(began), 50*time.Second+askLimit/2, "nor again and again")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := time.Now()
		require.False(t, a.Authorize(ctx, security.Requester{Principal: security.User("bob")}, kmsg.ACLOperationRead, security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "t"}))
		require.Equal(t, time.Second, time.Since(before))
		before = time.Now()
		a.Close()
		require.Zero(t, time.Since(before), "the end waits for nobody")
		require.False(t, a.reads(t, "carol"))
	})
}

// A server that refuses to answer leaves nothing of what was known, and the log tells.
func TestRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, logs := openSlow(t)
		require.True(t, a.reads(t, "alice"))
		s.set(func(s *slow) { s.err = ierror.ErrUnauthorized })
		time.Sleep(cacheTime)
		for range 30 {
			require.False(t, a.reads(t, "alice"))
			time.Sleep(time.Second)
		}
		require.Equal(t, 1, logs.FilterMessageSnippet("read_users").Len())
		require.ErrorContains(t, a.Check(t.Context()), "read_users")
		s.set(func(s *slow) { s.err = nil })
		time.Sleep(retry)
		require.True(t, a.reads(t, "alice"))
	})
}

// Only users of that very name have rights: not who has not logged in, nor principals
// of another type.
func TestNames(t *testing.T) {
	t.Parallel()
	s := everybody(false)
	s.users["alice"] = s.users["ANONYMOUS"]
	a := open(t, s)
	require.True(t, a.reads(t, "alice"))
	for _, p := range []security.Principal{security.Anonymous, {Type: "Group", Name: "alice"}, security.User("Alice"), security.User("alice "), security.User(""), {}} {
		who := security.Requester{Principal: p}
		require.False(t, a.Authorize(t.Context(), who, kmsg.ACLOperationRead, security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "t"}), p)
		require.False(t, a.AuthorizeAny(t.Context(), who, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic), p)
	}
	require.False(t, a.may(t, "alice", kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster, "another-cluster"))
	require.True(t, a.may(t, "alice", kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster, security.ClusterName))
}

// Memory is bounded.
func TestForgetsTheOldest(t *testing.T) {
	t.Parallel()
	_, a, _ := openSlow(t)
	for i := range maxUsers {
		a.users.Add(fmt.Sprint("user", i), entry{grants: nothing, read: time.Now()})
	}
	require.True(t, a.reads(t, "alice"))
	require.Equal(t, maxUsers, a.users.Len())
	require.False(t, a.users.Contains("user0"))
}

func TestConform(t *testing.T) {
	t.Parallel()
	securitytest.Authorizers(t, func(t *testing.T) securitytest.Authorizing {
		s, a, _ := openSlow(t)
		s.users["bob"] = &iggcon.Permissions{Streams: map[int]*iggcon.StreamPermissions{
			1: {Topics: map[int]*iggcon.TopicPermissions{2: {SendMessages: true}}},
		}}
		question := func(user string, op kmsg.ACLOperation, topic string) securitytest.Question {
			return securitytest.Question{
				Who:       security.Requester{Principal: security.User(user), Host: "10.0.0.7"},
				Operation: op, On: security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic},
			}
		}
		return securitytest.Authorizing{
			Authorizer: a,
			May: []securitytest.Question{
				question("alice", kmsg.ACLOperationRead, "one"), question("alice", kmsg.ACLOperationDescribe, "new"),
				question("bob", kmsg.ACLOperationWrite, "two"),
			},
			MayAny: []securitytest.Question{question("alice", kmsg.ACLOperationRead, ""), question("bob", kmsg.ACLOperationWrite, "")},
			MayNot: []securitytest.Question{
				question("alice", kmsg.ACLOperationWrite, "one"), question("bob", kmsg.ACLOperationRead, "two"),
				question("bob", kmsg.ACLOperationWrite, "one"), question("carol", kmsg.ACLOperationRead, "one"),
			},
			Fail: func() {
				s.set(func(s *slow) { s.err = errAway })
			},
		}
	})
}
