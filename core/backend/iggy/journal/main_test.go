package journal

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the SDK's lines
	goleak.VerifyTestMain(m)
}
