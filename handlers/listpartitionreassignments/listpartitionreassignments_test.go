package listpartitionreassignments

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New()) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: New()}
	})
}
