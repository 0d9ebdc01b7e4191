package app

import (
	_ "embed"
	"reflect"
	"strings"
)

// field is one key of the configuration: a leaf of Config.
type field struct {
	key   string        // full name, such as "storage.dir"
	value reflect.Value // settable: the leaf itself
	doc   string        // the comment at the Go field: unit, default, what zero means
}

// with returns f with another number, in no Config.
func (f field) with(number int64) field {
	f.value = reflect.New(f.value.Type()).Elem()
	f.value.SetInt(number)
	return f
}

// fieldsOf returns the keys of c in the order of the struct. Setting a field's
// value changes c.
func fieldsOf(c *Config) []field {
	docs := docTexts()
	fields := appendFields(nil, "", reflect.ValueOf(c).Elem())
	for i := range fields {
		fields[i].doc = docs[fields[i].key]
	}
	return fields
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
		default:
			fields = append(fields, field{key: prefix + tag, value: value})
		}
	}
	return fields
}

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
