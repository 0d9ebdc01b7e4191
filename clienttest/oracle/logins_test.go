package oracle

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggykafka/gateway/core/sasl/sasltest"
)

// TestLoginsAgainstKafka holds the answers to raw logins, which the gateway is tested
// with in core/sasl, against a broker: first logins, and those that end and are renewed
// (KIP-368).
func TestLoginsAgainstKafka(t *testing.T) {
	kafka := kafkaBroker(t)
	hold := func(name, addr string) {
		t.Run(name, func(t *testing.T) {
			if addr == "" {
				t.Skip("the broker was given without this address")
			}
			datadriven.Walk(t, "../../core/sasl/testdata/"+name, func(t *testing.T, path string) {
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					return sasltest.Flow(t, addr, strings.ReplaceAll(d.Input, "alice", user))
				})
			})
		})
	}
	hold("plaintext", kafka.plain)
	hold("kafka", kafka.sasl)
	hold("renewed", kafka.renewed)
	hold("ends", kafka.ends)
}
