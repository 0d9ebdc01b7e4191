package offsetfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/backend/offsetfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	moment = time.Date(2026, 1, 2, 15, 4, 5, 678e6, time.UTC)
	now    = moment.Add(time.Hour)
)

// open returns a store with topics orders (2 partitions) and returns (1).
func open(t *testing.T) (*embedded.Store, map[string]backend.Partition) {
	s := embeddedtest.Open(t)
	at := map[string]backend.Partition{}
	for name, partitions := range map[string]int32{"orders": 2, "returns": 1} {
		topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: name, Partitions: partitions})
		require.NoError(t, err)
		at[name] = backend.Partition{Topic: topic.ID}
	}
	return s, at
}

func export(t *testing.T, s offsetfile.Store) string {
	var out bytes.Buffer
	n, err := offsetfile.Export(t.Context(), s, &out)
	require.NoError(t, err)
	require.Equal(t, strings.Count(out.String(), "\n"), n)
	return out.String()
}

// What is exported from one store and imported into another is the same there.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	s, at := open(t)
	second := at["orders"]
	second.Index = 1
	commit := func(group string, commits ...backend.Commit) {
		require.NoError(t, s.CommitOffsets(t.Context(), group, commits))
	}
	commit("billing",
		backend.Commit{Partition: second, CommittedOffset: backend.CommittedOffset{Offset: 42, LeaderEpoch: 3, Metadata: "<é>", CommitTime: moment}},
		backend.Commit{Partition: at["orders"], CommittedOffset: backend.CommittedOffset{LeaderEpoch: -1, CommitTime: moment}},
		backend.Commit{Partition: at["returns"], CommittedOffset: backend.CommittedOffset{Offset: 1<<62 + 1, LeaderEpoch: 0, CommitTime: moment}})
	commit("a\xffb", backend.Commit{Partition: at["returns"], CommittedOffset: backend.CommittedOffset{Offset: 7, LeaderEpoch: -1, Metadata: "\xfe", CommitTime: moment}})

	commit("", backend.Commit{Partition: at["returns"], CommittedOffset: backend.CommittedOffset{Offset: 1, LeaderEpoch: -1, CommitTime: moment}})

	const want = `{"group":"","topic":"returns","partition":0,"offset":1,"time":"2026-01-02T15:04:05.678Z"}
{"group_base64":"Yf9i","topic":"returns","partition":0,"offset":7,"metadata_base64":"/g==","time":"2026-01-02T15:04:05.678Z"}
{"group":"billing","topic":"orders","partition":0,"offset":0,"time":"2026-01-02T15:04:05.678Z"}
{"group":"billing","topic":"orders","partition":1,"offset":42,"leader_epoch":3,"metadata":"<é>","time":"2026-01-02T15:04:05.678Z"}
{"group":"billing","topic":"returns","partition":0,"offset":4611686018427387905,"leader_epoch":0,"time":"2026-01-02T15:04:05.678Z"}
`
	require.Equal(t, want, export(t, s))

	other, _ := open(t)
	file, err := offsetfile.Read(strings.NewReader("\n" + want + "\n"))
	require.NoError(t, err)
	done, err := offsetfile.Import(t.Context(), other, file, now)
	require.NoError(t, err)
	require.Equal(t, offsetfile.Imported{Offsets: 5, Groups: 3}, done)
	require.Equal(t, want, export(t, other))
}

// An import leaves alone what it does not name, and fills in what is left out.
func TestImportAdds(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for _, text := range []string{
		`{"group":"billing","topic":"orders","partition":0,"offset":1}`,
		`{"group":"billing","topic":"returns","partition":0,"offset":2}`,
		`{"group":"billing","topic":"orders","partition":0,"offset":3}`,
	} {
		file, err := offsetfile.Read(strings.NewReader(text))
		require.NoError(t, err)
		_, err = offsetfile.Import(t.Context(), s, file, now)
		require.NoError(t, err)
	}
	require.Equal(t, `{"group":"billing","topic":"orders","partition":0,"offset":3,"time":"2026-01-02T16:04:05.678Z"}
{"group":"billing","topic":"returns","partition":0,"offset":2,"time":"2026-01-02T16:04:05.678Z"}
`, export(t, s))
}

func TestFaultsOfTheFile(t *testing.T) {
	t.Parallel()
	_, err := offsetfile.Read(strings.NewReader(`{"group":"g","topic":"t","partition":0,"offset":1}
{"group":"g","topic":"t","partition":0,"offset":2}
hello
{"group":"g","topic":"t","partition":0,"offset":1,"offest":2}
{"topic":"t","partition":0,"offset":1}
{"group":"g","group_base64":"Zw==","topic":"t","partition":0,"offset":1}
{"group":"g","partition":0,"offset":1}
{"group":"g","topic":"t","offset":1}
{"group":"g","topic":"t","partition":0}
{"group":"g","topic":"t","partition":0,"offset":-1}
{"group":"g","topic":"t","partition":9,"offset":1} {}
{"group":"g","topic":"t","partition":1.5,"offset":1}
{"group":"g","topic":"t","partition":8,"offset":1,"leader_epoch":-1}
{"group":"g","topic":"t","partition":8,"offset":1,"metadata":"a","metadata_base64":"YQ=="}
` + strings.Repeat("x", 1<<20)))
	require.IsType(t, &offsetfile.Faults{}, err)
	require.Equal(t, `line 2 is for the same group, topic and partition as line 1
line 3 is not a committed offset: invalid character 'h' looking for beginning of value
line 4 is not a committed offset: unknown field "offest"
line 5 needs either group or group_base64
line 6 needs either group or group_base64
line 7 has no topic
line 8 has no partition
line 9 has no offset
line 10 offset -1 is negative
line 11 has more than one JSON object
line 12 is not a committed offset: cannot unmarshal number 1.5 into Go struct field line.partition of type int32
line 13 leader_epoch -1 is negative; leave it out where there is none
line 14 has both metadata and metadata_base64
line 15 is longer than 1048576 bytes`, err.Error())

	_, err = offsetfile.Read(strings.NewReader(strings.Repeat("x\n", 60)))
	require.ErrorContains(t, err, "\nline 50 ")
	require.ErrorContains(t, err, "\nand 10 faults more")

	_, err = offsetfile.Read(iotest.ErrReader(errors.New("disk")))
	require.EqualError(t, err, "disk")
}

// A file that does not fit the topics changes nothing.
func TestFaultsOfTheTopics(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	file, err := offsetfile.Read(strings.NewReader(`{"group":"billing","topic":"orders","partition":1,"offset":1}
{"group":"billing","topic":"orders","partition":2,"offset":1}
{"group":"billing","topic":"order","partition":0,"offset":1}
{"group":"billing","topic":"orders","partition":-1,"offset":1}
`))
	require.NoError(t, err)
	_, err = offsetfile.Import(t.Context(), s, file, now)
	require.IsType(t, &offsetfile.Faults{}, err)
	require.EqualError(t, err, `line 2 names partition 2 of topic "orders", which has 2
line 3 names topic "order", which does not exist
line 4 names partition -1 of topic "orders", which has 2`)
	require.Empty(t, export(t, s))
}
