package faults

import (
	"testing"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// The coordinators that a gateway can have.
const (
	memory  = "memory"
	durable = "durable"
)

// eachCoordinator is eachServer with each coordinator.
func eachCoordinator(t *testing.T, test func(t *testing.T, iggy iggytest.Server, coordinator string)) {
	for _, coordinator := range []string{memory, durable} {
		t.Run(coordinator, func(t *testing.T) {
			eachServer(t, func(t *testing.T, iggy iggytest.Server) { test(t, iggy, coordinator) })
		})
	}
}

// eachServer runs a test with the stand-in and, where there is one, with the real server, which leaves data in the page
// cache: kill -9 does not lose that.
func eachServer(t *testing.T, test func(t *testing.T, iggy iggytest.Server)) {
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) { test(t, start(t, iggytest.NoFsync())) })
}
