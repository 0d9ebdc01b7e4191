package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy"
)

// What logs the gateway in is nobody else's business: not of those who look at
// the configuration, nor of those who read what is wrong with it.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	path := write(t, "iggy: {token: hunter2}")
	environ := []string{"KAFKA_GATEWAY_IGGY__PASSWORD=hunter3", "KAFKA_GATEWAY_CONFIG=" + path}
	got := executeWith(environ, "config", "--iggy.username=gateway", "--storage.backend=iggy")
	require.Equal(t, exitOK, got.code, got.err)
	require.NotContains(t, got.out, "hunter")
	var rows []string
	for line := range strings.Lines(got.out) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	require.Contains(t, rows, "iggy.username gateway flag --iggy.username")
	require.Contains(t, rows, "iggy.password (not shown) env KAFKA_GATEWAY_IGGY__PASSWORD")
	require.Contains(t, rows, "iggy.token (not shown) file "+path)
	require.Regexp(t, `\niggy\.token +"" +default\n`, executeWith(nil, "config").out)

	got = executeWith(environ, "config", "--iggy.address=", "--iggy.connections.send=0", "--storage.backend=iggy")
	require.Equal(t, exitFailed, got.code)
	require.NotContains(t, got.err, "hunter")
}

// YAML makes a number of what looks like one, and not the number that was meant.
func TestSecretsAreText(t *testing.T) {
	t.Parallel()
	path, found := faults(t, "iggy: {password: 0123, token: 0x10}", nil, nil)
	require.Equal(t, Faults{
		"iggy.password: is not text; write it in quotes (file " + path + ")",
		"iggy.token: is not text; write it in quotes (file " + path + ")",
	}, found)
	l, err := load(write(t, `iggy: {password: "0123"}`), nil, nil)
	require.NoError(t, err)
	require.Equal(t, "0123", l.Iggy.Password)
}

func TestSectionIggy(t *testing.T) {
	t.Parallel()
	l, err := load(write(t, `
storage: {backend: iggy}
iggy:
  address: iggy.internal:8090
  tls: {enabled: true, server_name: iggy}
  connections:
    send: 8
  cache_bytes: 1GiB
`), []string{"KAFKA_GATEWAY_IGGY__TLS__CA_FILE=/ca.pem", "KAFKA_GATEWAY_IGGY__CONNECTIONS__POLL=2"},
		map[string]string{"iggy.request_timeout": "2s", "iggy.sole_writer": "true"})
	require.NoError(t, err)
	want := iggy.DefaultConfig()
	want.Address, want.TLS.Enabled, want.TLS.ServerName, want.TLS.CAFile = "iggy.internal:8090", true, "iggy", "/ca.pem"
	want.Connections.Send, want.Connections.Poll = 8, 2
	want.CacheBytes, want.RequestTimeout, want.SoleWriter = 1<<30, 2e9, true
	require.Equal(t, want, l.Iggy)
}

// Nothing is said about the keys of a backend that is not used.
func TestKeysOfOtherBackendsAreNotLookedAt(t *testing.T) {
	t.Parallel()
	_, err := load(write(t, "{storage: {backend: iggy, dir: '', open_files: 0, retention_interval: 0s}}"), nil, nil)
	require.NoError(t, err)
	_, err = load(write(t, "{iggy: {address: '', request_timeout: 0s, connections: {send: -1}}}"), nil, nil)
	require.NoError(t, err)
}
