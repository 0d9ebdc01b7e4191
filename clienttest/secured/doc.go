// Package secured is a gateway that clients have to log in to, with everything that a client needs for it: an
// authority, certificates, users, passwords and tokens, made for one test.
//
//	server := secured.Start(t)
//	for _, login := range server.Logins() { … }     // each way in that there is
//	for _, fault := range server.Faults() { … }     // and each way to stay outside
//
// A Login says where to connect and what to show; it knows how Java, librdkafka and Go's TLS want to be told.
// Settings of one library alone stand with the tests of that library.
//
// Where KAFKA_GATEWAY_TEST_SECURED names a folder with the jars of a Kafka broker, that takes the gateway's place, with the
// same listeners, users and certificates, which proves the tests.
package secured
