// Package cli runs Kafka's own command-line tools, of several versions of Kafka. What they print is compared
// with golden files that a real Kafka broker wrote:
//
//	KAFKA_GATEWAY_TEST_ADDR=host:port go test ./clienttest/cli -run Golden -rewrite
package cli

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

// versions of Kafka whose tools are tested; each has a pom and golden files.
func versions() []string { return []string{"4.4", "3.9", "2.8"} }

// TestGolden runs the files testdata/VERSION/*.txt. Their commands:
//
//	records topic=T     writes the lines "partition time-in-ms value" as records
//	run [only=PREFIX]   runs each line as a command; --bootstrap-server is added. Lines of output that do not
//	                    start with the prefix are left out, for lists that show what other tests made
//	input               runs the first line as a command and gives it the rest as standard input
//	consumers group=G topic=T count=N    starts console consumers, which never commit, and waits until they share
//	                    the topic
//	stop                stops them and waits until the group has no members
//
// The output of a command is its standard output, normalised, and its exit code unless that is 0. Above it stands
// the command, as in a terminal.
func TestGolden(t *testing.T) {
	_, isBroker := clienttest.Broker()
	require.True(t, isBroker || !rewriting(), "these golden files are written by a Kafka broker only")
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) { runGolden(t, version, version, addr) })
		})
	}
}

// TestDifferences runs the files testdata/gateway/*.txt in the same way. They show, through the newest tools, what
// the gateway knowingly does otherwise than Kafka.
func TestDifferences(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("Kafka does otherwise: these golden files are written by a gateway only")
	}
	if rewriting() {
		runGolden(t, versions()[0], "gateway", clienttest.Address(t))
		return
	}
	clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) { runGolden(t, versions()[0], "gateway", addr) })
}

// rewriting says whether datadriven writes golden files instead of comparing.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

func runGolden(t *testing.T, version, folder, addr string) {
	g := newGolden(t, version, addr)
	datadriven.Walk(t, filepath.Join("testdata", folder), func(t *testing.T, path string) {
		g.clean(t)
		datadriven.RunTest(t, path, g.do)
	})
}

// golden is the state of the files of one version.
type golden struct {
	addr, classPath string
	tools           *tools
	clienttest.Observer
	running []*process
	group   string
}

func newGolden(t *testing.T, version, addr string) *golden {
	g := &golden{addr: addr, classPath: install(t, version)}
	g.tools = startTools(t, g.classPath)
	g.Observer = clienttest.NewObserver(t, g.addr)
	return g
}

// clean removes what earlier files or runs left: all names in the files start with cli-.
func (g *golden) clean(t *testing.T) {
	topics := func() (names []string) {
		listed, err := g.Admin.ListTopics(t.Context())
		require.NoError(t, err)
		return slices.DeleteFunc(listed.Names(), func(name string) bool { return !strings.HasPrefix(name, "cli-") })
	}
	if names := topics(); len(names) > 0 {
		_, err := g.Admin.DeleteTopics(t.Context(), names...)
		require.NoError(t, err)
	}
	clienttest.Await(t, "all topics to be deleted", func() bool { return len(topics()) == 0 })
	if _, isBroker := clienttest.Broker(); isBroker { // a gateway's groups go with their members
		_, err := g.Admin.DeleteGroups(t.Context(), "cli-group")
		require.NoError(t, err)
	}
}

func (g *golden) do(t *testing.T, d *datadriven.TestData) string {
	g.tools.t = t
	var only, topic string
	d.MaybeScanArgs(t, "only", &only)
	d.MaybeScanArgs(t, "topic", &topic)
	lines := strings.Split(strings.TrimRight(d.Input, "\n"), "\n")
	switch d.Cmd {
	case "records":
		g.records(t, topic, lines)
		return ""
	case "run":
		var out strings.Builder
		for _, line := range lines {
			fmt.Fprintf(&out, "$ %s\n%s", line, g.run(line, "", only))
		}
		return out.String()
	case "input":
		return g.run(lines[0], strings.Join(lines[1:], "\n")+"\n", only)
	case "consumers":
		var count int
		d.ScanArgs(t, "group", &g.group)
		d.ScanArgs(t, "count", &count)
		g.consumers(t, topic, count)
		return ""
	case "stop":
		g.stop(t)
		return ""
	}
	t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	return ""
}

// run runs a command line. Words are separated by spaces; there are no quotes.
func (g *golden) run(line, stdin, only string) string {
	command := strings.Fields(line)
	out := g.tools.run(stdin, slices.Insert(command, 1, "--bootstrap-server", g.addr)...)
	if command[0] == "kafka-topics" && out.code == 0 {
		g.settle(command)
	}
	var text strings.Builder
	for _, printed := range strings.Split(g.normal(out.stdout), "\n") {
		if printed != "" && strings.HasPrefix(printed, only) {
			text.WriteString(printed + "\n")
		}
	}
	if out.code != 0 {
		fmt.Fprintf(&text, "exit code %d\n", out.code)
	}
	return text.String()
}

// settle waits until the broker shows what a kafka-topics command did. Kafka answers before that.
func (g *golden) settle(command []string) {
	value := func(option string) string { return command[slices.Index(command, option)+1] }
	partitions := func() int { return g.Partitions(g.tools.t, value("--topic")) }
	clienttest.Await(g.tools.t, strings.Join(command, " "), func() bool {
		switch {
		case slices.Contains(command, "--create"):
			return partitions() > 0
		case slices.Contains(command, "--alter"):
			return strconv.Itoa(partitions()) == value("--partitions")
		case slices.Contains(command, "--delete"):
			return partitions() == 0
		}
		return true
	})
}

// normal replaces what differs from run to run, and the width of columns. Members of a group come in the
// order of their random ids, configs in any order, so what follows the header of a table is sorted. Kafka 4 shows min.insync.replicas
// on every topic, as it sets that config on the cluster when it enables eligible leader replicas (KIP-966), and
// speaks of cordoned log directories: a single node has no use for either.
func (g *golden) normal(text string) string {
	text = strings.ReplaceAll(text, g.addr, "HOST:PORT")
	text = uuidPattern.ReplaceAllString(text, "UUID")
	text = topicIDPattern.ReplaceAllString(text, "TopicId: ID")
	text = kafkaOnlyPattern.ReplaceAllString(text, "$1")
	lines := strings.Split(spacePattern.ReplaceAllString(text, " "), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if header := slices.IndexFunc(lines, headerPattern.MatchString); header >= 0 {
		slices.Sort(lines[header+1:])
	}
	return strings.Join(lines, "\n")
}

var (
	uuidPattern    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	topicIDPattern = regexp.MustCompile(`TopicId: \S{22}`)
	// Of min.insync.replicas: in a list of changed configs, and where a list of all configs says why it has its value.
	kafkaOnlyPattern = regexp.MustCompile(`(Configs: )min\.insync\.replicas=1,?` +
		`|DYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1, ` +
		`| or some brokers have all their log directories cordoned`)
	headerPattern = regexp.MustCompile(`^(GROUP|(Dynamic|All) configs for) `)
	spacePattern  = regexp.MustCompile(`[ \t]+`)
)

func (g *golden) records(t *testing.T, topic string, lines []string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer client.Close()
	for _, line := range lines {
		r := &kgo.Record{}
		var millis int64
		var value string
		_, err := fmt.Sscan(line, &r.Partition, &millis, &value)
		require.NoError(t, err, line)
		r.Timestamp, r.Value = time.UnixMilli(millis), []byte(value)
		require.NoError(t, client.ProduceSync(t.Context(), r).FirstErr())
	}
}

func (g *golden) consumers(t *testing.T, topic string, count int) {
	for range count {
		g.running = append(g.running, startProcess(t, g.classPath, "kafka-console-consumer", "--bootstrap-server", g.addr,
			"--topic", topic, "--group", g.group, "--from-beginning", "--consumer-property", "enable.auto.commit=false"))
	}
	clienttest.Await(t, "the group to settle", func() bool {
		group := g.Describe(t, g.group, topic)
		owners := slices.DeleteFunc(group.Members, func(partitions []int32) bool { return len(partitions) == 0 })
		return group.State == "Stable" && len(owners) == count
	})
}

func (g *golden) stop(t *testing.T) {
	for _, p := range g.running {
		p.stop()
	}
	g.running = nil
	clienttest.Await(t, "the group to be left", func() bool { return len(g.Describe(t, g.group, "").Members) == 0 })
}
