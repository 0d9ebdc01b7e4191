package group_test

import (
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/grouptest"
	"github.com/iggykafka/gateway/coordinator/memory"
)

// TestScenariosThroughMemory runs the scenarios against the memory coordinator,
// on a clock that stands still until everybody waits. It has to give the same
// answers at the same times: its locks, timers and channels add nothing to the
// machine. (To rewrite the files, run TestScenarios alone.)
func TestScenariosThroughMemory(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, path string) {
		var script []datadriven.TestData
		datadriven.RunTest(t, path, func(_ *testing.T, td *datadriven.TestData) string {
			script = append(script, *td)
			return td.Expected
		})
		synctest.Test(t, func(t *testing.T) {
			cfg := coordinator.DefaultConfig()
			var d *grouptest.Replay
			defer func() { d.Stop() }()
			for _, td := range script {
				if td.Cmd == "config" {
					grouptest.Configure(t, &cfg, td.FullCmd())
					continue
				}
				if d == nil {
					d = grouptest.NewReplay(t, memory.New(cfg, memory.WithMemberIDs(grouptest.IDs())))
				}
				require.Equal(t, grouptest.Answers(td.Expected), grouptest.Answers(grouptest.Run(t, d, &td)), td.Pos)
			}
		})
	})
}
