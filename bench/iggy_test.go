package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

func iggyAddress(server *iggytest.Process) string {
	return fmt.Sprintf("iggy://%s:%s@%s", iggytest.Username, iggytest.Password, server.Address())
}

// A gateway over an Iggy server is compared with the SDK over the same server,
// figure by figure.
func TestAgainstTheSDK(t *testing.T) {
	server := iggytest.Real(t)
	gateway := gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "kafka"))
	out := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, run(t.Context(), []string{
		"-only", "throughput", "-acks", "all", "-sizes", "1024,3000", "-bytes", "300000", "-batch", "20000", "-partitions", "3", "-clients", "2",
		"-json", out, gateway, iggyAddress(server),
	}))
	raw, err := os.ReadFile(out)
	require.NoError(t, err)
	for _, figure := range []string{"produce 1 KiB acks=all", "consume 3000 B acks=all"} {
		require.Contains(t, string(raw), figure)
	}
	require.Contains(t, string(raw), "ratio_a_to_b")
}

func TestNative(t *testing.T) {
	server := iggytest.Real(t)
	target, err := newTarget("A", gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "kafka")), "", cli.Connection{})
	require.NoError(t, err)
	o := defaults()
	o.native, o.duration = iggyAddress(server), 300*time.Millisecond
	got := map[string]float64{}
	require.NoError(t, native(t.Context(), target, o, func(figure, _ string, v float64) { got[figure] = v }))
	require.Positive(t, got["native record to consumer p50"])
}
