// Package kcat tests with kcat, as it comes from Debian. kcat makes no topics, describes no groups, gives all
// records of a process the same headers, and takes no timestamps, so it has scenarios of its own.
package kcat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

// envelope is a record as kcat -J writes it.
type envelope struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Time      int64    `json:"ts"`
	Headers   []string `json:"headers"` // name, value, name, value, …
	Key       *string  `json:"key"`
	Value     *string  `json:"payload"`
}

const recordCount = 1000

// broker is what all tests here start with: an address, an observer, and a new topic of three partitions.
type broker struct {
	addr, topic string
	login       []string // options
	storage     clienttest.Storage
	clienttest.Observer
}

// each runs a test with each storage.
func each(t *testing.T, test func(t *testing.T, b broker)) {
	t.Parallel()
	needKcat(t)
	clienttest.Each(t, func(t *testing.T, s clienttest.Storage, addr string) {
		b := broker{addr: addr, topic: clienttest.Unique(t, "topic"), storage: s, Observer: clienttest.NewObserver(t, addr)}
		b.create(t, b.topic)
		test(t, b)
	})
}

func (b broker) create(t *testing.T, topic string) {
	_, err := b.Admin.CreateTopic(t.Context(), 3, 1, nil, topic)
	require.NoError(t, err)
	b.AwaitPartitions(t, topic, 3)
}

// options are those of kcat that say where to connect, and others.
func (b broker) options(more ...string) []string {
	return slices.Concat([]string{"-b", b.addr}, b.login, more)
}

// kcat runs it to its end, which must be a success, and returns its standard output.
func (b broker) kcat(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kcat", b.options(args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	require.NoError(t, cmd.Run(), "kcat %v\n%s", args, &stderr)
	return stdout.String()
}

// decode reads what kcat -J wrote.
func decode(t *testing.T, out string) []envelope {
	var records []envelope
	for line := range strings.Lines(out) {
		var e envelope
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		records = append(records, e)
	}
	return records
}

// lines returns the input of 1,000 records, the first of them with a null value under -Z.
func lines() string {
	var in strings.Builder
	in.WriteString("key-0:\n")
	for i := 1; i < recordCount; i++ {
		fmt.Fprintf(&in, "key-%d:value-%d\n", i%50, i)
	}
	return in.String()
}

func TestRecords(t *testing.T) { each(t, records) }

func records(t *testing.T, b broker) {
	large := strings.Repeat("0123456789", 90_000)
	file := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(file, []byte(large), 0o600))
	for _, codec := range clienttest.Codecs() {
		t.Run(codec, func(t *testing.T) {
			topic := clienttest.Unique(t, "topic")
			b.create(t, topic)
			produce := []string{"-P", "-t", topic, "-z", codec, "-X", "enable.idempotence=true", "-H", "again=a", "-H", "again=b"}
			b.kcat(t, lines(), append(produce, "-K", ":", "-Z")...)
			b.kcat(t, "", append(produce, file)...) // no key: null

			got := decode(t, b.kcat(t, "", "-C", "-t", topic, "-o", "beginning", "-e", "-J"))
			require.Len(t, got, recordCount+1)
			values := map[string]int{}
			for _, e := range got {
				require.Equal(t, []string{"again", "a", "again", "b"}, e.Headers)
				switch {
				case e.Value == nil:
					require.Equal(t, "key-0", *e.Key)
					values["null"]++
				case e.Key == nil:
					require.Equal(t, large, *e.Value)
					values["large"]++
				default:
					values[*e.Key+"="+*e.Value]++
				}
			}
			require.Len(t, values, recordCount+1, "each record once")

			_, facts := b.Read(t, topic, recordCount+1)
			if b.storage.KeepsBatches() {
				require.Equal(t, []string{codec}, facts.Codecs)
				require.True(t, facts.Idempotent, "all stored batches carry a producer id")
			}
		})
	}
}

func TestMetadata(t *testing.T) { each(t, metadata) }

func metadata(t *testing.T, b broker) {
	var listed struct {
		Brokers []struct {
			ID   int    `json:"id"`
			Name string `json:"name"`
		} `json:"brokers"`
		Topics []struct {
			Topic      string            `json:"topic"`
			Partitions []json.RawMessage `json:"partitions"`
		} `json:"topics"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.kcat(t, "", "-L", "-J", "-t", b.topic)), &listed))
	require.Len(t, listed.Brokers, 1)
	require.Equal(t, b.addr, listed.Brokers[0].Name)
	require.Len(t, listed.Topics, 1)
	require.Equal(t, b.topic, listed.Topics[0].Topic)
	require.Len(t, listed.Topics[0].Partitions, 3)
}

func TestSeek(t *testing.T) { each(t, seek) }

func seek(t *testing.T, b broker) {
	b.kcat(t, "old\n", "-P", "-t", b.topic, "-p", "0")
	old := decode(t, b.kcat(t, "", "-C", "-t", b.topic, "-p", "0", "-o", "beginning", "-e", "-J"))
	require.Len(t, old, 1)
	middle := old[0].Time + 1
	clienttest.Await(t, "the clock to move on", func() bool { return time.Now().UnixMilli() > middle })
	b.kcat(t, "new\nnewer\n", "-P", "-t", b.topic, "-p", "0")

	got := decode(t, b.kcat(t, "", "-C", "-t", b.topic, "-p", "0", "-o", fmt.Sprintf("s@%d", middle), "-e", "-J"))
	require.Len(t, got, 2)
	require.Equal(t, "new", *got[0].Value)
	require.Equal(t, int64(1), got[0].Offset)

	out := b.kcat(t, "", "-Q", "-t", fmt.Sprintf("%s:0:%d", b.topic, middle), "-t", fmt.Sprintf("%s:1:%d", b.topic, middle))
	require.ElementsMatch(t, []string{b.topic + " [0] offset 1", b.topic + " [1] offset -1"}, strings.Split(strings.TrimSpace(out), "\n"))
}

// TestGroup has two members share the topic, and the one that stays take over the partitions of the other. It
// commits when it stops; a third continues there.
//
// Records are told apart by partition and offset, as a member may see some of them again: librdkafka 2.0 now and
// then asks for a partition that it gets back at the position that it had there before, and not at the committed
// offset that it has just been told.
func TestGroup(t *testing.T) { each(t, group) }

func group(t *testing.T, b broker) {
	name := clienttest.Unique(t, "group")
	first, second := b.join(t, name), b.join(t, name)
	b.settle(t, name, 2)
	b.kcat(t, lines(), "-P", "-t", b.topic, "-K", ":")
	clienttest.Await(t, "all records", func() bool { return len(positions(first, second)) == recordCount })
	require.NotEmpty(t, positions(first))
	require.NotEmpty(t, positions(second))

	second.stop()
	b.settle(t, name, 1)
	b.kcat(t, lines(), "-P", "-t", b.topic, "-K", ":")
	clienttest.Await(t, "all records to reach the member that stayed", func() bool { return len(positions(first, second)) == 2*recordCount })
	first.stop()

	third := b.join(t, name)
	b.settle(t, name, 1)
	b.kcat(t, "end\n", "-P", "-t", b.topic)
	clienttest.Await(t, "the last record", func() bool { return third.count() > 0 })
	third.stop()
	require.Equal(t, 1, third.count(), "what was committed does not come again")
}

// position is where a record lies.
type position struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

// positions returns where the records lie that members have written out whole.
func positions(members ...*member) map[position]bool {
	seen := map[position]bool{}
	for _, m := range members {
		for line := range strings.Lines(m.text()) {
			var p position
			if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &p) == nil {
				seen[p] = true
			}
		}
	}
	return seen
}

// settle waits until so many members share the three partitions.
func (b broker) settle(t *testing.T, group string, members int) {
	clienttest.Await(t, "the group to settle", func() bool {
		described := b.Describe(t, group, b.topic)
		assigned := slices.Sorted(slices.Values(slices.Concat(described.Members...)))
		return described.State == "Stable" && len(described.Members) == members && slices.Equal(assigned, []int32{0, 1, 2})
	})
}

// member is a kcat that consumes in a group.
type member struct {
	stop func()

	mu  sync.Mutex
	out bytes.Buffer
}

func (b broker) join(t *testing.T, group string) *member {
	m := &member{}
	cmd := exec.Command("kcat", b.options("-J", "-u", "-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=500", "-G", group, b.topic)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = m, &stderr
	require.NoError(t, cmd.Start())
	m.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // upon which it commits and leaves the group
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("kcat wrote:\n%s", &stderr)
		}
	})
	t.Cleanup(m.stop)
	return m
}

// Write takes kcat's standard output.
func (m *member) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Write(b)
}

func (m *member) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.String()
}

// count returns how many records came.
func (m *member) count() int { return strings.Count(m.text(), "\n") }
