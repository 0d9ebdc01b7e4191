package cli

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

// TestLoad runs the tools that write and read many records. Their figures differ from run to run, so only
// the counts are checked.
func TestLoad(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			classPath := install(t, version)
			clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) { load(t, classPath, addr) })
		})
	}
}

// load runs the tools of one version.
func load(t *testing.T, classPath, addr string) {
	tl := startTools(t, classPath)
	topic, verified := clienttest.Unique(t, "perf"), clienttest.Unique(t, "verified")
	for _, name := range []string{topic, verified} {
		tl.ok("", "kafka-topics", "--bootstrap-server", addr, "--create", "--topic", name, "--partitions", "3")
	}

	for _, codec := range clienttest.Codecs() { // with the tool's defaults: idempotent from 3.0 on
		out := tl.ok("", "kafka-producer-perf-test", "--topic", topic, "--num-records", "10000", "--record-size", "1000", "--throughput", "-1",
			"--producer-props", "bootstrap.servers="+addr, "compression.type="+codec)
		require.Contains(t, out, "10000 records sent")
	}
	out := tl.ok("", "kafka-consumer-perf-test", "--bootstrap-server", addr, "--topic", topic, "--messages", "50000", "--timeout", "60000")
	figures := strings.Split(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:], ", ")
	require.GreaterOrEqual(t, len(figures), 5, out)
	require.Equal(t, "50000", figures[4], out)

	// The verifiable tools finish their work when their process ends.
	out = runProcess(t, classPath, "kafka-verifiable-producer", "--bootstrap-server", addr, "--topic", verified, "--max-messages", "1000", "--acks", "-1")
	require.Equal(t, 1000, count(t, out, func(e event) bool { return e.Name == "producer_send_success" }))
	require.Equal(t, 0, count(t, out, func(e event) bool { return e.Name == "producer_send_error" }))

	out = runProcess(t, classPath, "kafka-verifiable-consumer", "--bootstrap-server", addr, "--topic", verified, "--group-id", clienttest.Unique(t, "verifier"),
		"--max-messages", "1000", "--session-timeout", "10000", "--verbose", "--reset-policy", "earliest")
	require.Equal(t, 1000, count(t, out, func(e event) bool { return e.Name == "record_data" }))
	require.Positive(t, count(t, out, func(e event) bool { return e.Name == "offsets_committed" && e.Success }))
	require.Equal(t, 0, count(t, out, func(e event) bool { return e.Name == "offsets_committed" && !e.Success }))

	out = tl.ok("", "kafka-broker-api-versions", "--bootstrap-server", addr)
	require.Contains(t, out, addr+" (id: 1 rack: null")
	require.Contains(t, out, "DescribeGroups(15): 0 to 6")
}

// event is a line of the verifiable tools.
type event struct {
	Name    string `json:"name"`
	Success bool   `json:"success"`
}

// count counts the events that match.
func count(t *testing.T, out string, match func(event) bool) int {
	n := 0
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var e event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e), lines.Text())
		if match(e) {
			n++
		}
	}
	return n
}

// TestTransactionsRefused: the gateway has no transactions. A Java producer must learn it at once, not by a timeout.
func TestTransactionsRefused(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("Kafka has transactions")
	}
	addr := clienttest.Address(t)
	tl := startTools(t, install(t, versions()[0]))
	topic := clienttest.Unique(t, "topic")
	tl.ok("", "kafka-topics", "--bootstrap-server", addr, "--create", "--topic", topic)
	began := time.Now()
	out := tl.run("", "kafka-producer-perf-test", "--topic", topic, "--num-records", "10", "--record-size", "10", "--throughput", "-1",
		"--producer-props", "bootstrap.servers="+addr, "--transactional-id", "refused", "--transaction-duration-ms", "1000")
	require.NotZero(t, out.code)
	require.Contains(t, out.stdout+out.stderr, "TransactionalIdAuthorizationException")
	require.Less(t, time.Since(began), 20*time.Second)
}
