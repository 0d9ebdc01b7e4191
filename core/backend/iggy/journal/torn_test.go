package journal

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// segmentCommits is how many commits of segmentBytes end a segment of
// iggytest.Retention, which does so with the request that comes when it has a MiB.
const (
	segmentCommits = 12
	segmentBytes   = 100_000
)

// fillSegment makes commits until the next message is the first of a segment.
func fillSegment(t *testing.T, j *Journal) map[string]string {
	for i := range segmentCommits {
		set(t, j, fmt.Sprint("a", i), string(make([]byte, segmentBytes)))
	}
	return all(j)
}

// insist commits a pair as soon as the server lets it, and notes it.
func insist(t *testing.T, j *Journal, want map[string]string, key string) {
	t.Helper()
	require.Eventually(t, func() bool {
		require.NoError(t, j.Err())
		return j.Commit(t.Context(), []Change{{key, []byte("1")}}) == nil
	}, soon, tick)
	want[key] = "1"
}

// The first message of the log is torn: nothing has begun there yet.
func TestServerTornFirst(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		createLog(t, connect(t, server))
		server.Tear(testStream, "state-1", 0)
		want := map[string]string{}
		for round := range 3 {
			j := open(t, connect(t, server), logged(t))
			require.Equal(t, want, all(j))
			insist(t, j, want, fmt.Sprint("b", round))
			insist(t, j, want, fmt.Sprint("c", round))
			require.NoError(t, j.Close())
		}
	})
}

// The first message of a later segment is torn, while the gateway runs, or before it
// starts, or both.
func TestServerTornFirstOfASegment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ restarts, lost bool }{
		"running": {}, "restarted": {restarts: true}, "running, lost": {lost: true}, "restarted, lost": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
				t.Parallel()
				server := start(t, iggytest.NoFsync(), iggytest.Retention())
				j := open(t, connect(t, server), logged(t))
				want := fillSegment(t, j)
				if c.restarts {
					// As a kill does: a lease that is given back is a message, too.
					j.client.(*client.Client).Close()
				}
				server.Tear(testStream, "state-1", 0)
				if c.lost {
					if standin, ok := server.(*iggytest.Standin); ok {
						standin.Inject(standintest.Fault{Code: wiretest.SendMessages, Stream: testStream, Kind: standintest.CutBefore})
					}
				}
				for round := range 3 {
					if c.restarts {
						j.client.(*client.Client).Close()
						former := j
						j = open(t, connect(t, server), logged(t))
						require.Equal(t, want, all(j))
						require.NoError(t, former.Close())
					}
					insist(t, j, want, fmt.Sprint("b", round))
					insist(t, j, want, fmt.Sprint("c", round))
				}
				require.Eventually(t, func() bool {
					topics, err := j.client.Topics(t.Context(), testStream)
					return err == nil && len(topics) == 1 && topics[0].Name != "state-1"
				}, soon, tick, "the log is replaced")
				keeps(t, server, j, want)
			})
		})
	}
}

// The first message of the log is torn twice, so that nothing that follows is ever
// shown: a start says so.
func TestServerTornFirstTwice(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		createLog(t, connect(t, server))
		server.Tear(testStream, "state-1", 0)
		server.Tear(testStream, "state-1", 0)
		_, err := Open(t.Context(), connect(t, server), options())
		require.ErrorIs(t, err, errMisread)
		require.ErrorContains(t, err, "topic state-1")
	})
}

// createLog makes the first topic of the journal.
func createLog(t *testing.T, c Client) {
	_, err := c.EnsureStream(t.Context(), testStream)
	require.NoError(t, err)
	require.NoError(t, (&Journal{client: c, opts: options()}).create(t.Context(), 1))
}

// darken has the server show nothing of what comes to the log from now on, until the
// returned function is called.
func (s *fakeServer) darken() (light func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.streams[testStream]["state-1"]
	log.dark = uint64(len(log.messages))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		log.dark = 0
	}
}

// A server that acknowledges and shows nothing any more ends a journal, and not before
// it has had time.
func TestNothingIsReadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		set(t, j, "a", "1")
		light := s.darken()
		before := time.Now()
		err := j.Commit(t.Context(), []Change{{"b", []byte("1")}})
		require.ErrorIs(t, err, backend.ErrOutcomeUnknown, "it is in the log")
		require.ErrorContains(t, err, "topic state-1")
		require.GreaterOrEqual(t, time.Since(before), unreadFor)
		<-j.Lost()
		require.ErrorIs(t, j.Commit(t.Context(), []Change{{"c", []byte("1")}}), backend.ErrUnavailable)
		require.ErrorIs(t, j.Close(), errMisread)
		require.Equal(t, map[string]string{"a": "1"}, all(j))

		_, err = Open(t.Context(), s.connect(), options())
		require.ErrorIs(t, err, backend.ErrStorage)
		light()
		require.Equal(t, map[string]string{"a": "1", "b": "1"}, reopen(t, s))
	})
}

// A server that shows what it has acknowledged some seconds later loses nothing.
func TestReadableLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		set(t, j, "a", "1")
		light := s.darken()
		time.AfterFunc(unreadFor/2, light)
		set(t, j, "b", "1")
		require.NoError(t, j.Close())
		require.Equal(t, map[string]string{"a": "1", "b": "1"}, reopen(t, s))
	})
}

// A server that is slow to show what it has acknowledged is waited for, also where the
// log has messages that are not found under their offsets: nothing is skipped, or sent
// twice. What is never shown costs a wait at its first offset and at its last.
func TestSlowToShowWhenMisread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shown   time.Duration // after the send
		skipped bool
	}{
		"at once": {}, "slow": {shown: 100 * time.Millisecond}, "never": {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				owner := s.connect()
				j := open(t, owner)
				set(t, j, "a", "1")
				owner.die() // what follows goes on in its name
				require.NoError(t, j.Close())
				reader := s.connect()
				l := newTopicLog(reader, testStream, 1, zap.NewNop())
				require.NoError(t, l.replay(t.Context(), nil))
				require.NotZero(t, l.next)
				l.misread = true
				var es []*entry
				for _, key := range []string{"b", "c", "d"} {
					es = append(es, newEntry(record{kind: kindChanges, changes: appendChanges(nil, []Change{{key, []byte("1")}})}))
				}
				require.NoError(t, l.send(t.Context(), l.state.owner, es))
				topic := s.only()
				s.mu.Lock()
				topic.late = l.next
				s.mu.Unlock()
				show := time.AfterFunc(c.shown, func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					topic.late = 0
				})
				defer show.Stop()
				synctest.Wait()
				before, first, asked := time.Now(), l.next, reader.requests()
				require.NoError(t, l.catchUp(t.Context(), es, true))
				require.Equal(t, first+3, l.next)
				require.Equal(t, c.skipped, l.skipping)
				if c.skipped {
					require.Equal(t, 2*300*time.Millisecond, time.Since(before), "20+40+80+160 ms, at two offsets")
					require.Equal(t, 36, reader.requests()-asked, "each look is one, and two beside others")
				}
				for _, e := range es {
					require.Equal(t, c.skipped, !e.stored)
				}
			})
		})
	}
}
