// Package hostile is a client that no gateway wishes for: it mixes requests that make sense with ones that were damaged at random,
// on every key and version, over every kind of listener, before the login and after it, while good clients check that they notice
// nothing.
//
//	gate := hostile.Open(t, nil)          // a gateway with a listener of each protocol
//	for _, door := range gate.Doors() { … }  // the ways in: how far a connection has got
//
// What is sent is made from a seed, 1 unless it is set. Another one tries other things, and so does a longer run:
//
//	KAFKA_GATEWAY_HOSTILE=10m KAFKA_GATEWAY_HOSTILE_SEED=7 go test -race -timeout 20m -run TestHostileClients ./clienttest/hostile
//
// The heap, the goroutines, the sockets and the files that are left are measured in the middle and at the end. With
// KAFKA_GATEWAY_HOSTILE_PROFILES=folder there are profiles of what the heap has grown by:
//
//	go tool pprof -sample_index=inuse_space -top -diff_base folder/middle.pb.gz folder/after.pb.gz
package hostile
