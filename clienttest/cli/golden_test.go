// Package cli runs Kafka's own command-line tools, of several versions of Kafka. What they print is compared
// with golden files that a real Kafka broker wrote:
//
//	KAFKA_GATEWAY_TEST_ADDR=host:port go test ./clienttest/cli -run Tools/Golden -rewrite
//	go test ./clienttest/cli -run Tools/Differences -rewrite
//	go test ./clienttest/cli -run Tools -update
//
// The second line writes the files that show what a gateway knowingly does otherwise. The third writes docs/tools.md.
package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

// versions of Kafka whose tools are tested; each has a pom and golden files.
func versions() []string { return []string{"4.4", "3.9", "2.8"} }

// differs is the file of what Kafka answers otherwise than a gateway.
const differs = "differs.txt"

// TestTools runs golden files, and at last compares what it saw with the table in docs/tools.md. Their commands:
//
//	records topic=T     writes the lines "partition time-in-ms value" as records
//	run [only=PREFIX]   runs each line as a command; --bootstrap-server is added. Lines of output that do not
//	                    start with the prefix are left out, for lists that show what other tests made
//	input               runs the first line as a command and gives it the rest as standard input
//	file name=N         writes a file, which commands then name as @N
//	consumers group=G topic=T count=N    starts console consumers, which never commit, and waits until they share
//	                    the topic
//	stop                stops them and waits until the group has no members
//
// With storage=NAME a command is for gateways with that storage alone, and for Kafka; reason=(TEXT) says, for the table,
// why a gateway does otherwise. The output of a command is its standard output, normalised, what it complains of on
// standard error, each line after "! ", and its exit code unless that is 0. Above it stands the command, as in a terminal.
//
// Groups are kept by the durable coordinator, which does as Kafka does.
func TestTools(t *testing.T) {
	seen := &table{}
	t.Run("Golden", func(t *testing.T) { goldenFiles(t, seen) })
	t.Run("Differences", func(t *testing.T) { differences(t, seen) })
	t.Run("Memory", memoryDifferences)
	seen.check(t)
}

// goldenFiles runs testdata/VERSION/*.txt, which Kafka wrote.
func goldenFiles(t *testing.T, seen *table) {
	_, isBroker := clienttest.Broker()
	require.True(t, isBroker || !rewriting(), "these golden files are written by a Kafka broker only")
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			if addr, isBroker := clienttest.Broker(); isBroker {
				newGolden(t, version, addr).run(t, version, func(string) bool { return true })
				return
			}
			clienttest.EachStorage(t, func(t *testing.T, s clienttest.Storage) {
				g := newGolden(t, version, s.Start(t, durable))
				g.storage, g.seen = s, seen
				g.run(t, version, func(file string) bool {
					return file != differs && (s.KeepsBatches() || version == versions()[0] || narrow(file))
				})
				seen.done(version, s)
			})
		})
	}
}

// narrow are the files that older tools run on Iggy too: they make the requests in which versions and storages differ.
func narrow(file string) bool {
	return slices.Contains([]string{"console.txt", "groups.txt", "offsets.txt"}, file)
}

// differences runs testdata/gateway/VERSION/*.txt, and with the newest tools testdata/iggy/*.txt on Iggy.
func differences(t *testing.T, seen *table) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("Kafka does otherwise: these golden files are written by a gateway only")
	}
	for i, version := range versions() {
		t.Run(version, func(t *testing.T) {
			clienttest.EachStorage(t, func(t *testing.T, s clienttest.Storage) {
				folder := filepath.Join("gateway", version)
				if !s.KeepsBatches() {
					folder = "iggy"
					if i > 0 {
						return // a minute less
					}
				}
				g := newGolden(t, version, s.Start(t, durable))
				g.storage, g.seen = s, seen
				g.run(t, folder, func(string) bool { return true })
			})
		})
	}
}

// memoryDifferences runs testdata/memory/*.txt with the newest tools: what is otherwise with groups.coordinator: memory.
func memoryDifferences(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("Kafka does otherwise: these golden files are written by a gateway only")
	}
	clienttest.EachStorage(t, func(t *testing.T, s clienttest.Storage) {
		newGolden(t, versions()[0], s.Start(t)).run(t, "memory", func(string) bool { return true })
	})
}

// durable has groups outlive their members, and ACLs for kafka-acls to manage.
func durable(c *app.Config) {
	c.Groups.Coordinator = "durable"
	c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", []string{"User:ANONYMOUS"}
}

// rewriting says whether datadriven writes golden files instead of comparing.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// golden is the state of the files of one version, and of one gateway or broker.
type golden struct {
	version, addr, classPath string
	storage                  clienttest.Storage
	seen                     *table // nil where nothing is noted
	files                    string // the folder of the files that file commands write
	tools                    *tools
	clienttest.Observer
	running []*process
	group   string
}

func newGolden(t *testing.T, version, addr string) *golden {
	g := &golden{version: version, addr: addr, classPath: install(t, version), files: t.TempDir()}
	g.tools = startTools(t, g.classPath)
	g.Observer = clienttest.NewObserver(t, g.addr)
	return g
}

// run runs the files of a folder that are wanted.
func (g *golden) run(t *testing.T, folder string, wanted func(file string) bool) {
	datadriven.Walk(t, filepath.Join("testdata", folder), func(t *testing.T, path string) {
		if !wanted(filepath.Base(path)) {
			t.Skip("not with this storage")
		}
		g.clean(t)
		datadriven.RunTest(t, path, g.do)
	})
}

// clean removes what earlier files or runs left: all names in the files start with cli-, and console consumers that
// are given no group make one up.
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
	groups, err := g.Admin.ListGroups(t.Context())
	require.NoError(t, err)
	for _, group := range groups.Groups() {
		if strings.HasPrefix(group, "cli-") || strings.HasPrefix(group, "console-consumer-") {
			_, err := g.Admin.DeleteGroup(t.Context(), group)
			require.NoError(t, err)
		}
	}
}

func (g *golden) do(t *testing.T, d *datadriven.TestData) string {
	g.tools.t = t
	var only, topic, storage string
	d.MaybeScanArgs(t, "storage", &storage)
	if storage != "" && g.storage.Name != "" && g.storage.Name != storage {
		return d.Expected
	}
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
			text := g.command(line, "", only)
			fmt.Fprintf(&out, "$ %s\n%s", line, text)
			g.seen.note(t, g, line, text, d)
		}
		return out.String()
	case "input":
		return g.command(lines[0], strings.Join(lines[1:], "\n")+"\n", only)
	case "file":
		var name string
		d.ScanArgs(t, "name", &name)
		require.NoError(t, os.WriteFile(filepath.Join(g.files, name), []byte(d.Input+"\n"), 0o600))
		return ""
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

// command runs a command line. Words are separated by spaces; there are no quotes. A word @NAME is the path of a file
// that a file command wrote.
func (g *golden) command(line, stdin, only string) string {
	command := strings.Fields(line)
	for i, word := range command {
		if name, isFile := strings.CutPrefix(word, "@"); isFile {
			command[i] = filepath.Join(g.files, name)
		}
	}
	out := g.tools.run(stdin, g.bootstrap(command)...)
	if command[0] == "kafka-topics" && out.code == 0 && !slices.Contains(command, "--if-exists") {
		g.settle(command)
	}
	var text strings.Builder
	lines := strings.Split(g.normal(out.stdout), "\n")
	if slices.Contains(command, "--list") || slices.Contains(command, "--export") || command[0] == "kafka-acls" {
		slices.Sort(lines) // they come in any order
	}
	for _, printed := range lines {
		if printed != "" && strings.HasPrefix(printed, only) {
			text.WriteString(printed + "\n")
		}
	}
	for _, printed := range complaints(g.normal(out.stderr)) {
		text.WriteString("! " + printed + "\n")
	}
	if out.code != 0 {
		fmt.Fprintf(&text, "exit code %d\n", out.code)
	}
	return text.String()
}

// bootstrap adds the address to a command, under the option's name and at the place that the tool wants.
func (g *golden) bootstrap(command []string) []string {
	option, at := "--bootstrap-server", 1
	switch command[0] {
	case "kafka-get-offsets":
		if g.version == "2.8" {
			option = "--broker-list"
		}
	case "kafka-cluster":
		at = 2 // after its subcommand
	}
	return slices.Insert(slices.Clone(command), at, option, g.addr)
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
