package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// What moves a terminal's cursor, changes its colours, or turns the line: ESC,
// the one-byte CSI of C1, a carriage return, right-to-left override, nothing to
// be seen, and bytes that are no text.
const hostile = "g\x1b[2J\u009b31m\r\t\u202e\u200b\x7f\xff"

// requirePlain fails the test when a text holds what a terminal obeys.
func requirePlain(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		require.True(t, r == '\n' || unicode.IsGraphic(r), "%q in %q", r, text)
	}
}

// Names that strangers chose arrive at the terminal as something to look at; JSON
// keeps what they are.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Groups.Coordinator = "durable" }))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(t.Context(), 1, 1, nil, "orders")
	require.NoError(t, err)
	name := strings.ToValidUTF8(hostile, "\U0001f600")
	require.NoError(t, admin.CommitAllOffsets(t.Context(), name, kadm.OffsetsFromRecords(kgo.Record{Topic: "orders"})))

	for _, command := range [][]string{{"groups", "list"}, {"groups", "describe", "--all"}, {"groups", "describe", name}} {
		text, err := execute(t, append(command, "--bootstrap", addr)...)
		require.NoError(t, err)
		require.Contains(t, text, "g\ufffd[2J\ufffd31m")
		requirePlain(t, text)

		text, err = execute(t, append(command, "--bootstrap", addr, "--json")...)
		require.NoError(t, err)
		requirePlain(t, text)
		var found []struct{ Group string }
		require.NoError(t, json.Unmarshal([]byte(text), &found))
		require.Equal(t, name, found[0].Group)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "g�[2J�31m������", cli.Printable(hostile))
	require.Equal(t, "größe 数 🙂", cli.Printable("größe 数 🙂"))
	var out strings.Builder
	require.NoError(t, cli.WriteJSON(&out, []string{"\u009b\U000e0001<é\t"}))
	require.Equal(t, "[\n  \"\\u009b\\udb40\\udc01<é\\t\"\n]\n", out.String())
}
