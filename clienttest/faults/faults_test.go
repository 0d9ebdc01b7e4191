package faults

import (
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/clienttest"
)

// role makes this test binary the gateway, so that it can be killed. It ends with the test that started it, at
// which its standard input ends.
const role = "KAFKA_GATEWAY_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "gateway" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		app.Main(gateway.Plugins())
	}
	clienttest.Main(m)
}

// patience is how long is waited for what must come.
const patience = time.Minute

// rounds is the number of kills.
func rounds(t *testing.T) int {
	text := os.Getenv("KAFKA_GATEWAY_TEST_ROUNDS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "KAFKA_GATEWAY_TEST_ROUNDS")
	return n
}

// pause is how long Iggy is paused.
func pause(t *testing.T) time.Duration {
	text := os.Getenv("KAFKA_GATEWAY_TEST_PAUSE")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "KAFKA_GATEWAY_TEST_PAUSE")
	return d
}
