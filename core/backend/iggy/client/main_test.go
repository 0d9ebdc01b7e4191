package client

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	quiet()
	goleak.VerifyTestMain(m)
}
