package gateway_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rules of the house, held by tests. Rooms are folders; imports between
// them point one way:
//
//	app, plugins.go → handlers, coordinator/*, core/server → core/dispatch → core/handler, core/wire
//
// Tests, and packages that are there for tests (their names end in "test"), may
// import what they like: they stand outside the house.

const modulePath = "github.com/iggykafka/gateway"

// notForSecurity is what only security/ssl, which wraps connections, and the rooms
// of Iggy's users, which ask its server, may import of security.
var notForSecurity = []string{modulePath + "/core/server/...", modulePath + "/core/backend/embedded/...", modulePath + "/core/backend/iggy/..."}

// forbidden lists what the packages of a room, its folders included, must not
// import. A path that ends in "..." stands for the folder and all below it.
var forbidden = []struct {
	room    string
	imports []string
	because string
}{
	{"core", []string{modulePath + "/security/..."},
		"core knows the contracts of security, not who fulfils them"},
	{"security", []string{modulePath, modulePath + "/app/...", modulePath + "/admin/...", modulePath + "/handlers/...", modulePath + "/coordinator/...", modulePath + "/core/dispatch/...", modulePath + "/core/wire/...", modulePath + "/bench/..."},
		"what secures the gateway knows no handler and no frame"},
	{"security/acls", notForSecurity, "it decides over values"},
	{"security/authorizer", notForSecurity, "it decides over values"},
	{"security/audit", notForSecurity, "it writes down values"},
	{"security/quotas", notForSecurity, "it counts values"},
	{"security/users", notForSecurity, "it keeps credentials in whatever store there is"},
	{"security/scram", notForSecurity, "a mechanism sees tokens, and neither connections nor stores"},
	{"security/plain", notForSecurity, "a mechanism sees tokens, and neither connections nor stores"},
	{"security/oauthbearer", notForSecurity, "a mechanism sees tokens, and neither connections nor stores"},
	{"core", []string{modulePath, modulePath + "/app/...", modulePath + "/handlers/...", modulePath + "/bench/..."},
		"core knows no handler"},
	{"core/handler", []string{modulePath + "/core/wire/...", modulePath + "/core/dispatch/...", modulePath + "/core/server/...", modulePath + "/core/backend/...", "net"},
		"a handler sees neither frames nor connections"},
	{"core/wire", []string{modulePath + "/core/handler/...", modulePath + "/core/dispatch/...", modulePath + "/core/server/...", modulePath + "/core/backend/..."},
		"frames know no handler"},
	{"core/dispatch", []string{modulePath + "/core/server/...", modulePath + "/core/backend/...", modulePath + "/coordinator/...", "net"},
		"nobody below the server holds a connection"},
	{"core/backend", []string{modulePath + "/core/handler/...", modulePath + "/core/wire/...", modulePath + "/core/dispatch/...", modulePath + "/core/server/...", modulePath + "/coordinator/...", "github.com/twmb/franz-go/pkg/kmsg"},
		"a backend stores batches and knows no request"},
	{"handlers", []string{modulePath, modulePath + "/app/...", modulePath + "/core/server/...", modulePath + "/core/dispatch/...", modulePath + "/core/wire/...", modulePath + "/core/backend/embedded/...", modulePath + "/coordinator/memory/...", modulePath + "/coordinator/durable/...", modulePath + "/coordinator/host/...", modulePath + "/security/...", "net"},
		"a handler depends on contracts, not on who fulfils them"},
	{"coordinator", []string{modulePath, modulePath + "/app/...", modulePath + "/core/...", modulePath + "/security/...", modulePath + "/handlers/...", "github.com/twmb/franz-go/...", "net", "net/..."},
		"the coordinator knows values alone"},
	{"app", []string{modulePath + "/handlers/...", modulePath + "/coordinator/memory/...", modulePath + "/coordinator/durable/...", modulePath + "/coordinator/host/..."},
		"the app takes the list of modules from outside"},
}

// mayImportFX lists the files that wire things together.
var mayImportFX = []string{"*/module.go", "core/handler/fx.go", "plugins.go", "app/*", "admin/admin.go", "examples/*"}

func TestImportsPointOneWay(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		folder := path.Dir(file)
		for _, imported := range importsOf(t, file) {
			for _, rule := range forbidden {
				if !within(folder, rule.room) || strings.HasSuffix(folder, "test") {
					continue
				}
				for _, pattern := range rule.imports {
					require.Falsef(t, matches(pattern, imported), "%s imports %s: %s", file, imported, rule.because)
				}
			}
			other, isHandler := strings.CutPrefix(imported, modulePath+"/handlers/")
			if within(folder, "handlers") && isHandler {
				require.Truef(t, within(folder, "handlers/"+other), "%s imports %s: a handler knows no other", file, imported)
			}
			if strings.HasPrefix(imported, "go.uber.org/fx") {
				require.Truef(t, slices.ContainsFunc(mayImportFX, func(pattern string) bool { return matchesFile(pattern, file) }),
					"%s imports fx: wiring belongs into module.go", file)
			}
		}
	}
}

func TestFilesStayShort(t *testing.T) {
	for _, file := range goFiles(t) {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if n := bytes.Count(source, []byte("\n")); n > 500 {
			t.Errorf("%s has %d lines; nobody reads more than 500", file, n)
		}
	}
}

// Unfinished work is finished, or told in the README's limits.
func TestNothingIsLeftToDo(t *testing.T) {
	// In pieces, so that this file passes its own test.
	unfinished := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b|not ` + `implemented`)
	for _, file := range files(t, ".go", ".md", ".yaml", ".sh") {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, line := range strings.Split(string(source), "\n") {
			if unfinished.MatchString(line) {
				t.Errorf("%s:%d: %s", file, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// What runs before main cannot be tested, ordered or left out.
func TestNoInit(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, decl := range parse(t, file, parser.SkipObjectResolution).Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", file)
			}
		}
	}
}

var leakCheck = regexp.MustCompile(`\b(goleak\.VerifyTestMain|(iggy|client)test\.Main)\(m`)

// A goroutine that outlives its test outlives its connection, too.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	looks := map[string]bool{}
	for _, file := range goFiles(t) {
		if folder := path.Dir(file); strings.HasSuffix(file, "_test.go") && !within(folder, "examples") {
			looks[folder] = looks[folder] || leakCheck.MatchString(read(t, file))
		}
	}
	for folder, ok := range looks {
		if !ok {
			t.Errorf("%s has no TestMain with goleak.VerifyTestMain, or with a Main that calls it", folder)
		}
	}
}

func TestEveryHandlerHasItsFiles(t *testing.T) {
	folders, err := os.ReadDir("handlers")
	require.NoError(t, err)
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == "internal" {
			continue
		}
		for _, name := range []string{"README.md", folder.Name() + ".go", "shape.go", "module.go", "*_test.go", "testdata/*"} {
			found, err := filepath.Glob(filepath.Join("handlers", folder.Name(), name))
			require.NoError(t, err)
			if len(found) == 0 {
				t.Errorf("handlers/%s has no %s", folder.Name(), name)
			}
		}
	}
}

// goFiles returns every Go file of the repository, with slashes.
func goFiles(t *testing.T) []string { return files(t, ".go") }

// files returns the files with one of the given endings. What the tests
// download and what programs write is not part of the house.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch {
			case name != "." && strings.HasPrefix(entry.Name(), "."), entry.Name() == "node_modules", name == "bin", name == "data":
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(endings, path.Ext(name)) {
			found = append(found, name)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func parse(t *testing.T, file string, mode parser.Mode) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, mode)
	require.NoError(t, err)
	return parsed
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	var imports []string
	for _, spec := range parse(t, file, parser.ImportsOnly).Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		imports = append(imports, imported)
	}
	return imports
}

// within reports whether a folder is a room or lies in it.
func within(folder, room string) bool {
	return folder == room || strings.HasPrefix(folder, room+"/")
}

func matches(pattern, imported string) bool {
	if parent, all := strings.CutSuffix(pattern, "/..."); all {
		return within(imported, parent)
	}
	return imported == pattern
}

func matchesFile(pattern, file string) bool {
	if end, any := strings.CutPrefix(pattern, "*"); any {
		return strings.HasSuffix(file, end)
	}
	if folder, all := strings.CutSuffix(pattern, "/*"); all {
		return within(file, folder)
	}
	return pattern == file
}
