package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) {
	t.Parallel()
	coordinatortest.Conform(t, func(_ *testing.T, cfg coordinator.Config) coordinator.Coordinator {
		return memory.New(cfg)
	})
}
