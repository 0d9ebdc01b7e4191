package cli

import (
	"regexp"
	"slices"
	"strings"
)

// normal replaces what differs from run to run, and the width of columns. Members of a group come in the
// order of their random ids, configs in any order, so what follows the header of a table is sorted, as are lists.
// Kafka 4 shows min.insync.replicas on every topic, as it sets that config on the cluster when it enables eligible
// leader replicas (KIP-966), and speaks of cordoned log directories: a single node has no use for either.
func (g *golden) normal(text string) string {
	text = strings.ReplaceAll(text, g.addr, "HOST:PORT")
	text = strings.ReplaceAll(text, g.files+"/", "@")
	for _, r := range replacements {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), isTrace)
	if header := slices.IndexFunc(lines, headerPattern.MatchString); header >= 0 {
		slices.Sort(lines[header+1:])
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	warned := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "Warn: ") })
	slices.Sort(lines[:max(warned, 0)]) // one for each partition
	return strings.Join(lines, "\n")
}

// replacements are made one after the other.
var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`127\.0\.0\.1(:| )\d+`), "HOST${1}PORT"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`(TopicId|Cluster ID|ClusterId): \S{22}`), "$1: ID"},
	{regexp.MustCompile(`(Epoch|HighWatermark): \d+`), "$1: N"},
	{regexp.MustCompile(`"size":\d+`), `"size":N`},
	{regexp.MustCompile(`"logDir":"[^"]*"`), `"logDir":"DIR"`},
	{regexp.MustCompile(`"log_dirs":\["(/[^"]*|memory|iggy[^"]*)"`), `"log_dirs":["DIR"`},
	{regexp.MustCompile(`(Valid states are: ).*`), "${1}LIST"},
	{regexp.MustCompile(`(only supports operations ).*`), "${1}LIST"},
	{regexp.MustCompile(`(CurrentTransactionStartOffset\s*\n)\d+`), "${1}ID"}, // of a producer
	{regexp.MustCompile(`\b1(7[1-9]|[89]\d)\d{10}\b`), "NOW"},
	// Of min.insync.replicas: in a list of changed configs, where a list of all configs says why it has its value, and
	// alone.
	{regexp.MustCompile(`(Configs: )min\.insync\.replicas=1,?`), "$1"},
	{regexp.MustCompile(`DYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1, `), ""},
	{regexp.MustCompile(` min\.insync\.replicas=1 sensitive=false synonyms=\{DYNAMIC_DEFAULT_BROKER_CONFIG:\S+\}\n`), ""},
	{regexp.MustCompile(` or some brokers have all their log directories cordoned`), ""},
}

var (
	headerPattern = regexp.MustCompile(`^(GROUP|(Dynamic|All) configs for) `)
	usagePattern  = regexp.MustCompile(`^(Option |usage:|Usage:)`)
	// A stack trace, a line of a library's log, and what is left of an exit that Tools.java caught.
	tracePattern = regexp.MustCompile(`^\s*at \S+\(.*\)$|^\s*\.\.\. \d+ more$|^\[[^]]+\] (WARN|ERROR|INFO) |^null$|Tools\$Exited$|^javax\.management\.InstanceAlreadyExists| due to null$`)
)

func isTrace(line string) bool { return tracePattern.MatchString(line) }

// complaints are the lines of a tool's standard error that say what is wrong: not how it is to be used.
func complaints(stderr string) (lines []string) {
	usage := false
	for _, line := range strings.Split(stderr, "\n") {
		usage = usage || usagePattern.MatchString(line)
		if line != "" && (!usage || strings.Contains(line, ": error: ")) {
			lines = append(lines, line)
		}
	}
	return lines
}
