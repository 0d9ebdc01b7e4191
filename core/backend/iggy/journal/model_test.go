package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
)

// TestModel holds a journal against a map, through faults of any request,
// restarts and kills of the gateway, and servers that lose the end of the log.
func TestModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(rt *rapid.T) {
			m := &model{server: newFakeServer(), want: map[string]string{}}
			m.open(rt)
			defer func() { _ = m.journal.Close() }()
			rt.Repeat(map[string]func(*rapid.T){
				"commit": m.commit,
				"amend":  m.amend,
				"faulty": m.faulty,
				"reopen": m.reopen,
				"kill":   m.kill,
				"forget": m.forget,
				"tear":   m.tear,
				"wait":   func(rt *rapid.T) { time.Sleep(20 * time.Second) },
				"prefix": m.prefix,
				"":       m.check,
			})
		})
	})
}

// noDeadline hides the deadline of a test, which is of another clock.
type noDeadline struct{ rapid.TB }

type model struct {
	server  *fakeServer
	client  *fakeClient
	journal *Journal
	want    map[string]string
}

func (m *model) open(rt *rapid.T) {
	m.client = m.server.connect()
	m.journal = open(rt, m.client, func(o *Options) { o.FloorRecords = rapid.Int64Range(1, 40).Draw(rt, "floor") })
}

func draw(rt *rapid.T) []Change {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Change {
		c := Change{Key: rapid.SampledFrom([]string{"", "a", "a/1", "a/2", "b", "b/1"}).Draw(rt, "key")}
		if !rapid.Bool().Draw(rt, "delete") {
			c.Value = []byte(rapid.StringN(0, 5, -1).Draw(rt, "value"))
		}
		return c
	}), 1, 5).Draw(rt, "changes")
}

func with(m map[string]string, changes []Change) map[string]string {
	m = maps.Clone(m)
	for _, c := range changes {
		if c.Value == nil {
			delete(m, c.Key)
		} else {
			m[c.Key] = string(c.Value)
		}
	}
	return m
}

func (m *model) commit(rt *rapid.T) {
	for range rapid.IntRange(1, 10).Draw(rt, "commits") {
		changes := draw(rt)
		require.NoError(rt, m.journal.Commit(context.Background(), changes))
		m.want = with(m.want, changes)
	}
}

// amend makes changes that depend on what is there.
func (m *model) amend(rt *rapid.T) {
	want := m.want
	require.NoError(rt, m.journal.Amend(context.Background(), func() []Change {
		changes := []Change{{"count", []byte(fmt.Sprint(len(all(m.journal))))}}
		want = with(m.want, changes)
		return changes
	}))
	m.want = want
}

// faulty commits while requests fail as they like.
func (m *model) faulty(rt *rapid.T) {
	faults := rapid.SliceOfN(rapid.SampledFrom([]fault{ok, ok, before, lostBefore, lostAfter, lostLate}), 1, 12).Draw(rt, "faults")
	m.client.mu.Lock()
	m.client.fault = func(int, string) fault {
		if len(faults) == 0 {
			return ok
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
	m.client.mu.Unlock()
	changes := draw(rt)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rapid.IntRange(1, 1000).Draw(rt, "ms"))*time.Millisecond)
	defer cancel()
	var err error
	if rapid.Bool().Draw(rt, "amend") {
		err = m.journal.Amend(ctx, func() []Change { return changes })
	} else {
		err = m.journal.Commit(ctx, changes)
	}
	time.Sleep(time.Minute)
	after := with(m.want, changes)
	switch {
	case err == nil:
		m.want = after
	case errors.Is(err, backend.ErrOutcomeUnknown):
		if maps.Equal(after, all(m.journal)) {
			m.want = after
		}
	default:
		require.ErrorIs(rt, err, backend.ErrUnavailable)
	}
}

func (m *model) reopen(rt *rapid.T) {
	require.NoError(rt, m.journal.Close())
	m.open(rt)
}

func (m *model) kill(rt *rapid.T) {
	m.client.die()
	require.NoError(rt, m.journal.Close())
	m.open(rt)
}

// forget has the server lose the end of the log, as after a kill with lax
// settings, while the gateway stays up.
func (m *model) forget(rt *rapid.T) {
	time.Sleep(20 * time.Second)
	m.server.mu.Lock()
	topic := m.server.streams[testStream][m.server.newest()]
	keep := rapid.IntRange(0, len(topic.messages)).Draw(rt, "keep")
	topic.messages = slices.Clip(topic.messages[:keep])
	m.server.mu.Unlock()
	m.commit(rt)
}

// tear has the next message be unreadable.
func (m *model) tear(rt *rapid.T) {
	m.server.mu.Lock()
	topic := m.server.streams[testStream][m.server.newest()]
	if topic.bad == nil {
		topic.bad = map[uint64]bool{}
	}
	topic.bad[uint64(len(topic.messages))] = true
	m.server.mu.Unlock()
}

func (m *model) prefix(rt *rapid.T) {
	prefix := rapid.SampledFrom([]string{"", "a", "a/", "b", "c"}).Draw(rt, "prefix")
	var want, got []string
	for _, k := range slices.Sorted(maps.Keys(m.want)) {
		if strings.HasPrefix(k, prefix) {
			want = append(want, fmt.Sprint(k, "=", m.want[k]))
		}
	}
	for k, v := range m.journal.Scan(prefix) {
		got = append(got, fmt.Sprint(k, "=", string(v)))
		one, found := m.journal.Get(k)
		require.True(rt, found)
		require.Equal(rt, v, one)
	}
	require.Equal(rt, want, got)
}

func (m *model) check(rt *rapid.T) {
	require.NoError(rt, m.journal.Err())
	require.Equal(rt, m.want, all(m.journal))
}

// newest returns the topic of the newest generation; the server is locked.
func (s *fakeServer) newest() string {
	var newest uint64
	for name := range s.streams[testStream] {
		newest = max(newest, generationOf(name))
	}
	return topicName(newest)
}
