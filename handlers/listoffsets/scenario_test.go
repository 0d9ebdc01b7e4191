package listoffsets_test

import (
	"testing"

	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/listoffsets"
)

// The scenarios run on the log of five records that store describes.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		return handlertest.Env{Handler: listoffsets.New(store(t))}
	})
}
