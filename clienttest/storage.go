package clienttest

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// The names of storages, and of the subtests that use them.
const (
	embedded = "embedded"
	iggy     = "iggy"
)

// Storage is where the gateways of a test keep records and offsets. The gateways that one Storage starts one
// after another find what the ones before them have left, if it is Lasting.
type Storage struct {
	Name string
	// folder is for the embedded store; where it is "" the files are in memory.
	folder string
	// address and stream are for an Iggy server.
	address, stream string
}

// EachStorage runs a test, as subtests and at the same time, for each place that a gateway can keep records in:
// the embedded store, in memory, and a real Iggy server. Where there is no iggy-server that subtest is skipped.
func EachStorage(t *testing.T, test func(t *testing.T, s Storage)) {
	t.Run(embedded, func(t *testing.T) {
		t.Parallel()
		test(t, Storage{Name: embedded})
	})
	t.Run(iggy, func(t *testing.T) {
		t.Parallel()
		server := iggytest.Shared(t)
		test(t, Storage{Name: iggy, address: server.Address(), stream: server.Stream()})
	})
}

// KeepsBatches says that record batches are stored as their producers made them, compression and producer id
// included. In Iggy a record is a message, and batches are made of messages when they are asked for.
func (s Storage) KeepsBatches() bool { return s.Name != iggy }

// Lasting returns the same kind of storage, empty, in a place that outlives the gateway.
func (s Storage) Lasting(t *testing.T) Storage {
	if s.Name == iggy {
		s.stream = iggytest.UniqueStream(t)
	} else {
		s.folder = t.TempDir()
	}
	return s
}

// configure points a gateway here.
func (s Storage) configure(c *app.Config) {
	switch {
	case s.Name == iggy:
		c.Storage.Backend = "iggy"
		c.Iggy.Address, c.Iggy.Username, c.Iggy.Password = s.address, iggytest.Username, iggytest.Password
		c.Iggy.Stream, c.Iggy.InternalStream = s.stream, s.stream+"-gateway"
		c.Iggy.RequestTimeout = patience // one server for all tests of a package is busy
	case s.folder != "":
		c.Storage.Backend, c.Storage.Dir = "embedded", s.folder
	}
}

// Flags are configure for the program.
func (s Storage) Flags() []string {
	if s.Name == iggy {
		return []string{
			"--storage.backend=iggy", "--iggy.address=" + s.address,
			"--iggy.username=" + iggytest.Username, "--iggy.password=" + iggytest.Password,
			"--iggy.stream=" + s.stream, "--iggy.internal_stream=" + s.stream + "-gateway",
		}
	}
	return []string{"--storage.dir=" + s.folder}
}

// Main is what TestMain calls: it runs the tests, ends what they share, and fails when goroutines are left.
func Main(m *testing.M, opts ...goleak.Option) {
	log.SetOutput(io.Discard) // where the Iggy SDK tells of each login
	iggytest.Main(m, opts...)
}
