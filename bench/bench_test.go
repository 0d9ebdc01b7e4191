package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every measurement works, on little load. The figures themselves are not a
// test's business.
func TestMeasurements(t *testing.T) {
	o := options{
		rounds: 1, bytes: 256 << 10, rate: 200, duration: 100 * time.Millisecond, requests: 50,
		groups: 20, live: 5, idle: 20, members: []int{3}, sizes: []int{100, 64 << 10}, partition: 2, clients: 2, acks: []string{"0", "1", "all"}, batch: 1 << 20,
		good: 3, flood: 40, stall: 50 * time.Millisecond, attackers: attackersHere,
	}
	want := map[string][]string{
		"throughput": {"produce 100 B acks=0", "consume 100 B acks=all", "produce 64 KiB acks=1"},
		"latency":    {"end to end p50 at 200/s", "end to end p99.9 at 200/s"},
		"cleaning":   {"end to end p99 at 200/s, while a log is compacted", "compacted meanwhile", "end to end p50 at 200/s, while records are deleted"},
		"roundtrip":  {"round trip ApiVersions p50", "round trip Heartbeat p99", "round trip Fetch p50"},
		"groups":     {"20 groups to Stable", "ListGroups of 20 groups", "DescribeGroups of 20 groups"},
		"kept":       {"20 groups to Empty", "ListGroups of 25 groups p99", "DescribeGroups of 25 groups p50", "OffsetFetch of 25 groups p50", "DeleteGroups of 25 groups"},
		"rebalance":  {"3 members to Stable"},
		"idle":       {"each idle connection"},
		"flood":      {"3 clients alone p99", "3 clients in the flood p99", "newcomers in the flood p99", "p99 in the flood to p99 alone", "p99 in the flood to p99 beside one", "connections: reset"},
	}
	for _, m := range measurements() {
		if m.name == "startup" || m.name == "native" {
			continue // need a program of their own; see TestStartup and TestIggy
		}
		t.Run(m.name, func(t *testing.T) {
			on := &target{name: "A", addr: gatewaytest.Start(t)}
			on.find()
			if m.name == "flood" {
				o.beside = &target{name: "beside", addr: gatewaytest.Start(t)}
			}
			if on.pid == 0 && m.name == "idle" {
				t.Skip("no /proc on this system to find the server's process by")
			}
			got := map[string]float64{}
			require.NoError(t, m.run(t.Context(), on, o, func(figure, _ string, v float64) { got[figure] = v }))
			for _, figure := range want[m.name] {
				require.Contains(t, got, figure)
			}
		})
	}
}

// Two addresses are compared round by round, as a table and as JSON.
func TestCompare(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, run(t.Context(), []string{
		"-only", "roundtrip", "-rounds", "2", "-requests", "20", "-json", out, gatewaytest.Start(t), gatewaytest.Start(t),
	}))
	raw, err := os.ReadFile(out)
	require.NoError(t, err)
	var rows []row
	require.NoError(t, json.Unmarshal(raw, &rows))
	require.Len(t, rows, 15)
	for _, r := range rows {
		require.Len(t, r.Values["A"], 2)
		require.Len(t, r.Values["B"], 2)
		if !strings.Contains(r.Figure, "CPU") { // which may be none on so little load
			require.NotNil(t, r.Ratio)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b", "c"}, {"-only", "nonsense", "a"}, {"-no-such-flag"}, {"iggy://"},
		{"iggy://127.0.0.1:1"}, {"-only", "roundtrip", "iggy://127.0.0.1:1"}, {"-only", "native", "127.0.0.1:1"}, {"-sizes", "0", "a"}, {"-clients", "4", "a"}} {
		require.Errorf(t, run(t.Context(), args), "%v", args)
	}
	require.ErrorContains(t, run(t.Context(), []string{"-only", "startup", "127.0.0.1:1"}), "-start-a")
}

// The ratio is the median of the rounds' ratios, not the ratio of medians.
func TestReport(t *testing.T) {
	rep := newReport([]*target{{name: "A", addr: "a:1"}, {name: "B", addr: "b:1"}}, 3)
	for i, v := range [][2]float64{{10, 5}, {30, 10}, {50, 50}} {
		rep.sink(rep.targets[0], i)("speed", "MB/s", v[0])
		rep.sink(rep.targets[1], i)("speed", "MB/s", v[1])
	}
	row := rep.rows()[0]
	require.Equal(t, map[string]float64{"A": 30, "B": 10}, row.Median)
	require.Equal(t, 2.0, *row.Ratio)
	var table bytes.Buffer
	rep.print(&table)
	require.Contains(t, table.String(), "speed  MB/s  30.00  10.00  2.00")
}

func TestPercentile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	require.Equal(t, 3.0, median(values))
	require.Equal(t, 2.5, median([]float64{1, 2, 3, 4}))
	require.Equal(t, 5.0, percentile(values, 0.999))
	require.Equal(t, 5.0, values[0], "the argument is not changed")
	require.Zero(t, median(nil))
}

func TestAskingForHelpIsNoFault(t *testing.T) {
	require.NoError(t, run(t.Context(), []string{"--help"}))
}
