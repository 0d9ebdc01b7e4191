// Package oracle compares the gateway with Apache Kafka: the same stream of raw
// requests goes to a real broker and to the gateway, at every version that the
// gateway serves, and the answers are compared field by field. What may differ
// is listed, with the reason, in allowed_test.go; an entry that no longer
// occurs fails the test as well, so that the list stays true.
//
// A stream is a list of steps. A step builds its request for each side anew,
// because ids (of topics, members, producers) differ from side to side: what an
// answer hands out is captured and shown by a symbol in the comparison.
package oracle
