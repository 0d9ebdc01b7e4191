package cli

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

// TestRenewal has a Java producer and a Java consumer work on while the logins of their connections end, after 2 s each:
// each record is acknowledged and consumed, and nobody is sent away.
func TestRenewal(t *testing.T) {
	t.Parallel()
	const records = 400 // 20 s long: time for three renewals on a machine that does other work, too
	classPath := install(t, versions()[0])
	server := secured.Start(t, 2*time.Second)
	_, err := clienttest.NewObserver(t, server.Open).Admin.CreateTopic(t.Context(), 3, 1, nil, "orders")
	require.NoError(t, err)
	start := func(tool, mechanism string, more map[string]string, args ...string) *process {
		l := server.Login(t, mechanism, secured.Alice)
		args = append([]string{tool, "--bootstrap-server", l.Address, "--topic", "orders", "--command-config", l.Properties(t, more)}, args...)
		return startJava(t, withOptions(java(classPath, "Tools", args...), []string{"-D" + secured.AllowedURLs + "=" + server.TokenURLs()}))
	}
	consumer := start("kafka-verifiable-consumer", secured.OAuthBearer, nil, "--group-id", "billing",
		"--session-timeout", "6000", "--reset-policy", "earliest", "--verbose")
	producer := start("kafka-verifiable-producer", secured.Scram512, map[string]string{"enable.idempotence": "true", "retries": "2147483647"},
		"--acks", "-1", "--max-messages", strconv.Itoa(records), "--throughput", "20")

	producer.wait()
	require.Equal(t, records, count(t, producer.text(), func(e event) bool { return e.Name == "producer_send_success" }), producer.text())
	consumed := func() int {
		values := map[string]bool{}
		for line := range strings.Lines(consumer.text()) {
			var e struct{ Name, Value string }
			if json.Unmarshal([]byte(line), &e) == nil && e.Name == "record_data" { // the last line may not be whole yet
				values[e.Value] = true
			}
		}
		return len(values)
	}
	clienttest.Await(t, "all records", func() bool { return consumed() == records })
	clienttest.Await(t, "the consumer's logins to be renewed", func() bool { return server.Renewals(t, secured.OAuthBearer) >= 3 })
	require.GreaterOrEqual(t, server.Renewals(t, secured.Scram512), 3)
	require.Zero(t, server.Expired(t))
}
