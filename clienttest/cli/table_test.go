package cli

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

var update = flag.Bool("update", false, "write the table in docs/tools.md anew")

// What stands before and after the table in its page.
const (
	page  = "../../docs/tools.md"
	begin = "<!-- The table is written by `go test ./clienttest/cli -run Tools -update`. -->\n"
	end   = "<!-- end of the table -->\n"
)

// withIggy stands before reasons that hold with Iggy alone.
const withIggy = "with Iggy: "

// table is what the tools of each version did against gateways.
type table struct {
	mu   sync.Mutex
	ran  map[string]bool             // "VERSION STORAGE"
	rows map[string]map[string]*cell // by command and version
}

// cell is what the runs of one command have in common.
type cell struct {
	ran     bool            // the version has it, and did the same as with Kafka at least once
	reasons map[string]bool // why it did otherwise
}

// note keeps what a command of a run did. A table that is nil keeps nothing.
func (tb *table) note(t *testing.T, g *golden, line, out string, d *datadriven.TestData) {
	if tb == nil || strings.HasPrefix(line, "kafka-console-") {
		return
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.rows == nil {
		tb.rows = map[string]map[string]*cell{}
	}
	row := rowOf(line)
	if tb.rows[row] == nil {
		tb.rows[row] = map[string]*cell{}
	}
	c := tb.rows[row][g.version]
	if c == nil {
		c = &cell{reasons: map[string]bool{}}
		tb.rows[row][g.version] = c
	}
	switch {
	case absentPattern.MatchString(out):
	case !d.HasArg("reason") || g.storage.KeepsBatches() && out == kafkaSaid(t, g.version, line):
		c.ran = true
	default:
		reason := ""
		for _, arg := range d.CmdArgs {
			if arg.Key == "reason" {
				reason = strings.Join(arg.Vals, ", ")
			}
		}
		if !g.storage.KeepsBatches() {
			reason = withIggy + reason
		}
		c.reasons[reason] = true
	}
}

// done notes that all files of a version ran on a storage.
func (tb *table) done(version string, s clienttest.Storage) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.ran == nil {
		tb.ran = map[string]bool{}
	}
	tb.ran[version+" "+s.Name] = true
}

// absentPattern matches what a tool prints that does not know a command or an option, or is not there itself.
var absentPattern = regexp.MustCompile(`(?m)^! .*(ClassNotFoundException|is not a recognized option|unrecognized arguments|` +
	`Invalid entity type|Command must include exactly one action|invalid choice|Cannot parse argument|Invalid state list 'empty,stable')`)

// kept are the options whose values make another command of them.
var kept = []string{"--entity-type", "--election-type", "--time", "--state", "--type", "--group-type", "--protocol"}

// rowOf is a command without the values that make no difference.
func rowOf(line string) string {
	words := strings.Fields(line)
	row := words[:1:1]
	for i, word := range words[1:] {
		before := words[i]
		isValue := strings.HasPrefix(before, "--") && !strings.HasPrefix(word, "--")
		if !isValue || slices.Contains(kept, before) && !strings.ContainsAny(word, "0123456789,") {
			row = append(row, word)
		}
	}
	return strings.Join(row, " ")
}

// kafkaSaid is Kafka's output of a command of testdata/VERSION/differs.txt.
func kafkaSaid(t *testing.T, version, line string) string {
	file, err := os.ReadFile(filepath.Join("testdata", version, differs))
	require.NoError(t, err)
	_, out, found := strings.Cut(string(file), "\n$ "+line+"\n")
	require.True(t, found, "Kafka %s was not asked: %s", version, line)
	var said strings.Builder
	for text := range strings.Lines(out) {
		if text == "\n" || strings.HasPrefix(text, "$ ") {
			break
		}
		said.WriteString(text)
	}
	return said.String()
}

// check compares the table with the page, if everything ran, or writes it.
func (tb *table) check(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker || t.Failed() || len(tb.ran) < 2*len(versions()) {
		if *update {
			t.Fatal("docs/tools.md is written when the tools of all versions have run without a fault, on both storages")
		}
		return // part of the tests was left out
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s lacks %s", page, begin)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s lacks %s", page, end)
	is := tb.render(t)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+is+end+after), 0o600))
		return
	}
	require.Equal(t, is, was, "%s is stale: go test ./clienttest/cli -run Tools -update", page)
}

// render writes a row for each command, and below the reasons that they name by number.
func (tb *table) render(t *testing.T) string {
	var out strings.Builder
	var reasons []string
	fmt.Fprintf(&out, "| command | %s |\n| --- |%s\n", strings.Join(versions(), " | "), strings.Repeat(" --- |", len(versions())))
	for _, row := range slices.Sorted(maps.Keys(tb.rows)) {
		fmt.Fprintf(&out, "| `%s` |", row)
		for _, version := range versions() {
			c := tb.rows[row][version]
			require.NotNil(t, c, "the tools of %s did not run: %s", version, row)
			fmt.Fprintf(&out, " %s |", c.text(version, &reasons))
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	for i, reason := range reasons {
		fmt.Fprintf(&out, "%d. %s\n", i+1, reason)
	}
	return out.String()
}

// text is what a cell shows. It adds new reasons to the list.
func (c *cell) text(version string, reasons *[]string) string {
	if !c.ran && len(c.reasons) == 0 {
		return "not in " + version
	}
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(c.reasons)) {
		if plain, isIggy := strings.CutPrefix(reason, withIggy); isIggy && c.reasons[plain] {
			continue // it holds for both
		}
		i := slices.Index(*reasons, reason)
		if i < 0 {
			i = len(*reasons)
			*reasons = append(*reasons, reason)
		}
		why = append(why, fmt.Sprint(i+1))
	}
	switch {
	case len(why) == 0:
		return "same as Kafka"
	case c.ran:
		return "same as Kafka, or differs: " + strings.Join(why, ", ")
	}
	return "differs: " + strings.Join(why, ", ")
}
