package app

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is what a run of the program left behind.
type outcome struct {
	code     int
	out, err string
}

// execute runs the program without modules, for what needs none.
func execute(args ...string) outcome { return executeWith(nil, args...) }

func executeWith(environ []string, args ...string) outcome {
	var out, errs bytes.Buffer
	code := program{args: args, environ: environ, out: &out, err: &errs}.run(context.Background())
	return outcome{code, out.String(), errs.String()}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		fault string
	}{
		{[]string{"start"}, `unknown command "start"; commands are serve, topics, groups, offsets, scram, doctor, apis, config, version, help`},
		{[]string{"apis", "15"}, `apis takes no "15"`},
		{[]string{"offsets"}, "offsets needs list, export or import; the latter two may be given a file"},
		{[]string{"offsets", "show"}, "offsets needs list, export or import; the latter two may be given a file"},
		{[]string{"offsets", "import", "a", "b"}, `offsets takes no "b"`},
		{[]string{"--node_id=7", "topics", "list"}, "topics comes first on the command line; its flags follow"},
		{[]string{"--json"}, "--json, --bootstrap and the flags about logging in, such as --user, belong to the commands topics, groups, offsets list and doctor"},
		{[]string{"--storage.dri=x"}, "unknown flag: --storage.dri"},
		{[]string{"-x"}, "unknown shorthand flag: 'x' in -x"},
		{[]string{"--listen"}, "flag needs an argument: --listen"},
		{[]string{"--example"}, "--example belongs to the command config"},
	} {
		require.Equal(t, outcome{exitUsage, "", "kafka-gateway: " + c.fault + "; see kafka-gateway --help\n"}, execute(c.args...))
	}
	// Those that ask a cluster have pages of help of their own.
	require.Equal(t, outcome{exitUsage, "", `kafka-gateway: unknown command "lst" of topics; it has list, describe, create, alter, delete, trim; ` +
		"see kafka-gateway topics --help\n"}, execute("topics", "lst"))
}

func TestHelpNamesEveryKey(t *testing.T) {
	t.Parallel()
	got := execute("--help")
	require.Equal(t, exitOK, got.code)
	require.Empty(t, got.err)
	require.Equal(t, got, execute("help"))
	require.Equal(t, got, execute("serve", "-h"))
	config := DefaultConfig()
	for _, f := range fieldsOf(&config) {
		require.Contains(t, got.out, "\n  --"+f.key+flagForm(f)+"\n", f.key)
	}
	for _, command := range commands {
		require.Contains(t, got.out, command)
	}
	for i, line := range strings.Split(got.out, "\n") {
		require.LessOrEqual(t, len(line), 90, "line %d: %s", i+1, line)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := execute("version")
	require.Equal(t, exitOK, got.code)
	require.Regexp(t, `^kafka-gateway .*\ngo1`, got.out)
}

func TestConfigShowsValuesAndOrigins(t *testing.T) {
	t.Parallel()
	path := write(t, "fetch: {max_wait: 1m}\nlog: {level: warn}")
	got := executeWith([]string{"KAFKA_GATEWAY_NODE_ID=7", "KAFKA_GATEWAY_CONFIG=" + path},
		"config", "--log.level=error", "--topics.delete_enable=false", "--storage.sync")
	require.Equal(t, exitOK, got.code, got.err)
	var rows [][]string
	for line := range strings.Lines(got.out) {
		rows = append(rows, strings.Fields(line))
	}
	require.Equal(t, []string{"KEY", "VALUE", "FROM"}, rows[0])
	require.Contains(t, rows, []string{"node_id", "7", "env", "KAFKA_GATEWAY_NODE_ID"})
	require.Contains(t, rows, []string{"fetch.max_wait", "1m", "file", path})
	require.Contains(t, rows, []string{"log.level", "error", "flag", "--log.level"})
	require.Contains(t, rows, []string{"topics.delete_enable", "false", "flag", "--topics.delete_enable"})
	require.Contains(t, rows, []string{"storage.sync", "true", "flag", "--storage.sync"})
	require.Contains(t, rows, []string{"advertise", `""`, "default"})
	require.Contains(t, rows, []string{"max_frame_size", "100MiB", "default"})
}

func TestFaultsOfTheConfigurationAreOneLineEach(t *testing.T) {
	t.Parallel()
	got := execute("--node_id=x", "--log.level=loud")
	require.Equal(t, outcome{exitFailed, "", `kafka-gateway: node_id: "x" is not a whole number from 0 to 2147483647 (flag --node_id)
kafka-gateway: log.level: "loud" is none of debug, info, warn, error (flag --log.level)
`}, got)
}

func TestAskingTwiceToStopDoesNotBlock(t *testing.T) {
	t.Parallel()
	failed := make(chan struct{}, 1)
	s := shutdowner{failed}
	require.NoError(t, s.Shutdown(fx.ExitCode(3)))
	require.NoError(t, s.Shutdown()) // the second must not block
	require.Len(t, failed, 1)
}

// What strangers put into an error does not reach the terminal as it is.
func TestComplaintsArePlain(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	program{err: &errs}.complain(errors.New("group \x1b[2Jg\u009b1m\u202e:\tno\n\twhy"))
	require.Equal(t, "kafka-gateway: group �[2Jg�1m�: no\nkafka-gateway: why\n", errs.String())
}
