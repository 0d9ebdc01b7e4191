package group_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
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
			var d *replay
			defer func() { d.stop() }()
			for _, td := range script {
				if td.Cmd == "config" {
					configure(t, &cfg, td.FullCmd())
					continue
				}
				if d == nil {
					d = newReplay(t, cfg)
				}
				require.Equal(t, answers(td.Expected), answers(run(t, d, &td)), td.Pos)
			}
		})
	})
}

// answers sorts the answers of one directive, and leaves the state out. What
// happens at one time has no order between goroutines.
func answers(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		if line[0] >= '0' && line[0] <= '9' {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// replay drives a memory coordinator.
type replay struct {
	t      *testing.T
	c      *memory.Coordinator
	start  time.Time
	lines  chan string
	cancel map[string]context.CancelFunc
}

func newReplay(t *testing.T, cfg coordinator.Config) *replay {
	return &replay{
		t: t, c: memory.New(cfg, memory.WithMemberIDs(ids())), start: time.Now(),
		lines: make(chan string, 1<<16), cancel: map[string]context.CancelFunc{},
	}
}

func (d *replay) submit(at time.Duration, name, id string, ev any) []string {
	if wait := at - time.Since(d.start); wait > 0 {
		time.Sleep(wait)
	}
	synctest.Wait()
	if e, ok := ev.(disconnectEvent); ok {
		d.cancel[e.call]()
		synctest.Wait()
		return d.collect()
	}
	ctx, cancel := context.WithCancel(d.t.Context())
	d.cancel[name] = cancel
	go func() {
		for _, line := range d.call(ctx, id, ev) {
			d.lines <- time.Since(d.start).String() + " " + name + " " + line
		}
	}()
	synctest.Wait()
	return d.collect()
}

// call makes one call. What answers a call that was disconnected goes nowhere.
func (d *replay) call(ctx context.Context, id string, ev any) []string {
	switch e := ev.(type) {
	case tickEvent: // a request that names the group and changes nothing
		d.c.Leave(ctx, id, nil)
	case describeEvent:
		described, err := d.c.Describe(ctx, e.groups, coordinator.Bill{Limit: 1, Price: func(coordinator.Lengths) int64 { return 0 }})
		require.NoError(d.t, err)
		return descriptionLines(described)
	case listEvent:
		return listingLines(d.c.List(ctx, coordinator.Filter{}))
	case group.Join:
		if r := d.c.Join(ctx, e.Request); ctx.Err() == nil {
			return []string{joinLine(r)}
		}
	case group.Sync:
		if r := d.c.Sync(ctx, e.Request); ctx.Err() == nil {
			return []string{syncLine(r)}
		}
	case group.Heartbeat:
		return []string{d.c.Heartbeat(ctx, e.Request).String()}
	case group.CheckCommit:
		return []string{d.c.CheckCommit(ctx, e.Request).String()}
	case group.Leave:
		return []string{leaveLine(d.c.Leave(ctx, id, e.Identities))}
	}
	return nil
}

func (d *replay) collect() []string {
	var out []string
	for {
		select {
		case line := <-d.lines:
			out = append(out, line)
		default:
			return out
		}
	}
}

// stop disconnects whoever still waits.
func (d *replay) stop() {
	if d == nil {
		return
	}
	for _, cancel := range d.cancel {
		cancel()
	}
}

func (d *replay) state() string { return "" }
