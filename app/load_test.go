package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write puts text into a file of its own and returns the path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// faults loads a configuration that must be refused.
func faults(t *testing.T, yaml string, environ []string, flags map[string]string) (string, Faults) {
	t.Helper()
	path := ""
	if yaml != "" {
		path = write(t, yaml)
	}
	_, err := load(path, environ, flags)
	var f Faults
	require.ErrorAs(t, err, &f)
	return path, f
}

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	l, err := load("", nil, nil)
	require.NoError(t, err)
	require.Equal(t, DefaultConfig(), l.Config)
	require.Empty(t, l.origin)
}

func TestExampleFileIsTheDefaults(t *testing.T) {
	t.Parallel()
	l, err := load("../config.example.yaml", nil, nil)
	require.NoError(t, err)
	require.Equal(t, DefaultConfig(), l.Config)
	for _, f := range fieldsOf(&l.Config) {
		require.Equal(t, "file ../config.example.yaml", l.origin[f.key], f.key)
	}
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	t.Parallel()
	path := write(t, `
node_id: 3
storage:
  backend: memory
  dir: /from/file
groups:
  min_session_timeout: 1s
  max_roster_bytes: 2MiB
topics.auto_create: false
`)
	l, err := load(path,
		[]string{"PATH=/bin", "KAFKA_GATEWAY_STORAGE__DIR=/from/env", "KAFKA_GATEWAY_NODE_ID=4"},
		map[string]string{"node_id": "5", "admin.listen": "127.0.0.1:0"})
	require.NoError(t, err)

	want := DefaultConfig()
	want.NodeID = 5
	want.Storage.Backend = "memory"
	want.Storage.Dir = "/from/env"
	want.Groups.MinSessionTimeout = time.Second
	want.Groups.MaxRosterBytes = 2 << 20
	want.Topics.AutoCreate = false
	want.Admin.Listen = "127.0.0.1:0"
	require.Equal(t, want, l.Config)
	require.Equal(t, map[string]string{
		"node_id":                    "flag --node_id",
		"storage.backend":            "file " + path,
		"storage.dir":                "env KAFKA_GATEWAY_STORAGE__DIR",
		"groups.min_session_timeout": "file " + path,
		"groups.max_roster_bytes":    "file " + path,
		"topics.auto_create":         "file " + path,
		"admin.listen":               "flag --admin.listen",
	}, l.origin)
}

func TestAllFaultsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	path, found := faults(t, `
storage:
  backend: tape
  folder: /data
groups:
  min_session_timeout: 5
  max_members: 0
fetch: 12
log: {}
admin:
`,
		[]string{"KAFKA_GATEWAY_STORAGE_DIR=x", "KAFKA_GATEWAY_TOPICS__AUTO_CREATE=perhaps"},
		map[string]string{"message.max_bytes": "12 parsecs", "node_id": "99999999999"})
	require.Equal(t, Faults{
		`fetch: is a section; set the keys in it, such as fetch.max_bytes (file ` + path + `)`,
		`groups.min_session_timeout: "5" is not a duration; write a number and a unit, such as 500ms, 30s, 5m or 24h (file ` + path + `)`,
		"storage.folder: unknown key; `kafka-gateway config` lists all keys (file " + path + `)`,
		"storage_dir: unknown key; write storage.dir, which is KAFKA_GATEWAY_STORAGE__DIR in the environment (env KAFKA_GATEWAY_STORAGE_DIR)",
		`topics.auto_create: "perhaps" is not true or false (env KAFKA_GATEWAY_TOPICS__AUTO_CREATE)`,
		`message.max_bytes: "12 parsecs" is not a size; write bytes, such as 1048576, or a number and a unit: KiB, MiB or GiB (flag --message.max_bytes)`,
		`node_id: "99999999999" is not a whole number from 0 to 2147483647 (flag --node_id)`,
		`groups.max_members: 0 is out of range; set 1 to 9223372036854775807 (file ` + path + `)`,
		`storage.backend: "tape" is none of embedded, memory, iggy (file ` + path + `)`,
	}, found)
}

func TestOneFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		yaml  string
		flags map[string]string
		fault string
	}{
		{"a list where a value belongs", "node_id: [1, 2]", nil, "node_id: takes one value, not a list or a section"},
		{"a section where a value belongs", "node_id: {a: 1}", nil, "node_id.a: unknown key"},
		{"no value", "node_id:", nil, "node_id: has no value; give it one or leave the key out"},
		{"a fraction", "node_id: 1.5", nil, "node_id: 1.5 is not a whole number"},
		{"no folder", "storage: {dir: ''}", nil, "storage.dir: must name a directory"},
		{"log level", "log: {level: loud}", nil, `log.level: "loud" is none of debug, info, warn, error`},
		{"log format", "log: {format: xml}", nil, `log.format: "xml" is none of console, json`},
		{"negative delay", "groups: {initial_rebalance_delay: -1s}", nil, "groups.initial_rebalance_delay: -1s is out of range; set 0s to 876000h"},
		{"session bounds crossed", "groups: {min_session_timeout: 2h}", nil, "groups.min_session_timeout: 2h is above groups.max_session_timeout, 30m; lower it or raise that"},
		{"admin address", "admin: {listen: localhost}", nil, `admin.listen: "localhost" is not an address; write host:port, such as 127.0.0.1:9644`},
		{"no room for one request", "memory_budget: 1MiB", nil, "memory_budget: 1048576 is below max_frame_size + request_memory"},
		{"no room for one answer", "{memory_budget: 165MiB, fetch: {max_bytes: 90MiB}}", nil, "memory_budget: 173015040 is below twice fetch.max_bytes, 188743680"},
		{"no single address", "listen: 0.0.0.0:9092", nil, "listen: \"0.0.0.0:9092\" names no single address"},
		{"a size that overflows", "", map[string]string{"message.max_bytes": "4GiB"}, `message.max_bytes: "4GiB" is not a size`},
		{"a size that overflows 64 bits", "", map[string]string{"groups.memory_budget": "99999999999GiB"}, `groups.memory_budget: "99999999999GiB" is not a size`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, found := faults(t, c.yaml, nil, c.flags)
			require.Len(t, found, 1)
			require.Contains(t, found[0], c.fault)
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := load("/no/such/file.yaml", nil, nil)
	require.EqualError(t, err, "/no/such/file.yaml: no such file or directory; --config and KAFKA_GATEWAY_CONFIG name a YAML file")

	for _, yaml := range []string{"a: b: c", "- a\n- b", "node_id: 1\nnode_id: 2", "\t"} {
		path, found := faults(t, yaml, nil, nil)
		require.Len(t, found, 1, yaml)
		require.Contains(t, found[0], path+": ")
		require.Contains(t, found[0], "config.example.yaml shows how it is written")
		require.NotContains(t, found[0], "\n")
	}
}

// A service named kafka-gateway gives every container of its namespace such
// variables, and people have some of ours for other commands; none is a key.
func TestVariablesOfOthers(t *testing.T) {
	t.Parallel()
	_, err := load("", []string{
		"KAFKA_GATEWAY_SERVICE_HOST=10.0.0.1", "KAFKA_GATEWAY_SERVICE_PORT=9092", "KAFKA_GATEWAY_SERVICE_PORT_KAFKA=9092",
		"KAFKA_GATEWAY_PORT=tcp://10.0.0.1:9092", "KAFKA_GATEWAY_PORT_9092_TCP=tcp://10.0.0.1:9092",
		"KAFKA_GATEWAY_PORT_9092_TCP_ADDR=10.0.0.1", "KAFKA_GATEWAY_CONFIG=/etc/gateway.yaml", "KAFKA_GATEWAY_TEST_CACHE=x",
		"KAFKA_GATEWAY_BOOTSTRAP=10.0.0.1:9092", // of topics, groups and offsets list
	}, nil)
	require.NoError(t, err)
}

func TestValuesReadBackAsWritten(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	for _, f := range fieldsOf(&config) {
		back := DefaultConfig()
		for _, g := range fieldsOf(&back) {
			if g.key == f.key {
				g.value.SetZero()
				require.NoError(t, setField(g, formatField(f)), f.key)
			}
		}
		require.Equal(t, config, back, f.key)
	}
}

func TestSizesAndDurations(t *testing.T) {
	t.Parallel()
	for text, bytes := range map[string]int64{"0": 0, "1048588": 1048588, "64KiB": 65536, "1 MiB": 1 << 20, "2GiB": 2 << 30, "-1": -1} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, bytes, got, text)
	}
	for _, text := range []string{"", "MiB", "1.5MiB", "1MB", "1kib", "one"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "1048588", formatSize(1048588))
	require.Equal(t, "55MiB", formatSize(57671680))
	require.Equal(t, "0", formatSize(0))
	require.Equal(t, "24h", formatDuration(24*time.Hour))
	require.Equal(t, "1h30m", formatDuration(90*time.Minute))
	require.Equal(t, "10s", formatDuration(10*time.Second))
	require.Equal(t, "1m30s", formatDuration(90*time.Second))
	require.Equal(t, "0s", formatDuration(0))
}

// A password that YAML takes for something else is not shown.
func TestYAMLWithoutQuotes(t *testing.T) {
	t.Parallel()
	for content, why := range map[string]string{
		"iggy: {password: *hunter2}\n":      "yaml: a value that begins with * is not in quotes",
		"hunter2\n":                         "cannot unmarshal !!str a value into",
		"iggy: {password: !!int hunter2}\n": "a value",
	} {
		_, found := faults(t, content, nil, nil)
		require.Len(t, found, 1)
		require.Contains(t, found[0], why)
		require.NotContains(t, found[0], "hunter")
	}
}
