package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// known is a group as EachGroup told of it.
type known struct {
	name  string
	state string // noState: nil
}

const noState = "(none)"

func (h *harness) groups() []known {
	h.Helper()
	var all []known
	require.NoError(h, h.Backend.EachGroup(h.Context(), func(group string, state []byte) error {
		one := known{group, noState}
		if state != nil {
			one.state = string(state)
		}
		all = append(all, one)
		return nil
	}))
	return all
}

func (h *harness) saveGroup(group, state string) {
	h.Helper()
	b := []byte(state)
	require.NoError(h, h.Backend.SaveGroup(h.Context(), group, b))
	clear(b) // it is the caller's
}

func (h *harness) commitOne(group string, c backend.Commit) {
	h.Helper()
	require.NoError(h, h.Backend.CommitOffsets(h.Context(), group, []backend.Commit{c}))
}

func eachGroup(h *harness) {
	ctx, p := h.Context(), h.log("t")
	require.Empty(h, h.groups())
	require.NoError(h, h.Backend.SaveGroup(ctx, "nobody", nil), "to forget what is not there is no error")
	long := strings.Repeat("l", 32767)
	for _, g := range []string{"é", "b", "", "a\x00b", long} {
		h.commitOne(g, commit(p, 1, ""))
	}
	for _, g := range []string{"zz", "b", "a", "a\xff", "\x00", long} {
		h.saveGroup(g, "state of "+g[:min(len(g), 10)])
	}
	h.saveGroup("empty", "")
	want := []known{
		{"", noState}, {"\x00", "state of \x00"}, {"a", "state of a"}, {"a\x00b", noState}, {"a\xff", "state of a\xff"},
		{"b", "state of b"}, {"empty", ""}, {long, "state of llllllllll"}, {"zz", "state of zz"}, {"é", noState},
	}
	require.Equal(h, want, h.groups(), "in order of their names")

	refused, calls := errors.New("refused"), 0
	err := h.Backend.EachGroup(ctx, func(string, []byte) error {
		if calls++; calls == 3 {
			return refused
		}
		return nil
	})
	require.Equal(h, refused, err, "the error of each is returned as it is")
	require.Equal(h, 3, calls)

	// each may call the backend, the groups that it is told of included.
	require.NoError(h, h.Backend.EachGroup(ctx, func(group string, state []byte) error {
		if _, err := h.Backend.ExpireOffsets(ctx, group, time.UnixMilli(0), nil); err != nil || state == nil {
			return err
		}
		return h.Backend.SaveGroup(ctx, group, bytes.Clone(state))
	}))
	require.Equal(h, want, h.groups())

	h.saveGroup("b", "another")
	h.saveGroup("", "of nobody")
	require.NoError(h, h.Backend.SaveGroup(ctx, "a", nil))
	require.NoError(h, h.Backend.SaveGroup(ctx, long, nil))
	require.NoError(h, h.Backend.DeleteOffsets(ctx, "é"))
	require.NoError(h, h.Backend.DeleteOffsets(ctx, "b"))
	require.Equal(h, []known{
		{"", "of nobody"}, {"\x00", "state of \x00"}, {"a\x00b", noState}, {"a\xff", "state of a\xff"},
		{"b", "another"}, {"empty", ""}, {long, noState}, {"zz", "state of zz"},
	}, h.groups())
	groups, err := h.Backend.OffsetGroups(ctx)
	require.NoError(h, err)
	require.Equal(h, []string{"", "a\x00b", long}, groups, "a saved state is no committed offset")
}

func manyGroups(h *harness) {
	const n = 2500
	p := h.log("t")
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := w; i < n; i += 8 {
				g, err := fmt.Sprint("group-", i), error(nil)
				if i%3 != 0 {
					err = h.Backend.SaveGroup(h.Context(), g, []byte(g))
				}
				if i%3 != 1 && err == nil {
					err = h.Backend.CommitOffsets(h.Context(), g, []backend.Commit{commit(p, int64(i), "")})
				}
				if err != nil {
					h.Errorf("%s: %v", g, err)
				}
			}
		})
	}
	work.Wait()
	got := h.groups()
	require.Len(h, got, n)
	require.True(h, slices.IsSortedFunc(got, func(a, b known) int { return strings.Compare(a.name, b.name) }))
	for _, g := range got {
		var i int
		fmt.Sscanf(g.name, "group-%d", &i)
		if i%3 == 0 {
			require.Equal(h, noState, g.state)
		} else {
			require.Equal(h, g.name, g.state)
		}
	}
}

func largeGroups(h *harness) {
	ctx := h.Context()
	h.saveGroup("g", "before")
	state := bytes.Repeat([]byte("0123456789abcdef"), backend.MaxGroupState/16+1)
	require.ErrorIs(h, h.Backend.SaveGroup(ctx, "g", state), backend.ErrTooLarge)
	require.ErrorIs(h, h.Backend.SaveGroup(ctx, "g", state[:backend.MaxGroupState+1]), backend.ErrTooLarge)
	require.Equal(h, []known{{"g", "before"}}, h.groups())
	state = state[:backend.MaxGroupState]
	require.NoError(h, h.Backend.SaveGroup(ctx, "g", state))
	for _, again := range []func() backend.Backend{nil, h.Reopen, h.Crash} {
		if again != nil {
			h.Backend = again()
		}
		n := 0
		require.NoError(h, h.Backend.EachGroup(ctx, func(_ string, got []byte) error {
			n++
			require.True(h, bytes.Equal(state, got))
			return nil
		}))
		require.Equal(h, 1, n)
	}
}

// groupsOutlive: after a restart or a crash there is what was acknowledged.
func groupsOutlive(h *harness) {
	p := h.log("t")
	ended := false
	for i, again := range []func() backend.Backend{h.Reopen, h.Crash, h.Crash, h.Reopen} {
		if again == nil {
			continue
		}
		ended = true
		h.saveGroup("stays", fmt.Sprint("state ", i))
		h.saveGroup("goes", "x")
		h.commitOne("offsets", commit(p, int64(i), ""))
		h.commitOne("expires", commit(p, 1, ""))
		require.NoError(h, h.Backend.SaveGroup(h.Context(), "goes", nil))
		_, err := h.Backend.ExpireOffsets(h.Context(), "expires", time.UnixMilli(recordTime+1), nil)
		require.NoError(h, err)
		h.Backend = again()
		require.Equal(h, []known{{"offsets", noState}, {"stays", fmt.Sprint("state ", i)}}, h.groups())
	}
	if !ended {
		h.Skip("this backend can neither be reopened nor crashed")
	}
}

// groupsOfDeleted: a topic takes its offsets along, not what was saved of groups.
func groupsOfDeleted(h *harness) {
	topic := h.create("t", 1)
	p := backend.Partition{Topic: topic.ID}
	h.commitOne("offsets", commit(p, 1, ""))
	h.commitOne("both", commit(p, 1, ""))
	h.saveGroup("both", "state")
	require.NoError(h, h.Backend.DeleteTopic(h.Context(), topic.ID))
	require.Equal(h, []known{{"both", "state"}}, h.groups())
	left, err := h.Backend.ExpireOffsets(h.Context(), "both", time.UnixMilli(recordTime+1), nil)
	require.NoError(h, err)
	require.Zero(h, left)
}

func expireOffsets(h *harness) {
	ctx := h.Context()
	a, b := h.create("a", 3), h.create("b", 1)
	at := func(i int32) backend.Partition { return backend.Partition{Topic: a.ID, Index: i} }
	other := backend.Partition{Topic: b.ID}
	put := func(group string, p backend.Partition, ms int64) {
		h.Helper()
		c := commit(p, 4, "m")
		c.CommitTime = time.UnixMilli(ms)
		h.commitOne(group, c)
	}
	expire := func(group string, before int64, keep func(string) bool, want int) {
		h.Helper()
		left, err := h.Backend.ExpireOffsets(ctx, group, time.UnixMilli(before), keep)
		require.NoError(h, err)
		require.Equal(h, want, left)
		require.Len(h, h.committed(group), want, "what is left is there")
	}
	for _, g := range []string{"g", "g2", "gg"} {
		put(g, at(0), 1000)
		put(g, at(1), 2000)
		put(g, at(2), 3000)
		put(g, other, 1000)
	}
	h.saveGroup("g", "state")
	expire("nobody", 5000, nil, 0)
	expire("g", 1000, nil, 4)
	expire("g", 1001, func(topic string) bool { return topic == "b" }, 3)
	require.NotContains(h, h.committed("g"), at(0))
	expire("g", 2500, func(string) bool { return true }, 3)
	expire("g", 2500, func(string) bool { return false }, 1)
	require.Contains(h, h.committed("g"), at(2))
	expire("g", 3001, nil, 0)
	require.Equal(h, []known{{"g", "state"}, {"g2", noState}, {"gg", noState}}, h.groups(), "the state stays")
	require.Len(h, h.committed("g2"), 4, "other groups stay as they are")
	require.Len(h, h.committed("gg"), 4)
	put("g2", at(0), 9000)
	expire("g2", 5000, nil, 1)
	require.Contains(h, h.committed("g2"), at(0), "committed anew")
}

// expireTogether: an offset that is committed anew while its group's offsets
// expire is never lost.
func expireTogether(h *harness) {
	topic := h.create("t", 2)
	ps := []backend.Partition{{Topic: topic.ID}, {Topic: topic.ID, Index: 1}}
	const limit = recordTime + 1000
	for round := range int64(60) {
		for _, p := range ps {
			h.commitOne("g", commit(p, round, ""))
		}
		fresh := commit(ps[0], 1000+round, "fresh")
		fresh.CommitTime = time.UnixMilli(limit)
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() {
				_, err := h.Backend.ExpireOffsets(h.Context(), "g", time.UnixMilli(limit), nil)
				if err != nil {
					h.Errorf("expire: %v", err)
				}
			})
		}
		work.Go(func() {
			if err := h.Backend.CommitOffsets(h.Context(), "g", []backend.Commit{fresh}); err != nil {
				h.Errorf("commit: %v", err)
			}
		})
		work.Wait()
		require.Equal(h, map[backend.Partition]backend.CommittedOffset{ps[0]: fresh.CommittedOffset}, h.committed("g"))
	}
}
