package app

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/core/server"
)

// Sections with names of the user's choice come from all sources, each key on its
// own, over the defaults of their type.
func TestListenersFromAllSources(t *testing.T) {
	t.Parallel()
	path := write(t, `
listen: ""
listeners:
  external: {listen: "10.0.0.1:9093", advertise: kafka.example.com, mechanisms: [PLAIN, SCRAM-SHA-256]}
  inside: {listen: "127.0.0.1:9092"}
`)
	l, err := load(path,
		[]string{"KAFKA_GATEWAY_LISTENERS__EXTERNAL__PROTOCOL=SASL_SSL", "KAFKA_GATEWAY_LISTENERS__THIRD__LISTEN=127.0.0.1:1"},
		map[string]string{"listeners.external.listen": "10.0.0.1:19093", "listeners.third.max_connections": "7"})
	require.NoError(t, err)
	require.Equal(t, map[string]server.ListenerConfig{
		"external": {Listen: "10.0.0.1:19093", Advertise: "kafka.example.com", Protocol: "SASL_SSL", Mechanisms: []string{"PLAIN", "SCRAM-SHA-256"}},
		"inside":   {Listen: "127.0.0.1:9092", Protocol: "PLAINTEXT"},
		"third":    {Listen: "127.0.0.1:1", Protocol: "PLAINTEXT", MaxConnections: 7},
	}, l.Server.Listeners)
	require.Equal(t, map[string]string{
		"listen":                          "file " + path,
		"listeners.external.listen":       "flag --listeners.external.listen",
		"listeners.external.advertise":    "file " + path,
		"listeners.external.protocol":     "env KAFKA_GATEWAY_LISTENERS__EXTERNAL__PROTOCOL",
		"listeners.external.mechanisms":   "file " + path,
		"listeners.inside.listen":         "file " + path,
		"listeners.third.listen":          "env KAFKA_GATEWAY_LISTENERS__THIRD__LISTEN",
		"listeners.third.max_connections": "flag --listeners.third.max_connections",
	}, l.origin)
	require.Nil(t, DefaultConfig().Server.Listeners)
}

func TestFaultsOfListeners(t *testing.T) {
	t.Parallel()
	path, found := faults(t, `
listeners:
  Upper: {listen: "127.0.0.1:1"}
  empty: {}
  number: 12
  typo: {listen: "127.0.0.1:2", lisen: x, max_connections: many}
`, []string{"KAFKA_GATEWAY_LISTENERS__SAME__LISTEN=0.0.0.0:9092"}, map[string]string{"listeners.same.max_connections": "-1"})
	from := " (file " + path + ")"
	require.Equal(t, Faults{
		"listeners.number: is a section; set the keys in it, such as listeners.number.advertise" + from,
		"listeners.typo.lisen: unknown key; `kafka-gateway config` lists all keys" + from,
		`listeners.typo.max_connections: "many" is not a whole number from 0 to 9223372036854775807` + from,
		`listeners.Upper.listen: "Upper" is no name for a listener; write lower-case letters, digits, - and _, a letter first` + from,
		"listeners.empty.listen: is missing; set the address to listen on, host:port (default)",
		"listeners.number.listen: is missing; set the address to listen on, host:port (default)",
		`listeners.same.listen: "0.0.0.0:9092" names no single address that clients could be told; set listeners.same.advertise to the host:port they reach (env KAFKA_GATEWAY_LISTENERS__SAME__LISTEN)`,
		"listeners.same.max_connections: -1 is negative (flag --listeners.same.max_connections)",
		`listeners.same.listen: "0.0.0.0:9092" is the port of listen, "127.0.0.1:9092", too; each listener needs its own (env KAFKA_GATEWAY_LISTENERS__SAME__LISTEN)`,
	}, found)

	path, found = faults(t, "listeners: 12", nil, nil)
	require.Equal(t, Faults{"listeners: is a section of sections; give each a name, and set the keys in it, such as listeners.NAME.advertise (file " + path + ")"}, found)
	_, err := load(write(t, "listeners:\n"), nil, nil)
	require.NoError(t, err, "all is commented out")
}

// Flags of listeners are flags like all others; config shows what they say, and help
// and the example how they are written.
func TestFlagsOfListeners(t *testing.T) {
	t.Parallel()
	got := execute("config", "--listeners.external.listen", "127.0.0.1:9093", "--listeners.external.protocol=SSL")
	require.Equal(t, exitOK, got.code, got.err)
	var rows [][]string
	for line := range strings.Lines(got.out) {
		rows = append(rows, strings.Fields(line))
	}
	require.Contains(t, rows, []string{"listeners.external.listen", `"127.0.0.1:9093"`, "flag", "--listeners.external.listen"})
	require.Contains(t, rows, []string{"listeners.external.protocol", "SSL", "flag", "--listeners.external.protocol"})
	require.Contains(t, rows, []string{"listeners.external.mechanisms", "[]", "default"})

	got = execute("--listeners.external.lisen", "127.0.0.1:9093")
	require.Equal(t, outcome{exitUsage, "", "kafka-gateway: unknown flag: --listeners.external.lisen; see kafka-gateway --help\n"}, got)
	require.Contains(t, execute("--help").out, "\n  --listeners.NAME.listen TEXT\n        The address to listen on")
	require.Contains(t, execute("config", "--example").out, "\nlisteners:\n  # NAME:\n")
	for _, f := range documented() {
		require.NotEmpty(t, f.doc, f.key)
	}
}

// The ready line names every listener, and ends in the address of the first.
func TestReadyLineOfListeners(t *testing.T) {
	r := serveWith(t, []fx.Option{gateway.Plugins()}, "--listeners.second.listen=127.0.0.1:0", "--listeners.third.listen=127.0.0.1:0")
	const port = `:[1-9][0-9]*`
	require.Regexp(t, `^kafka-gateway is ready on second PLAINTEXT 127\.0\.0\.1`+port+`, third PLAINTEXT 127\.0\.0\.1`+port+
		`, default PLAINTEXT 127\.0\.0\.1`+port+`\n$`, r.ready)
	r.signals <- syscall.SIGTERM
	require.Equal(t, exitOK, <-r.ended)
	require.Empty(t, r.err.String())
}

// The admin listener is no listener of Kafka clients, and needs a port of its own as well.
func TestPortOfAdmin(t *testing.T) {
	t.Parallel()
	path, found := faults(t, "{admin: {listen: '127.0.0.1:9095'}, listeners: {other: {listen: '0.0.0.0:9095', advertise: x}}}", nil, nil)
	require.Equal(t, Faults{
		`admin.listen: "127.0.0.1:9095" is the port of listeners.other.listen, "0.0.0.0:9095", too; the admin listener needs its own (file ` + path + ")",
	}, found)
	_, err := load(write(t, "{admin: {listen: ''}, listen: '127.0.0.1:0'}"), nil, nil)
	require.NoError(t, err)
	_, err = load(write(t, "{admin: {listen: '127.0.0.1:0'}, listen: '127.0.0.1:0'}"), nil, nil)
	require.NoError(t, err, "free ports")
}
