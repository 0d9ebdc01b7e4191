// Package clienttest runs the gateway against real Kafka clients.
//
// Each folder below holds one family of clients, pinned to exact versions. A family adapts its library to
// Client and Member, says in Traits what the library cannot do, and calls Run: the scenarios and every
// expected value stand here, once, so that all clients are held to the same behaviour. Clients in other
// languages are small scripts that speak one JSON object a line (see Script); the Kafka command-line tools
// have golden files instead (see folder cli).
//
// What a test needs is installed by the test itself from the package registries, into .cache at the root of
// the repository or the folder that KAFKA_GATEWAY_TEST_CACHE names. A machine without the needed runtime
// (java, node, …) skips the test and names the runtime; with CI=true it fails instead (see NeedCommand).
//
// Tests run on each Storage: the embedded store, and a real Iggy server where there is one.
//
// With KAFKA_GATEWAY_TEST_ADDR=host:port the tests talk to that broker instead of a gateway they start. Run
// them once against a Kafka broker after a change here: that proves the tests.
package clienttest
