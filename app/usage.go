package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/iggykafka/gateway/app/cli"
)

// configured ends the pages of commands that read the configuration.
const configured = `
It reads the configuration as the gateway does: --config FILE, the environment, and each
key as a flag. kafka-gateway --help tells the keys.
`

// pages are what --help prints of commands that have flags or words of their own, but no
// help of their own, as topics, groups and scram have.
var pages = map[string]string{
	"doctor": `look at the setup that the configuration describes, or, from outside, at the one that
--bootstrap names; say what is wrong and what to do. Exit code 1: something fails.

Usage:
  kafka-gateway doctor [--config FILE] [flags]
  kafka-gateway doctor --bootstrap HOST:PORT,... [flags]

Without --bootstrap the one listener is asked that the flags about logging in fit. Where
an authorizer decides, log in as a user who may DESCRIBE the cluster, or how full the
disks are stays unknown.

Flags:
`,
	"apis": `print the API keys that are served, their versions and what a request gets that cannot be
read. Nothing is started.

Usage:
  kafka-gateway apis [--acl]

Flags:
      --acl   print what each key asks the authorizer: operation, resource, refusal
`,
	"config": `print every key, its value and where that came from. Secrets are not shown.

Usage:
  kafka-gateway config            as it is: file, environment, flags and defaults
  kafka-gateway config --example  a configuration file with all keys and defaults
`,
	"offsets": `list, export or import offsets.

Usage:
  kafka-gateway offsets list           the ends of partitions, or the offsets of a time,
                                       of a running cluster; says more with --help
  kafka-gateway offsets export [FILE]  write all committed offsets as JSON lines; to
                                       standard output without a file
  kafka-gateway offsets import [FILE]  commit what a file of such lines, or standard
                                       input, says

Export and import want the gateway stopped.
`,
	"version": `print how this program was built.

Usage:
  kafka-gateway version
`,
}

// helpAfter returns a command line in which the wish for help comes last, where the
// command that reads it looks for it: "help topics create" and "--help topics create"
// are "topics create --help".
func helpAfter(args []string) []string {
	if len(args) < 2 || strings.HasPrefix(args[1], "-") || !slices.Contains([]string{"help", "--help", "-h"}, args[0]) {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

// usage writes what --help prints of a command: its own page, or that of the program with
// all keys, which is that of serve.
func usage(w io.Writer, command string) {
	page, found := pages[command]
	if !found {
		help(w)
		return
	}
	fmt.Fprint(w, page)
	switch command {
	case "doctor":
		fmt.Fprint(w, doctorFlags())
	case "version":
		return
	}
	fmt.Fprint(w, configured)
}

// doctorFlags are the flags of doctor that are no keys.
func doctorFlags() string {
	set := pflag.NewFlagSet("doctor", pflag.ContinueOnError)
	set.StringSliceP("bootstrap", "b", nil, "addresses of a cluster to look at from outside")
	set.Bool("json", false, "print JSON for programs")
	(&cli.Connection{}).AddFlags(set)
	const form = "[=true|false]"
	return strings.ReplaceAll(set.FlagUsagesWrapped(90), form, strings.Repeat(" ", len(form)))
}
