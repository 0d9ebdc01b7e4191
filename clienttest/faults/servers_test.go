package faults

import (
	"testing"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// eachServer runs a test with the stand-in and, where there is one, with the real server, which leaves data in the page
// cache: kill -9 does not lose that.
func eachServer(t *testing.T, test func(t *testing.T, iggy iggytest.Server)) {
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) { test(t, start(t, iggytest.NoFsync())) })
}
