package app

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
)

// field is one key of the configuration: a leaf of Config.
type field struct {
	key   string        // full name, such as "storage.dir"
	value reflect.Value // settable: the leaf itself
	doc   string        // the comment at the Go field: unit, default, what zero means
	store func()        // puts the value where it belongs; nil where it is there already
}

// with returns f with another number, in no Config.
func (f field) with(number int64) field {
	f.value = reflect.New(f.value.Type()).Elem()
	f.value.SetInt(number)
	f.store = nil
	return f
}

// anyName stands in texts for the names that the user chooses: of the sections
// in listeners.
const anyName = "NAME"

// fieldsOf returns the keys of c in the order of the struct. Setting a field's
// value changes c.
func fieldsOf(c *Config) []field {
	docs := docTexts()
	fields := appendFields(nil, "", reflect.ValueOf(c).Elem())
	for i := range fields {
		fields[i].doc = docs[general(fields[i].key)]
	}
	return fields
}

// general returns the key that stands for key in texts: with anyName in the place
// of the name that the user chose.
func general(key string) string {
	for _, s := range namedSections(new(Config)) {
		if rest, found := strings.CutPrefix(key, s.key+"."); found {
			if _, leaf, found := strings.Cut(rest, "."); found {
				return s.key + "." + anyName + "." + leaf
			}
		}
	}
	return key
}

func appendFields(fields []field, prefix string, section reflect.Value) []field {
	for i := range section.NumField() {
		tag, options, _ := strings.Cut(section.Type().Field(i).Tag.Get("koanf"), ",")
		value := section.Field(i)
		switch {
		case options == "squash":
			fields = appendFields(fields, prefix, value)
		case tag == "": // not a key: set by the program, not by its user
		case value.Kind() == reflect.Struct:
			fields = appendFields(fields, prefix+tag+".", value)
		case value.Kind() == reflect.Map:
			fields = appendNamed(fields, namedSection{prefix + tag, value})
		default:
			fields = append(fields, field{key: prefix + tag, value: value})
		}
	}
	return fields
}

// namedSection is a section whose parts have names that the user chooses: a map
// from names to structs.
type namedSection struct {
	key   string
	value reflect.Value // the map, settable
}

// appendNamed appends the keys of all parts of s, by name. A part lies in a map, so
// it is copied, and put back whenever one of its fields is set.
func appendNamed(fields []field, s namedSection) []field {
	for _, name := range s.names() {
		part := reflect.New(s.value.Type().Elem()).Elem()
		part.Set(s.value.MapIndex(reflect.ValueOf(name)))
		first := len(fields)
		fields = appendFields(fields, s.key+"."+name+".", part)
		for i := range fields[first:] {
			fields[first+i].store = func() { s.value.SetMapIndex(reflect.ValueOf(name), part) }
		}
	}
	return fields
}

// names returns the names of the parts, sorted.
func (s namedSection) names() []string {
	var names []string
	for _, name := range s.value.MapKeys() {
		names = append(names, name.String())
	}
	slices.Sort(names)
	return names
}

// add adds a part, with the defaults of its type, unless it is there.
func (s namedSection) add(name string) {
	if s.value.IsNil() {
		s.value.Set(reflect.MakeMap(s.value.Type()))
	}
	if key := reflect.ValueOf(name); !s.value.MapIndex(key).IsValid() {
		s.value.SetMapIndex(key, newPart(s.value.Type().Elem()))
	}
}

// newPart returns a part that nothing was said of: what its method Default returns,
// or else the zero value.
func newPart(t reflect.Type) reflect.Value {
	part := reflect.Zero(t)
	if m := part.MethodByName("Default"); m.IsValid() {
		return m.Call(nil)[0]
	}
	return part
}

// namedSections returns the sections of c with parts that the user names.
func namedSections(c *Config) []namedSection {
	return appendNamedSections(nil, "", reflect.ValueOf(c).Elem())
}

func appendNamedSections(found []namedSection, prefix string, section reflect.Value) []namedSection {
	for i := range section.NumField() {
		tag, options, _ := strings.Cut(section.Type().Field(i).Tag.Get("koanf"), ",")
		switch value := section.Field(i); {
		case options == "squash":
			found = appendNamedSections(found, prefix, value)
		case tag == "":
		case value.Kind() == reflect.Struct:
			found = appendNamedSections(found, prefix+tag+".", value)
		case value.Kind() == reflect.Map:
			found = append(found, namedSection{prefix + tag, value})
		}
	}
	return found
}

// addParts adds to c the parts that a key belongs to, if it belongs to one.
func addParts(c *Config, key string) {
	for _, s := range namedSections(c) {
		rest, found := strings.CutPrefix(key, s.key+".")
		if name, _, _ := strings.Cut(rest, "."); found && name != "" {
			s.add(name)
		}
	}
}

// documented returns the keys for texts about all of them: each named section has
// one part, called anyName.
func documented() []field {
	c := DefaultConfig()
	for _, s := range namedSections(&c) {
		s.add(anyName)
	}
	return fieldsOf(&c)
}

// isExample reports whether a key of documented is one whose name the user chooses.
func isExample(key string) bool { return strings.Contains(key, "."+anyName+".") }

// The text that --help and config.example.yaml show for a key is the comment
// at its Go field: one place to write it. Go keeps no comments in the binary,
// so they are collected into a file, a key a line; a test keeps it fresh.
//
//go:generate go test -run ^TestGenerated -update .
//go:embed config_docs.txt
var docFile string

// docTexts returns the text of each key.
func docTexts() map[string]string {
	docs := map[string]string{}
	for line := range strings.Lines(docFile) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		docs[key] = text
	}
	return docs
}
