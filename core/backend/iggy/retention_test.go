package iggy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// half is a value of which two fill a segment of iggytest.Retention.
var half = string(make([]byte, 600_000))

func (b *box) create(name string, configs ...string) backend.Partition {
	b.Helper()
	overrides := map[string]string{}
	for i := 0; i+1 < len(configs); i += 2 {
		overrides[configs[i]] = configs[i+1]
	}
	topic, err := b.store.CreateTopic(b.Context(), backend.NewTopic{Name: name, Partitions: 1, Overrides: overrides})
	require.NoError(b, err)
	return backend.Partition{Topic: topic.ID}
}

func (b *box) append(p backend.Partition, value string) backend.Appended {
	b.Helper()
	batch := recordtest.Values(value).At(time.Now().UnixMilli()).Batch(b)
	return b.store.Append(b.Context(), []backend.Append{{Partition: p, Batch: batch}})[0]
}

func (b *box) start(p backend.Partition) int64 {
	b.Helper()
	bounds, err := b.store.Bounds(b.Context(), p)
	require.NoError(b, err)
	return bounds.Start
}

// Iggy deletes whole segments, and never the one that it writes to.
func TestRetentionOfIggy(t *testing.T) {
	t.Parallel()
	b := newPatientBox(t, iggytest.Real(t, iggytest.NoFsync(), iggytest.Retention()), time.Minute)
	old, small := b.create("old", "retention.ms", "1"), b.create("small", "retention.bytes", "1000")
	kept, nothing := b.create("kept", "retention.ms", "-1"), b.create("nothing", "retention.ms", "1", "cleanup.policy", "")
	const n = 7
	for range n {
		for _, p := range []backend.Partition{old, small, kept, nothing} {
			require.NoError(t, b.append(p, half).Err)
		}
	}
	for _, p := range []backend.Partition{old, small} {
		require.Eventually(t, func() bool { return b.start(p) >= n-2 }, time.Minute, 10*time.Millisecond)
		_, bounds, err := b.store.Read(t.Context(), backend.Read{Partition: p, MaxBytes: 1 << 20})
		require.ErrorIs(t, err, backend.ErrOffsetOutOfRange)
		require.EqualValues(t, n, bounds.End)
		require.EqualValues(t, n, b.append(p, "more").BaseOffset)
	}
	for _, p := range []backend.Partition{kept, nothing} {
		require.Zero(t, b.start(p))
	}
}

// A partition whose segments have all expired when the server starts begins at 0
// again, and is of no use any more. The gateway does not serve it.
func TestAllSegmentsExpire(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t, iggytest.NoFsync(), iggytest.Retention())
	b := newPatientBox(t, server, time.Minute)
	p := b.create("t", "retention.ms", "1")
	// Until the last message has filled a segment, which then expires too.
	end, filled := int64(0), time.Time{}
	require.Eventually(t, func() bool {
		if time.Since(filled) > time.Second { // the last one did not
			got := b.append(p, half)
			require.NoError(t, got.Err)
			end, filled = got.BaseOffset+1, time.Now()
		}
		return b.start(p) == end
	}, time.Minute, 10*time.Millisecond)
	b.close()
	server.Stop()
	server.Start()
	b.open()
	_, err := b.store.Bounds(t.Context(), p)
	require.ErrorIs(t, err, backend.ErrStorage)
	require.ErrorContains(t, err, "make it anew")
	require.ErrorIs(t, b.append(p, "x").Err, backend.ErrStorage)
	b.close()
	// Iggy 0.8.0 cannot give out by offset what such a partition gets from now on,
	// so nothing of it is acknowledged.
	b.cfg.AcceptTruncation = true
	b.open()
	require.Error(t, b.append(p, "x").Err)
	require.NoError(t, b.store.DeleteTopic(t.Context(), p.Topic))
	p = b.create("t")
	require.NoError(t, b.append(p, "x").Err)
	require.Zero(t, b.start(p))
}
