package iggy

import (
	"testing"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// Looks for leaks as goleak.VerifyTestMain(m) does, and ends the shared server.
func TestMain(m *testing.M) { iggytest.Main(m) }
