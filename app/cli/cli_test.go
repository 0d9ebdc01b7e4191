package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time of the first record of a scenario.
var start = time.UnixMilli(1_700_000_000_000)

// TestScenarios runs the files of testdata, each against a gateway of its own:
//
//	run                      runs each line as a command line
//	records topic=T partition=P count=N   writes N records, a second apart
//	consume group=G topic=T count=N       reads N records as a member, commits and leaves
//	member group=G topic=T   joins and stays
//	leave                    has it leave
func TestScenarios(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &scenario{addr: gatewaytest.Start(t)}
		t.Cleanup(s.leave)
		datadriven.RunTest(t, path, s.do)
	})
}

type scenario struct {
	addr   string
	member *kgo.Client
}

func (s *scenario) do(t *testing.T, d *datadriven.TestData) string {
	var topic, group string
	var partition, count int
	d.MaybeScanArgs(t, "topic", &topic)
	d.MaybeScanArgs(t, "group", &group)
	d.MaybeScanArgs(t, "partition", &partition)
	d.MaybeScanArgs(t, "count", &count)
	switch d.Cmd {
	case "run":
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			out.WriteString(s.run(t, strings.Fields(line)))
		}
		return out.String()
	case "records":
		s.produce(t, topic, int32(partition), count)
	case "consume":
		s.join(t, group, topic)
		for count > 0 {
			fetches := s.member.PollFetches(t.Context())
			require.NoError(t, fetches.Err())
			count -= fetches.NumRecords()
		}
		require.NoError(t, s.member.CommitUncommittedOffsets(t.Context()))
		s.leave()
	case "member":
		s.join(t, group, topic)
		s.member.PollRecords(t.Context(), 1)
	case "leave":
		s.leave()
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return ""
}

// volatile are what differs from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`(\bid +|"id": ")[0-9A-Za-z_-]{22}`), "$1<id>"},
	{regexp.MustCompile(` +\n`), "\n"},
}

func (s *scenario) run(t *testing.T, args []string) string {
	t.Helper()
	out, err := execute(t, append(args, "--bootstrap", s.addr)...)
	if err != nil {
		kind := "error"
		if errors.As(err, new(cli.UsageError)) {
			kind = "usage"
		}
		out += fmt.Sprintf("%s: %v\n", kind, err)
	}
	for _, v := range volatile {
		out = v.pattern.ReplaceAllString(out, v.with)
	}
	return out
}

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := cli.Run(t.Context(), args, nil, &out, &errs)
	require.Empty(t, errs.String())
	return out.String(), err
}

func (s *scenario) produce(t *testing.T, topic string, partition int32, count int) {
	t.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer producer.Close()
	for i := range count {
		record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(strconv.Itoa(i)), Timestamp: start.Add(time.Duration(i) * time.Second)}
		require.NoError(t, producer.ProduceSync(t.Context(), record).FirstErr())
	}
}

func (s *scenario) join(t *testing.T, group, topic string) {
	t.Helper()
	var err error
	s.member, err = kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("c1"),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
}

func (s *scenario) leave() {
	if s.member != nil {
		s.member.Close()
		s.member = nil
	}
}

// Whatever a command prints with --json is one document.
func TestJSON(t *testing.T) {
	t.Parallel()
	s := &scenario{addr: gatewaytest.Start(t)}
	for _, args := range []string{
		"topics create orders -p 2", "topics list", "topics describe orders", "topics alter orders --set retention.ms=1000",
		"offsets list orders", "groups list", "groups describe --all", "topics trim orders --before 0", "topics delete orders", "topics list",
	} {
		out, err := execute(t, append(strings.Fields(args), "--json", "--bootstrap", s.addr)...)
		require.NoError(t, err, args)
		require.True(t, json.Valid([]byte(out)), "%s: %s", args, out)
		require.NotEqual(t, "null\n", out, args)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := taken.Addr().String()
	require.NoError(t, taken.Close())
	_, err = execute(t, "topics", "list", "--bootstrap", address, "--timeout", "20s")
	require.ErrorContains(t, err, "nobody answers as a Kafka broker at "+address+": connect: connection refused")
}

// A server that takes connections and says nothing costs the time that was
// allowed, and no more.
func TestSilence(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	began := time.Now()
	_, err = execute(t, "groups", "list", "--bootstrap", silent.Addr().String(), "--timeout", "300ms")
	require.ErrorContains(t, err, "nobody answers as a Kafka broker")
	require.Less(t, time.Since(began), 10*time.Second)
}

// A signal ends the command, which says so.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = cli.Run(ctx, []string{"topics", "list", "--bootstrap", silent.Addr().String()}, nil, &bytes.Buffer{}, &bytes.Buffer{})
	require.EqualError(t, err, "interrupted")
}

func TestBootstrapFromTheEnvironment(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t)
	var out, errs bytes.Buffer
	require.NoError(t, cli.Run(context.Background(), []string{"topics", "list"}, []string{cli.BootstrapVar + "=127.0.0.1:1," + addr}, &out, &errs))
	require.Equal(t, "TOPIC  PARTITIONS  REPLICAS  RECORDS  SIZE\n", out.String())
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"topics --help", "topics create -h", "groups reset --help", "offsets --help"} {
		var out, errs bytes.Buffer
		require.NoError(t, cli.Run(context.Background(), strings.Fields(args), nil, &out, &errs), args)
		require.Contains(t, out.String(), "Usage:", args)
		require.Contains(t, out.String(), "--bootstrap", args)
		require.NotContains(t, out.String(), "[=", args)
	}
	require.Equal(t, []string{"groups", "offsets", "topics"}, cli.Commands())
}
