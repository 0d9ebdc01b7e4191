package handlertest

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/handler"
)

// authorization watches what a handler asks over all files of its scenarios.
type authorization struct {
	checksSeen
	files, ran int
}

// countFiles returns how many files there are in a directory of scenarios.
func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func (a *authorization) done() { a.ran++ }

// request makes the request of a scenario, with the Access that it names.
func (a *authorization) request(t *testing.T, env Env, d *datadriven.TestData) string {
	access := accessOf(t, d)
	if access == nil {
		return request(t, env, d)
	}
	env.Call.Access = access
	out, asked := request(t, env, d), access.Asked()
	for _, ask := range a.see(env.Handler.Spec().Checks, asked) {
		t.Errorf("%s: asks what no Check declares: %s", d.Pos, ask)
	}
	if d.HasArg("asked") {
		out = strings.TrimRight(out, "\n") + "\n"
		for _, ask := range asked {
			out += ask.String() + "\n"
		}
	}
	return out
}

// accessOf reads the arguments allow and deny; nil without them.
func accessOf(t *testing.T, d *datadriven.TestData) *Access {
	var access Access
	allow, hasAllow := d.Arg("allow")
	deny, hasDeny := d.Arg("deny")
	switch {
	case !hasAllow && !hasDeny:
		return nil
	case !hasAllow, len(allow.Vals) == 1 && allow.Vals[0] == "all":
		access.All = true
	case len(allow.Vals) == 1 && allow.Vals[0] == "none":
	default:
		access.Allow = rightsOf(t, d, allow.Vals)
	}
	access.Deny = rightsOf(t, d, deny.Vals)
	return &access
}

func rightsOf(t *testing.T, d *datadriven.TestData, texts []string) (rights []Right) {
	for _, text := range texts {
		r, err := ParseRight(text)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		rights = append(rights, r)
	}
	return rights
}

// conform denies everything to requests of every version, and then compares what
// was asked in all with what is declared. Where only some of the files ran, by
// "go test -run", nobody can tell what is unused.
func (a *authorization) conform(t *testing.T, open func(*testing.T) Env) {
	if a.ran != a.files {
		return
	}
	var declared []handler.Check
	t.Run("deny everything", func(t *testing.T) {
		env := open(t)
		spec := env.Handler.Spec()
		declared = spec.Checks
		for v := spec.Min; v <= spec.Max; v++ {
			for _, req := range Legal(env.Handler, v) {
				access := &Access{}
				call := env.Call
				call.Access = access
				Answer(context.Background(), env.Handler, call, req)
				assert.Emptyf(t, a.see(declared, access.Asked()), "v%d asks what no Check declares", v)
			}
		}
	})
	for _, c := range a.unused(declared) {
		t.Errorf("no scenario makes the handler ask what it declares: %s", strings.Join(c.Row(), ", "))
	}
}
