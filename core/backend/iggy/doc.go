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
// # Files
//
// Begin with store.go, which has the types Store, topic and partition. Then there
// is a way for each thing that clients do:
//
//	module.go, config.go, options.go     how a program and tests make a Store
//	store.go, connect.go, check.go       start, end, and the look at the server's settings
//
//	look.go, catalog.go                  which topics there are: asked for, and remembered
//	entries.go, purge.go                 what is kept of each topic, and removed with it
//	topics.go, settings.go, names.go     topics changed; retention; the topic map
//
//	append.go, writer.go                 Append: conversion, the queue of a partition, the send
//	producers.go                         which batches are stored already, read from the tail
//	settle.go                            the end of a send, also of one whose reply was lost
//	first.go, readback.go                the first send after a restart of the server, made sure of
//	void.go, stale.go                    what was sent again, and is passed over
//
//	read.go, tail.go                     Read: from the cache of recent batches, or polled
//	ahead.go                             the next poll of a consumer that reads on
//	memory.go                            memory for copies of batches, lent and taken back
//	probe.go                             polls; where a log starts and ends
//	skip.go, salvage.go                  offsets that the server cannot read
//	watch.go, poller.go                  waiting for records; the look for those of native clients
//	times.go, leads.go, scan.go          offsets by time
//
//	offsets.go, groups.go                committed offsets, and their end; states of groups
//	trim.go                              DeleteRecords: starts that the gateway keeps
//	describe.go, disk.go                 producers, sizes and the place of logs, for tools
//	ids.go, ends.go                      cluster and producer ids; known ends
//	readmetrics.go                       metrics
//
// What Iggy 0.8.0 does that the code must know is written down where it is
// guarded against, and held against the real server by iggytest.
//
// # Promises
//
// What has been acknowledged is in the Iggy server; whether it survives the
// server's end is up to that server's settings, which the start looks at
// (docs/iggy.md). A batch of an idempotent producer is stored once, however
// often it is sent, over restarts of either side: the ids of the messages say
// which batches are there. What a kill of the server makes unreadable is sent again.
//
// # Errors
//
// While the server is away every method gives backend.ErrUnavailable at once;
// what was on its way gives backend.ErrOutcomeUnknown only when its caller can
// wait no longer.
package iggy
