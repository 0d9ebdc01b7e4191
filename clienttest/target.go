package clienttest

import (
	"os"
	"testing"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// addressVar names the variable that points the tests at a running broker.
const addressVar = "KAFKA_GATEWAY_TEST_ADDR"

// Address returns the bootstrap address to test: the broker that KAFKA_GATEWAY_TEST_ADDR names, else a
// gateway started for this test and stopped at its end. The gateway shows client ids and hosts of group
// members, as Kafka always does.
func Address(t testing.TB) string {
	t.Helper()
	if addr, ok := Broker(); ok {
		return addr
	}
	return gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Groups.RetainClientIdentity = true }))
}

// Broker returns the address that KAFKA_GATEWAY_TEST_ADDR names, if it is set.
func Broker() (string, bool) {
	addr := os.Getenv(addressVar)
	return addr, addr != ""
}
