// Package iggy is a backend in an Apache Iggy server: a Kafka topic is an Iggy
// topic, a record is a message, and its Kafka offset is its Iggy offset, so that
// native Iggy clients read what Kafka clients write and the other way round.
//
// # Rooms
//
//	client/    connections: a pool around the Go SDK
//	message/   record ↔ message, without I/O
//	journal/   what the gateway itself owns: committed offsets, configs, ids
//	iggytest/  servers for tests
//
// # Promises
//
// What has been acknowledged is in the Iggy server; whether it survives the
// server's end is up to that server's settings, which the start looks at
// (docs/iggy.md). A batch of an idempotent producer is stored once, however
// often it is sent, over restarts of either side: the ids of the messages say
// which batches are there.
//
// # Errors
//
// While the server is away every method gives backend.ErrUnavailable at once;
// what was on its way gives backend.ErrOutcomeUnknown only when its caller can
// wait no longer.
package iggy
