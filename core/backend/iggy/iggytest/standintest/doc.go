// Package standintest is an Iggy server inside the test process: it speaks
// enough of the TCP protocol for the gateway's backend, answers as Iggy 0.8
// does, and makes mistakes on demand.
//
// The state is in memory and survives Kill and Start, as that of a server does
// that saves every message. What a server can lose or break is set up with the
// methods of Server (Lose, Tear, Expire), and what can happen to a connection
// with Inject.
package standintest
