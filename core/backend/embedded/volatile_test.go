package embedded_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
)

// Commits of the same offset need no more room the more there are: the log is bounded,
// and where files are in memory there is none.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		volatile bool
		most     int64
	}{
		"on disk":   {false, embedded.MetaLogs * embedded.MemTable},
		"in memory": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := vfs.NewMem()
			s := embeddedtest.Open(t, func(_ *embedded.Config, o *embedded.Options) { o.FS, o.Volatile = files, c.volatile })
			topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
			require.NoError(t, err)
			commit := backend.Commit{Partition: backend.Partition{Topic: topic.ID}}
			commit.Metadata = strings.Repeat("m", 200_000)
			for range 4 * embedded.MetaLogs * embedded.MemTable / len(commit.Metadata) {
				commit.Offset++
				require.NoError(t, s.CommitOffsets(t.Context(), "g", []backend.Commit{commit}))
			}
			require.LessOrEqual(t, logBytes(t, files), c.most)
		})
	}
}

// logBytes is the size of the metadata store's logs.
func logBytes(t *testing.T, files vfs.FS) (sum int64) {
	t.Helper()
	const folder = "/data/meta"
	names, err := files.List(folder)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			info, err := files.Stat(files.PathJoin(folder, name))
			require.NoError(t, err)
			sum += info.Size()
		}
	}
	return sum
}

// Without a log nothing is lost but by a crash.
func TestVolatileIsClosed(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	b := &box{TB: t, fs: vfs.NewMem(), cfg: cfg, opts: embedded.Options{Volatile: true}}
	b.open()
	topic, err := b.store.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
	require.NoError(t, err)
	commit := backend.Commit{Partition: backend.Partition{Topic: topic.ID}}
	commit.Offset = 7
	require.NoError(t, b.store.CommitOffsets(t.Context(), "g", []backend.Commit{commit}))
	require.NoError(t, b.store.Close())
	b.open()
	found, err := b.store.FetchOffsets(t.Context(), "g", nil)
	require.NoError(t, err)
	require.EqualValues(t, 7, found[commit.Partition].Offset)
	require.NoError(t, b.store.Close())
}
