// Package faults kills and pauses a gateway and the Iggy server behind it, each a process of its own, under the
// load of producers and of a consumer group, and looks for what was lost, doubled or left standing.
//
// KAFKA_GATEWAY_TEST_ROUNDS is the number of kills (default 3; 30 takes minutes), KAFKA_GATEWAY_TEST_PAUSE how
// long Iggy is paused (default 5s).
package faults
