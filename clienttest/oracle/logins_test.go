package oracle

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggykafka/gateway/core/sasl/sasltest"
)

// TestLoginsAgainstKafka holds the answers to raw logins, which the gateway is tested
// with in core/sasl, against a broker.
func TestLoginsAgainstKafka(t *testing.T) {
	addr := kafkaBroker(t).sasl
	if addr == "" {
		t.Skip("the broker was given without an address for logins")
	}
	datadriven.Walk(t, "../../core/sasl/testdata/kafka", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return sasltest.Flow(t, addr, strings.ReplaceAll(d.Input, "alice", user))
		})
	})
}
