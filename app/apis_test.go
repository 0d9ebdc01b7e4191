package app

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
)

func TestAPIsWithChecks(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	p := program{args: []string{"apis", "--acl"}, out: &out, err: &errs, modules: []fx.Option{gateway.Plugins()}}
	require.Equal(t, exitOK, p.run(t.Context()), errs.String())
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	require.Equal(t, "KEY NAME OPERATION ON REFUSAL WHEN", rows[0])
	require.Contains(t, rows, "29 DescribeACLs DESCRIBE cluster CLUSTER_AUTHORIZATION_FAILED (31) always")
	require.Contains(t, rows, "18 ApiVersions none")
	require.NoDirExists(t, "data", "nothing was started")
}

// The table of checks in docs/authorization.md is that of the handlers.
func TestGeneratedChecks(t *testing.T) {
	const file, begin, end = "../docs/authorization.md", "<!-- checks, written by go generate ./app -->\n", "<!-- end of checks -->\n"
	config, err := load("", nil, nil)
	require.NoError(t, err)
	table, err := tableOf(config, []fx.Option{gateway.Plugins()})
	require.NoError(t, err)
	var want strings.Builder
	for i, row := range checkRows(table) {
		want.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			want.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no line %q", file, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no line %q", file, end)
	upToDate(t, file, []byte(before+begin+want.String()+end+after))
}
