// Package iggytest has Iggy servers for tests: the real one, started as a process
// of its own, and a stand-in that speaks enough of the protocol for the gateway
// and injects faults.
package iggytest

// Credentials of every server of this package.
const (
	Username = "iggy"
	Password = "iggy-secret"
)

// Server is a server under a test's control. It runs when a test gets it, on
// 127.0.0.1 and a port of its own, and has ended when the test has.
type Server interface {
	// Address is host:port, the same after every Restart.
	Address() string
	// Kill ends the server at once, as kill -9 does, and returns when it is gone.
	Kill()
	// Stop ends it in order.
	Stop()
	// Start starts it again over the same data and returns when it accepts
	// connections.
	Start()
	// Pause stops it where it stands (SIGSTOP): connections stay open and
	// silent. Resume lets it go on.
	Pause()
	Resume()
	// Tear ends it as a kill does that comes between the writes of a message and
	// of its index, and starts it again: a message that nobody sent, and that was
	// never answered, is in the log beyond its end. The message that is sent next
	// gets that offset, and every poll by offset whose range touches it is
	// refused from then on (4100 or 4027). A poll by timestamp is not refused and
	// returns the bytes of both. A message that is the first of a segment keeps
	// its offset, and none that follow in the segment are found under theirs.
	// Nothing else may send to the partition meanwhile.
	Tear(stream, topic string, partition uint32)
}
