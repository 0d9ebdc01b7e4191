package gettelemetrysubscriptions

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open() handler.Handler { return New(telemetry.New(telemetry.DefaultConfig(), time.Now)) }

func TestConform(t *testing.T) { handlertest.Conform(t, open()) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, open(), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, open()) }

// The ids of a new client are random.
var randomIDs = regexp.MustCompile(`ClientInstanceID: "?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[^\n]*\nSubscriptionID: [^\n]*`)

// The command "advance" lets time pass.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		now := time.UnixMilli(1_700_000_000_000)
		cfg := telemetry.DefaultConfig()
		if !strings.Contains(t.Name(), "none") {
			cfg.Metrics = "org.apache.kafka.consumer., org.apache.kafka.producer."
		}
		return handlertest.Env{
			Handler: New(telemetry.New(cfg, func() time.Time { return now })),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"advance": func(t *testing.T, d *datadriven.TestData) string {
					var by string
					d.ScanArgs(t, "by", &by)
					step, err := time.ParseDuration(by)
					require.NoError(t, err)
					now = now.Add(step)
					return "ok"
				},
			},
			Normalize: func(text string) string {
				return randomIDs.ReplaceAllString(text, "ClientInstanceID: a new one\nSubscriptionID: one of its own")
			},
		}
	})
}

// Clients are told of the key only when they are to push something.
func TestHidden(t *testing.T) {
	t.Parallel()
	require.True(t, open().Spec().Hidden)
	cfg := telemetry.DefaultConfig()
	cfg.Metrics = "*"
	require.False(t, New(telemetry.New(cfg, time.Now)).Spec().Hidden)
}
