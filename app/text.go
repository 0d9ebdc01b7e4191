package app

import (
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

const helpText = `kafka-gateway lets Kafka clients work against a log store of its own, or against an Apache
Iggy server: producers, consumer groups, admin tools. No Kafka, no ZooKeeper, one process.

Usage:
  kafka-gateway [serve]           serve until SIGTERM or SIGINT; a second one ends it
                                  at once
  kafka-gateway topics            list, describe, create, alter, delete and trim topics
  kafka-gateway groups            list, describe, reset, delete and forget groups
  kafka-gateway offsets list      list the ends of partitions, or the offsets of a time.
                                  These three ask a running cluster, this gateway or any
                                  Kafka broker: --bootstrap or KAFKA_GATEWAY_BOOTSTRAP
                                  names it. Each says more with --help
  kafka-gateway doctor            look at the setup that the configuration describes, or,
                                  from outside, at the one that --bootstrap names; say
                                  what is wrong and what to do. --json for programs. It
                                  logs in by the same flags as topics: --user, --ca, …
  kafka-gateway apis              print the API keys that are served, their versions and
                                  what a request gets that cannot be read; with --acl,
                                  what each key asks the authorizer
  kafka-gateway config            print every key, its value and where that came from
  kafka-gateway config --example  print a configuration file with all keys and defaults
  kafka-gateway offsets export [FILE]
                                  write all committed offsets as JSON lines; to standard
                                  output without a file
  kafka-gateway offsets import [FILE]
                                  commit what a file of such lines, or standard input,
                                  says. Both want the gateway stopped
  kafka-gateway scram NAME        make the lines of sasl.users_file that let NAME log in;
                                  says more with --help
  kafka-gateway version           print how this program was built
  kafka-gateway help [COMMAND]    print this, or what the command's --help does

Configuration:
  --config FILE reads a YAML file. The environment overrides the file, flags override
  both. A key has one name everywhere: storage.dir is nested in YAML, is --storage.dir as
  a flag, and KAFKA_GATEWAY_STORAGE__DIR in the environment, where two underscores nest.
  KAFKA_GATEWAY_CONFIG names the file where no flag can. NAME stands for a name of your
  choice: --listeners.external.listen adds a listener named external.
  Durations are written 500ms, 30s, 5m, 24h; sizes in bytes, or 64KiB, 512MiB, 1GiB.
  Zero is refused, except where a key says what it means. Unknown keys stop the start.

Keys:
`

// help writes the text of --help.
func help(w io.Writer) {
	fmt.Fprint(w, helpText)
	for _, f := range documented() {
		fmt.Fprintf(w, "  --%s%s\n", f.key, flagForm(f))
		for _, line := range wrap(f.doc, 80) {
			fmt.Fprintf(w, "        %s\n", line)
		}
	}
}

// flagForm shows how the value follows a flag.
func flagForm(f field) string {
	if kindOf(f) == "bool" {
		return "[=BOOL]"
	}
	return " " + strings.ToUpper(kindOf(f))
}

// example writes a configuration file that says what is true anyway.
func example(w io.Writer) {
	fmt.Fprint(w, `# The configuration of kafka-gateway: every key, and its default.
# Written by "kafka-gateway config --example". Durations are written 500ms, 30s,
# 5m, 24h; sizes in bytes, or 64KiB, 512MiB, 1GiB. Zero is refused, except where
# a key says what it means. Unknown keys stop the start.
`)
	section := ""
	for _, f := range documented() {
		path := strings.Split(f.key, ".")
		depth := len(path) - 1
		indent, name := strings.Repeat("  ", depth), path[depth]
		fmt.Fprintln(w)
		for level := range path[:depth] {
			if in := strings.Join(path[:level+1], ".") + "."; !strings.HasPrefix(section, in) {
				fmt.Fprintf(w, "%s%s%s:\n", strings.Repeat("  ", level), onlyExample(path[level] == anyName), path[level])
			}
		}
		section = strings.TrimSuffix(f.key, name)
		indent += onlyExample(isExample(f.key))
		for _, line := range wrap(f.doc, 80-len(indent)-2) {
			fmt.Fprintf(w, "%s# %s\n", indent, line)
		}
		fmt.Fprintf(w, "%s%s: %s\n", indent, name, yamlValue(f))
	}
}

// onlyExample returns what comments a line out.
func onlyExample(yes bool) string {
	if yes {
		return "# "
	}
	return ""
}

// yamlValue writes a value for YAML. Text is quoted where YAML would read
// something else.
func yamlValue(f field) string {
	value := formatField(f)
	if kindOf(f) == "list" && value == "" {
		return "[]"
	}
	if kindOf(f) == "text" && (value == "" || strings.ContainsAny(value, ":#{}[]*&!|>'\"%@`, ")) {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// shownValue is the value of a key without its secrets: one that is none, or the
// password in a URL.
func shownValue(f field) string {
	if isSecret(f.key) && f.value.String() != "" {
		return "(not shown)"
	}
	if u, err := url.Parse(formatField(f)); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return fmt.Sprintf("%q", u.Redacted())
		}
	}
	return yamlValue(f)
}

// showConfig writes each key, its value and its origin.
func showConfig(w io.Writer, l loaded) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "KEY\tVALUE\tFROM")
	for _, f := range fieldsOf(&l.Config) {
		origin, set := l.origin[f.key]
		if !set {
			origin = "default"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.key, shownValue(f), origin)
	}
}

// version writes what the Go tool noted about the build.
func version(w io.Writer) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fmt.Fprintln(w, "kafka-gateway, built without module support")
		return
	}
	fmt.Fprintf(w, "kafka-gateway %s\n%s\n", info.Main.Version, info.GoVersion)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.time", "vcs.modified", "GOOS", "GOARCH":
			fmt.Fprintf(w, "%s %s\n", s.Key, s.Value)
		}
	}
}

// wrap breaks text into lines of at most width bytes, if its words let it.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
