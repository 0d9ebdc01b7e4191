package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/iggykafka/gateway/app/cli"
)

// commands are the words that the program understands, besides flags.
var commands = [...]string{"serve", "topics", "groups", "offsets", "scram", "doctor", "apis", "config", "version", "help"}

// line is a command line that has been understood.
type line struct {
	command   string
	action    string // of the command offsets: export or import
	target    string // and its file, "" for none
	help      bool
	example   bool
	json      bool              // of the command doctor
	acl       bool              // of the command apis
	bootstrap []string          // of the command doctor
	login     cli.Connection    // of the command doctor
	file      string            // --config
	flags     map[string]string // those that are keys, and were given
}

// parseLine reads a command line. Every key of the configuration is a flag; the
// values are checked later, together with those of the other sources.
func parseLine(args []string) (line, error) {
	l := line{command: "serve", flags: map[string]string{}}
	set := pflag.NewFlagSet("kafka-gateway", pflag.ContinueOnError)
	set.Usage = func() {}
	set.BoolVarP(&l.help, "help", "h", false, "")
	set.StringVar(&l.file, "config", "", "")
	set.BoolVar(&l.example, "example", false, "")
	set.BoolVar(&l.json, "json", false, "")
	set.BoolVar(&l.acl, "acl", false, "")
	set.StringSliceVarP(&l.bootstrap, "bootstrap", "b", nil, "")
	login := pflag.NewFlagSet("login", pflag.ContinueOnError)
	l.login.AddFlags(login)
	set.AddFlagSet(login)
	defaults := DefaultConfig()
	for _, arg := range args {
		if name, found := strings.CutPrefix(arg, "--"); found {
			name, _, _ = strings.Cut(name, "=")
			addParts(&defaults, name)
		}
	}
	for _, f := range fieldsOf(&defaults) {
		set.String(f.key, formatField(f), "")
		if kindOf(f) == "bool" {
			set.Lookup(f.key).NoOptDefVal = "true"
		}
	}
	if err := set.Parse(args); err != nil {
		return l, err
	}
	words := set.Args()
	if len(words) > 0 {
		l.command = words[0]
		if !slices.Contains(commands[:], l.command) {
			return l, fmt.Errorf("unknown command %q; commands are %s", l.command, strings.Join(commands[:], ", "))
		}
	}
	if l.help { // whatever else the line says
		return l, nil
	}
	if len(words) > 0 {
		words = words[1:]
		switch l.command {
		case "offsets":
			var err error
			if words, err = l.offsets(words); err != nil {
				return l, err
			}
		case "topics", "groups", "scram":
			return l, fmt.Errorf("%s comes first on the command line; its flags follow", l.command)
		}
		if len(words) > 0 {
			return l, fmt.Errorf("%s takes no %q", l.command, words[0])
		}
	}
	if l.example && l.command != "config" {
		return l, errors.New("--example belongs to the command config")
	}
	if l.acl && l.command != "apis" {
		return l, errors.New("--acl belongs to the command apis")
	}
	if (l.json || len(l.bootstrap) > 0 || l.login.Given()) && l.command != "doctor" {
		return l, errors.New("--json, --bootstrap and the flags about logging in, such as --user, belong to the commands topics, groups, offsets list and doctor")
	}
	set.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "help", "config", "example", "json", "acl", "bootstrap":
			return
		}
		if login.Lookup(f.Name) == nil {
			l.flags[f.Name] = f.Value.String()
		}
	})
	return l, nil
}

// offsets reads what follows the command offsets, and returns the words after it.
func (l *line) offsets(words []string) ([]string, error) {
	if len(words) == 0 || words[0] != "export" && words[0] != "import" {
		return nil, errors.New("offsets needs list, export or import; the latter two may be given a file")
	}
	l.action = words[0]
	if len(words) > 1 {
		l.target = words[1]
	}
	return words[min(len(words), 2):], nil
}

// configFile returns the file to read, "" for none. The flag wins.
func (l line) configFile(environ []string) string {
	if l.file != "" {
		return l.file
	}
	for _, variable := range environ {
		if path, found := strings.CutPrefix(variable, envConfigFile+"="); found {
			return path
		}
	}
	return ""
}
