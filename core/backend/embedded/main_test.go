package embedded_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		victim(dir)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
