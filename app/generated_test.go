package app

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated files anew")

// The texts of the keys and the example file are made from the source; this
// test makes them, or finds them outdated.
func TestGenerated(t *testing.T) {
	var docs bytes.Buffer
	config := DefaultConfig()
	collect(t, &docs, "", reflect.TypeOf(config))
	upToDate(t, "config_docs.txt", docs.Bytes())

	docFile = docs.String()
	var yaml bytes.Buffer
	example(&yaml)
	upToDate(t, "../config.example.yaml", yaml.Bytes())
}

func upToDate(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "%s is outdated: run go generate ./app", file)
}

// collect writes "key text" for each key of a section, from the comments at
// its fields.
func collect(t *testing.T, docs *bytes.Buffer, prefix string, section reflect.Type) {
	t.Helper()
	comments := commentsOf(t, section)
	for i := range section.NumField() {
		f := section.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("koanf"), ",")
		switch {
		case options == "squash":
			collect(t, docs, prefix, f.Type)
		case tag == "":
		case f.Type.Kind() == reflect.Struct:
			collect(t, docs, prefix+tag+".", f.Type)
		case f.Type.Kind() == reflect.Map:
			collect(t, docs, prefix+tag+"."+anyName+".", f.Type.Elem())
		default:
			fmt.Fprintf(docs, "%s %s\n", prefix+tag, sentence(f.Name, comments[f.Name]))
		}
	}
}

// commentsOf returns the comments at the fields of a struct of this module.
func commentsOf(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	folder := filepath.Join("..", strings.TrimPrefix(of.PkgPath(), "github.com/iggykafka/gateway"))
	sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	comments := map[string]string{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range body.Fields.List {
				for _, name := range f.Names {
					comments[name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
			return false
		})
	}
	return comments
}

// sentence turns a Go comment, which begins with the field's name, into text
// for a reader who never sees that name.
func sentence(name, comment string) string {
	text := strings.TrimPrefix(comment, name+" ")
	text = strings.TrimPrefix(text, "is ")
	if text == "" {
		return text
	}
	runes := []rune(text)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

var defaultInText = regexp.MustCompile(`\b[Dd]efault ((?:[^:;).]|\.\d)+)`)

// Every key says what it means, and the default that it names is the true one.
func TestEveryKeySaysItsDefault(t *testing.T) {
	for _, f := range documented() {
		switch found := defaultInText.FindStringSubmatch(f.doc); {
		case kindOf(f) == "text" && f.value.String() == "", kindOf(f) == "list" && f.value.Len() == 0:
			require.Contains(t, f.doc, `(default "": `, f.key)
		case kindOf(f) == "text":
			require.Contains(t, strings.ToLower(f.doc), "default "+strings.ToLower(f.value.String()), f.key)
		case found == nil:
			t.Errorf("%s: the comment at its field has no (default ...): %q", f.key, f.doc)
		default:
			said := field{key: f.key, value: reflect.New(f.value.Type()).Elem()}
			require.NoError(t, setField(said, found[1]), f.key)
			require.Equal(t, f.value.Interface(), said.value.Interface(), f.key)
		}
	}
}
