package unregisterbroker

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, New(admintest.Node())) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, New(admintest.Node()), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, New(admintest.Node())) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: New(admintest.Node())}
	})
}
