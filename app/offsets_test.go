package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/core/backend"
)

// offsets runs the command on a folder.
func offsets(t *testing.T, folder, in string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := program{
		args: append([]string{"offsets", "--storage.dir", folder, "--log.level=warn", "--listen=127.0.0.1:1"}, args...),
		in:   strings.NewReader(in), out: &out, err: &errs, modules: []fx.Option{gateway.Plugins()},
	}.run(context.Background())
	return outcome{code, out.String(), errs.String()}
}

// makeTopic makes topic orders, with 2 partitions, in a folder.
func makeTopic(t *testing.T, folder string) {
	l, err := load("", nil, map[string]string{"storage.dir": folder, "log.level": "warn"})
	require.NoError(t, err)
	var errs bytes.Buffer
	require.NoError(t, program{err: &errs, modules: []fx.Option{gateway.Plugins()}}.withStore(t.Context(), l,
		func(ctx context.Context, store backend.Backend) error {
			_, err := store.CreateTopic(ctx, backend.NewTopic{Name: "orders", Partitions: 2})
			return err
		}))
	require.Empty(t, errs.String())
}

const someOffsets = `{"group":"billing","topic":"orders","partition":0,"offset":7,"time":"2026-01-02T15:04:05Z"}
{"group":"billing","topic":"orders","partition":1,"offset":9,"metadata":"x","time":"2026-01-02T15:04:05Z"}
{"group":"shipping","topic":"orders","partition":1,"offset":1,"time":"2026-01-02T15:04:05Z"}
`

// A folder without a store is not made one: an export of nothing would pass for that of
// the gateway, whose folder is another.
func TestOffsetsOfNoStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	for _, command := range []string{"export", "import"} {
		require.Equal(t, outcome{exitFailed, "", "kafka-gateway: storage.dir: there is no store in " + folder +
			": name that of the gateway, by its configuration (--config) or by --storage.dir\n"}, offsets(t, folder, someOffsets, command))
		require.NoDirExists(t, folder)
	}
}

func TestOffsetsInAndOut(t *testing.T) {
	folder := t.TempDir()
	makeTopic(t, folder)
	require.Equal(t, outcome{exitOK, "", "kafka-gateway: exported 0 committed offsets\n"}, offsets(t, folder, "", "export"))
	require.Equal(t, outcome{exitOK, "", "kafka-gateway: imported 3 committed offsets of 2 groups\n"}, offsets(t, folder, someOffsets, "import"))
	require.Equal(t, outcome{exitOK, someOffsets, "kafka-gateway: exported 3 committed offsets\n"}, offsets(t, folder, "", "export"))

	file := filepath.Join(t.TempDir(), "offsets.jsonl")
	require.Equal(t, outcome{exitOK, "", "kafka-gateway: exported 3 committed offsets\n"}, offsets(t, folder, "", "export", file))
	other := t.TempDir()
	makeTopic(t, other)
	require.Equal(t, exitOK, offsets(t, other, "", "import", file).code)
	require.Equal(t, someOffsets, offsets(t, other, "", "export").out)
}

// An import that is refused has changed nothing, and says everything that is wrong.
func TestImportIsRefused(t *testing.T) {
	folder := t.TempDir()
	makeTopic(t, folder)
	got := offsets(t, folder, someOffsets+"{}\nhello\n", "import")
	require.Equal(t, outcome{exitFailed, "", `kafka-gateway: standard input: line 4 needs either group or group_base64
kafka-gateway: standard input: line 5 is not a committed offset: invalid character 'h' looking for beginning of value
kafka-gateway: nothing was imported
`}, got)

	file := filepath.Join(t.TempDir(), "offsets.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(someOffsets+`{"group":"g","topic":"order","partition":0,"offset":7}`), 0o600))
	got = offsets(t, folder, "", "import", file)
	require.Equal(t, outcome{exitFailed, "", "kafka-gateway: " + file + ": line 4 names topic \"order\", which does not exist\nkafka-gateway: nothing was imported\n"}, got)
	require.Equal(t, outcome{exitOK, "", "kafka-gateway: exported 0 committed offsets\n"}, offsets(t, folder, "", "export"))

	got = offsets(t, folder, "", "import", folder+"/none")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, folder+"/none: no such file")
}

// The folder of a gateway that runs is its own.
func TestOffsetsOfARunningGateway(t *testing.T) {
	folder := t.TempDir()
	l, err := load("", nil, map[string]string{"storage.dir": folder, "log.level": "warn"})
	require.NoError(t, err)
	var errs bytes.Buffer
	require.NoError(t, program{err: &errs, modules: []fx.Option{gateway.Plugins()}}.withStore(t.Context(), l,
		func(context.Context, backend.Backend) error {
			require.Equal(t, outcome{exitFailed, "", "kafka-gateway: storage.dir " + folder +
				" is in use by another gateway: stop it, or give this one a directory of its own\n"}, offsets(t, folder, "", "export"))
			return nil
		}))
}

func TestSignalDuringExport(t *testing.T) {
	l, err := load("", nil, map[string]string{"storage.backend": "memory", "log.level": "warn"})
	require.NoError(t, err)
	signals := make(chan os.Signal, 1)
	err = program{err: &bytes.Buffer{}, signals: signals, modules: []fx.Option{gateway.Plugins()}}.withStore(t.Context(), l,
		func(ctx context.Context, _ backend.Backend) error {
			signals <- syscall.SIGTERM
			<-ctx.Done()
			return ctx.Err()
		})
	require.EqualError(t, err, "ended by a signal (terminated)")
}
