package iggy

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// Looks for leaks as goleak.VerifyTestMain(m) does, and ends the shared server.
func TestMain(m *testing.M) {
	// Sarama starts it and has no end for it.
	iggytest.Main(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
