package updatefeatures

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open() handler.Handler { return New(&settings.Node{ID: 1}) }

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open()) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env { return handlertest.Env{Handler: open()} })
}

func TestReserve(t *testing.T) {
	t.Parallel()
	handlertest.Spent(t, open(), &kmsg.UpdateFeaturesRequest{FeatureUpdates: []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "f"}}})
}
