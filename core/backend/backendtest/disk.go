package backendtest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func logDir(h *harness) {
	dir, err := h.Backend.LogDir(h.Context())
	require.NoError(h, err)
	require.NotEmpty(h, dir.Path)
	require.GreaterOrEqual(h, dir.Total, int64(-1))
	require.GreaterOrEqual(h, dir.Usable, int64(-1))
	if dir.Total >= 0 {
		require.LessOrEqual(h, dir.Usable, dir.Total)
	}
}

// sizes does not say what a record takes: that differs from backend to backend,
// and may be known late.
func sizes(h *harness) {
	ctx, topic := h.Context(), h.create("t", 2)
	size := func() []int64 {
		h.Helper()
		got, err := h.Backend.Sizes(ctx, topic.ID)
		require.NoError(h, err)
		return got
	}
	first := size()
	require.Len(h, first, 2)
	p := backend.Partition{Topic: topic.ID, Index: 1}
	for range 3 {
		before := size()
		h.store(p, recordtest.Values(strings.Repeat("x", 50_000)))
		require.Eventually(h, func() bool { return size()[1] >= before[1]+50_000 }, soon, 10*time.Millisecond)
		require.Equal(h, first[0], size()[0])
	}
	require.NoError(h, h.Backend.GrowTopic(ctx, topic.ID, 4))
	require.Len(h, size(), 4)
	if h.Reopen != nil {
		h.Backend = h.Reopen()
		require.Eventually(h, func() bool { return size()[1] >= 150_000 }, soon, 10*time.Millisecond)
		require.Len(h, size(), 4)
	}
}
