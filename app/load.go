package app

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app/cli"
)

// envPrefix starts the environment variables that are keys; two underscores
// stand for the dot: KAFKA_GATEWAY_STORAGE__DIR is storage.dir.
const envPrefix = "KAFKA_GATEWAY_"

// envConfigFile names the configuration file, as --config does.
const envConfigFile = envPrefix + "CONFIG"

// foreignEnv are variables with our prefix that are no keys: what Kubernetes
// gives every container of a namespace with a service called "kafka-gateway",
// and what tells this project's tests where things are. [cli.BootstrapVar] is
// another.
var foreignEnv = regexp.MustCompile(`^KAFKA_GATEWAY_(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_.*)?|TEST_.*)$`)

// Faults are all that is wrong with a configuration, one line each. Every line
// names the key by its full name, where its value came from, and the remedy.
type Faults []string

// Error returns the lines.
func (f Faults) Error() string { return strings.Join(f, "\n") }

func (f *Faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// loaded is a configuration and where each of its values came from.
type loaded struct {
	Config
	origin map[string]string // by key; keys that are not in it have their default
	// numbers are the keys of texts for which YAML saw a number with a fraction.
	numbers map[string]bool
}

// source is one place that values come from. Later sources win.
type source struct {
	values *koanf.Koanf
	origin func(key string) string // names the place of one key
}

// load reads the file, if one is named, the environment and the flags, in this
// order, for a gateway of the modules. The error is of type Faults: nothing stops it from
// finding all of them.
func load(path string, environ []string, flags map[string]string, modules ...fx.Option) (loaded, error) {
	l := loaded{Config: DefaultConfig(), origin: map[string]string{}, numbers: map[string]bool{}}
	var faults Faults
	sources := []source{fromFile(path, &faults), fromEnv(environ), fromFlags(flags)}
	for _, src := range sources {
		for _, key := range src.values.Keys() {
			addParts(&l.Config, key)
		}
	}
	fields := map[string]field{}
	for _, f := range fieldsOf(&l.Config) {
		fields[f.key] = f
	}
	for _, src := range sources {
		l.apply(src, fields, &faults)
	}
	l.check(wordsOf(modules), &faults)
	if len(faults) > 0 {
		return l, faults
	}
	return l, nil
}

// apply sets every key of a source that has one of the fields' names.
func (l *loaded) apply(src source, fields map[string]field, faults *Faults) {
	all := src.values.All()
	for _, key := range src.values.Keys() { // sorted
		raw := all[key]
		f, known := fields[key]
		switch {
		case known:
			if err := setField(f, raw); err != nil {
				faults.add("%s: %v (%s)", key, err, src.origin(key))
			}
			l.origin[key] = src.origin(key)
			_, fraction := raw.(float64)
			l.numbers[key] = fraction && kindOf(f) == "text"
		case isEmpty(raw) && (isSection(key, fields) || isNamed(key, &l.Config)):
			// a section whose keys are all commented out
		case isNamed(key, &l.Config):
			faults.add("%s: is a section of sections; give each a name, and set the keys in it, such as %s (%s)",
				key, firstOf(key, documentedKeys()), src.origin(key))
		case isSection(key, fields):
			faults.add("%s: is a section; set the keys in it, such as %s (%s)", key, firstOf(key, fields), src.origin(key))
		default:
			faults.add("%s: unknown key; %s (%s)", key, instead(key, fields), src.origin(key))
		}
	}
}

// instead says what to write for a key that there is not: the one that differs from it by
// dots and underscores alone, as where a variable nests by one underscore, or where to look.
func instead(key string, fields map[string]field) string {
	bare := strings.NewReplacer(".", "", "_", "")
	for known := range fields {
		if bare.Replace(known) == bare.Replace(key) {
			return fmt.Sprintf("write %s, which is %s in the environment", known, envName(known))
		}
	}
	return "`kafka-gateway config` lists all keys"
}

// isSection reports whether some field's name continues key.
func isSection(key string, fields map[string]field) bool { return firstOf(key, fields) != "" }

// firstOf returns the first key of a section, in alphabetical order.
func firstOf(section string, fields map[string]field) string {
	var in []string
	for key := range fields {
		if strings.HasPrefix(key, section+".") {
			in = append(in, key)
		}
	}
	if len(in) == 0 {
		return ""
	}
	return slices.Min(in)
}

// isNamed reports whether a key is a section whose parts the user names.
func isNamed(key string, c *Config) bool {
	return slices.ContainsFunc(namedSections(c), func(s namedSection) bool { return s.key == key })
}

// documentedKeys returns documented by key.
func documentedKeys() map[string]field {
	keys := map[string]field{}
	for _, f := range documented() {
		keys[f.key] = f
	}
	return keys
}

func isEmpty(raw any) bool {
	m, isMap := raw.(map[string]any)
	return raw == nil || isMap && len(m) == 0
}

func fromFile(path string, faults *Faults) source {
	src := source{koanf.New("."), func(string) string { return "file " + path }}
	if path == "" {
		return src
	}
	if err := src.values.Load(file.Provider(path), yaml.Parser()); err != nil {
		if cause, ok := err.(*fs.PathError); ok {
			faults.add("%s: %v; --config and %s name a YAML file", path, cause.Err, envConfigFile)
		} else {
			faults.add("%s: %s; config.example.yaml shows how it is written", path, unwritten(err))
		}
	}
	return src
}

// inBackticks is what an error of YAML shows of a value.
var inBackticks = regexp.MustCompile("`[^`]*`")

// unwritten is the error of a file that is no YAML, without what it shows of values, which
// may be secrets.
func unwritten(err error) string {
	text := oneLine(err)
	if strings.HasPrefix(text, "yaml: unknown anchor ") { // and what follows the asterisk
		return "yaml: a value that begins with * is not in quotes"
	}
	return inBackticks.ReplaceAllString(text, "a value")
}

func fromEnv(environ []string) source {
	src := source{koanf.New("."), func(key string) string { return "env " + envName(key) }}
	// Loading from memory into an empty koanf cannot fail. No delimiter: the
	// names stay as they are, so that a wrong one can be named.
	_ = src.values.Load(env.Provider("", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if name == envConfigFile || name == cli.BootstrapVar || foreignEnv.MatchString(name) {
				return "", nil
			}
			return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "__", "."), value
		},
	}), nil)
	return src
}

// envName returns the environment variable of a key.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func fromFlags(flags map[string]string) source {
	values := map[string]any{}
	for key, value := range flags {
		values[key] = value
	}
	src := source{koanf.New("."), func(key string) string { return "flag --" + key }}
	_ = src.values.Load(confmap.Provider(values, ""), nil)
	return src
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
