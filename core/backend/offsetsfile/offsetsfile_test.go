package offsetsfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/topicconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open has a backend in memory with topics t and u of three partitions.
func open(t *testing.T) backend.Backend {
	t.Helper()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	cfg := embedded.DefaultConfig()
	cfg.Dir = "/data"
	s := embedded.New(cfg, catalog, embedded.Options{FS: vfs.NewMem()})
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, name := range []string{"t", "u"} {
		_, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: name, Partitions: 3})
		require.NoError(t, err)
	}
	return s
}

func partition(t *testing.T, b backend.Backend, topic string, index int32) backend.Partition {
	t.Helper()
	found, err := b.Topic(t.Context(), topic)
	require.NoError(t, err)
	return backend.Partition{Topic: found.ID, Index: index}
}

func commits(t *testing.T, b backend.Backend, group string) map[string]backend.CommittedOffset {
	t.Helper()
	all, err := b.FetchOffsets(t.Context(), group, nil)
	require.NoError(t, err)
	named := map[string]backend.CommittedOffset{}
	for _, name := range []string{"t", "u"} {
		for i := range int32(3) {
			if c, ok := all[partition(t, b, name, i)]; ok {
				named[fmt.Sprint(name, i)] = c
			}
		}
	}
	return named
}

const golden = `{"group":"","topic":"t","partition":0,"offset":0,"leader_epoch":-1,"metadata":"","time":"2023-11-14T22:13:20.123Z"}
{"group":"<a>","topic":"t","partition":0,"offset":5,"leader_epoch":3,"metadata":"✓\n","time":"2023-11-14T22:13:20.123Z"}
{"group":"<a>","topic":"t","partition":2,"offset":9223372036854775807,"leader_epoch":0,"metadata_base64":"/w==","time":"2023-11-14T22:13:20.123Z"}
{"group":"<a>","topic":"u","partition":1,"offset":7,"leader_epoch":-1,"metadata":"","time":"2023-11-14T22:13:20.123Z"}
{"group_base64":"/wA=","topic":"u","partition":0,"offset":1,"leader_epoch":-1,"metadata":"","time":"2023-11-14T22:13:20.123Z"}
`

// What one backend writes another one reads.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	at := time.UnixMilli(1_700_000_000_123)
	for _, one := range []struct {
		group, topic string
		index        int32
		offset       int64
		epoch        int32
		metadata     string
	}{
		{"", "t", 0, 0, -1, ""}, {"<a>", "t", 0, 5, 3, "✓\n"}, {"<a>", "u", 1, 7, -1, ""},
		{"<a>", "t", 2, 1<<63 - 1, 0, "\xff"}, {"\xff\x00", "u", 0, 1, -1, ""},
	} {
		require.NoError(t, from.CommitOffsets(t.Context(), one.group, []backend.Commit{{
			Partition:       partition(t, from, one.topic, one.index),
			CommittedOffset: backend.CommittedOffset{Offset: one.offset, LeaderEpoch: one.epoch, Metadata: one.metadata, CommitTime: at},
		}}))
	}
	var file bytes.Buffer
	require.NoError(t, Export(t.Context(), from, &file))
	require.Equal(t, golden, file.String())
	done, err := Import(t.Context(), to, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, Result{Groups: 3, Offsets: 5}, done)
	for _, group := range []string{"", "<a>", "\xff\x00"} {
		require.Equal(t, commits(t, from, group), commits(t, to, group))
	}
	var again bytes.Buffer
	require.NoError(t, Export(t.Context(), to, &again))
	require.Equal(t, golden, again.String())
}

// Written by hand, a line needs little.
func TestImportOfLittle(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, err := Import(t.Context(), b, strings.NewReader("\n"+`{"group":"g","topic":"t","partition":1,"offset":4}`+"\n\n"))
	require.NoError(t, err)
	got := commits(t, b, "g")["t1"]
	require.WithinDuration(t, time.Now(), got.CommitTime, time.Minute)
	require.EqualValues(t, 4, got.Offset)
	require.EqualValues(t, -1, got.LeaderEpoch)
}

// One fault anywhere, and nothing is committed.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := open(t)
	const good = `{"group":"g","topic":"t","partition":0,"offset":4}` + "\n"
	for text, want := range map[string]string{
		`x`:                         "line 2: is not an offset: ",
		`{"group":"g"} {}`:          "line 2: there is something behind the offset",
		`{"groop":"g"}`:             `line 2: is not an offset: json: unknown field "groop"`,
		`{"topic":"t"}`:             "line 2: group: is missing",
		`{"group":"g"}`:             "line 2: topic: is missing",
		`{"group":"g","topic":"t"}`: "line 2: partition: is missing",
		`{"group":"g","topic":"t","partition":0}`:                                             "line 2: offset: is missing",
		`{"group":"g","topic":"t","partition":1,"offset":-1}`:                                 "line 2: offset: -1 is negative",
		`{"group":"g","topic":"t","partition":3000000000,"offset":1}`:                         "line 2: is not an offset: ",
		`{"group":"g","topic":"t","partition":3,"offset":1}`:                                  `line 2: topic "t" has no partition 3; it has 3`,
		`{"group":"g","topic":"v","partition":0,"offset":1}`:                                  `line 2: there is no topic "v"`,
		`{"group":"g","topic":"t","partition":0,"offset":1}`:                                  "line 2: line 1 has an offset of this group and partition already",
		`{"group":"g","topic":"t","partition":1,"offset":1,"time":"today"}`:                   `line 2: time: "today" is not a time such as`,
		`{"group":"g","group_base64":"","topic":"t","partition":1,"offset":1}`:                "line 2: group and group_base64 are both given",
		`{"group":"` + strings.Repeat("g", 40000) + `","topic":"t","partition":1,"offset":1}`: "line 2: group: has 40000 bytes, and 32767 is the most",
		strings.Repeat(" ", maxLine+1):                                                        "line 2: longer than",
		`x` + strings.Repeat("\nx", 30):                                                       "line 21: is not an offset: invalid character 'x' looking for beginning of value\nand 11 more",
	} {
		_, err := Import(t.Context(), b, strings.NewReader(good+text))
		require.ErrorContains(t, err, want, "%.100s", text)
		groups, err := b.OffsetGroups(t.Context())
		require.NoError(t, err)
		require.Empty(t, groups, "%.100s", text)
	}
	broken := backendtest.Failing(b, backend.ErrUnavailable)
	_, err := Import(t.Context(), broken, strings.NewReader(good))
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorIs(t, Export(t.Context(), broken, &bytes.Buffer{}), backend.ErrUnavailable)
	require.EqualError(t, Export(t.Context(), full(t, b), failing{}), "disk full")
}

func full(t *testing.T, b backend.Backend) backend.Backend {
	t.Helper()
	_, err := Import(t.Context(), b, strings.NewReader(golden))
	require.NoError(t, err)
	return b
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }
