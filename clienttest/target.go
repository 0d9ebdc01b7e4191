package clienttest

import (
	"os"
	"testing"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// addressVar names the variable that points the tests at a running broker.
const addressVar = "KAFKA_GATEWAY_TEST_ADDR"

// Each runs a test against the broker that KAFKA_GATEWAY_TEST_ADDR names, else, as subtests and at the same
// time, against one gateway for each Storage. It hands over the bootstrap address.
func Each(t *testing.T, test func(t *testing.T, s Storage, addr string)) {
	if addr, ok := Broker(); ok {
		test(t, Storage{Name: "broker"}, addr)
		return
	}
	EachStorage(t, func(t *testing.T, s Storage) { test(t, s, s.Start(t)) })
}

// Address returns the bootstrap address for tests that run once, where the storage makes no difference: the
// broker that KAFKA_GATEWAY_TEST_ADDR names, else a gateway started for this test and stopped at its end.
func Address(t testing.TB) string {
	t.Helper()
	if addr, ok := Broker(); ok {
		return addr
	}
	return Storage{Name: embedded}.Start(t)
}

// Broker returns the address that KAFKA_GATEWAY_TEST_ADDR names, if it is set.
func Broker() (string, bool) {
	addr := os.Getenv(addressVar)
	return addr, addr != ""
}

// Start runs a gateway until the end of the test and returns its address. It shows client ids and hosts of group
// members, as Kafka always does. Each change may set more.
func (s Storage) Start(t testing.TB, changes ...func(*app.Config)) string {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) {
		c.Groups.RetainClientIdentity = "true"
		s.configure(c)
		for _, change := range changes {
			change(c)
		}
	}))
}
