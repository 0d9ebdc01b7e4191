package backendtest

import (
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// compaction: a backend takes topics that are to be compacted, new or altered, or says
// that it is cleanup.policy that it cannot honour.
func compaction(h *harness) {
	overrides := map[string]string{"cleanup.policy": "compact"}
	t, err := h.Backend.CreateTopic(h.Context(), backend.NewTopic{Name: "compacted", Partitions: 1, Overrides: overrides})
	plain := h.log("plain")
	altered := h.Backend.AlterTopic(h.Context(), plain.Topic, func(map[string]string) (map[string]string, error) { return overrides, nil })
	now, lookup := h.Backend.TopicByID(h.Context(), plain.Topic)
	require.NoError(h, lookup)
	if err == nil {
		require.NoError(h, altered)
		require.True(h, t.Config.Compact && now.Config.Compact)
		return
	}
	for _, err := range []error{err, altered} {
		var refused *backend.ConfigError
		require.ErrorAs(h, err, &refused)
		require.Equal(h, "cleanup.policy", refused.Name)
	}
	require.False(h, now.Config.Compact)
	_, err = h.Backend.Topic(h.Context(), "compacted")
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
}
