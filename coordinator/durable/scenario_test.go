package durable_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/durable"
	"github.com/iggykafka/gateway/coordinator/grouptest"
	"github.com/iggykafka/gateway/coordinator/host"
)

// The scenario files are those of coordinator/group/testdata, run through the
// whole coordinator on a clock that stands still until everybody waits, with one
// more kind of block: what happens around the coordinator, an event a line.
//
//	world
//	5s kill                      the gateway dies, and starts again on what is stored
//	5s fail | heal               the ledger fails from now on, works again
//	5s hold | release            saves wait, and are made
//	5s commit group=g topic=t    an offset is stored, committed now
//	5s show group=g              what the ledger has of a group
//	5s wait                      nothing: answers until then are printed
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			// Files are read and compared outside of the bubble, as that takes real time.
			var script []datadriven.TestData
			var outputs []string
			datadriven.RunTest(t, path, func(_ *testing.T, td *datadriven.TestData) string {
				script = append(script, *td)
				return td.Expected
			})
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, cfg: coordinator.DefaultConfig(), ledger: &coordinatortest.Ledger{}, ids: grouptest.IDs(), began: time.Now()}
				defer w.end()
				for _, td := range script {
					outputs = append(outputs, w.directive(t, &td))
				}
			})
			datadriven.RunTest(t, path, func(*testing.T, *datadriven.TestData) string {
				out := outputs[0]
				outputs = outputs[1:]
				return out
			})
		})
	}
}

// world is the coordinator of a scenario and what is around it.
type world struct {
	t       *testing.T
	cfg     coordinator.Config
	ledger  *coordinatortest.Ledger
	ids     func(coordinator.JoinRequest) string
	began   time.Time
	release func()

	c *durable.Coordinator
	d *grouptest.Replay
}

func (w *world) directive(t *testing.T, td *datadriven.TestData) string {
	switch td.Cmd {
	case "config":
		grouptest.Configure(t, &w.cfg, td.FullCmd())
		return "ok"
	case "run":
		w.start()
		return grouptest.Run(t, w.d, td)
	}
	require.Equal(t, "world", td.Cmd, td.Pos)
	var out []string
	for line := range strings.Lines(td.Input) {
		fields := strings.Fields(line)
		require.GreaterOrEqual(t, len(fields), 2, td.Pos)
		at, err := time.ParseDuration(fields[0])
		require.NoError(t, err, td.Pos)
		if w.d == nil {
			time.Sleep(at - time.Since(w.began))
		} else {
			out = append(out, w.d.Until(at)...)
		}
		values := map[string]string{}
		for _, f := range fields[2:] {
			k, v, _ := strings.Cut(f, "=")
			values[k] = v
		}
		out = append(out, w.happen(fields[1], values)...)
		if w.d != nil {
			out = append(out, w.d.Until(at)...)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n") + "\n"
}

// happen is one event around the coordinator.
func (w *world) happen(verb string, values map[string]string) []string {
	group := values["group"]
	switch verb {
	case "kill":
		w.kill()
		w.start()
	case "start":
		w.start()
	case "fail":
		w.ledger.Fail(errors.New("the ledger is away"))
	case "heal":
		w.ledger.Fail(nil)
	case "hold":
		w.release = w.ledger.Hold()
	case "release":
		w.release()
	case "commit":
		w.ledger.Commit(group, values["topic"], time.Now())
	case "wait":
	case "show":
		state := "no state"
		if w.ledger.State(group) != nil {
			state = "a state"
		}
		return []string{fmt.Sprintf("%s: %s, offsets of %v", group, state, w.ledger.Topics(group))}
	default:
		require.Fail(w.t, "unknown event", verb)
	}
	return nil
}

func (w *world) start() {
	if w.c != nil {
		return
	}
	w.c = open(w.t, w.cfg, w.ledger, host.WithMemberIDs(w.ids))
	if w.d == nil {
		w.d = grouptest.NewReplay(w.t, w.c)
	} else {
		w.d.Restart(w.c)
	}
}

// kill ends the coordinator. Whatever it writes from now on is lost.
func (w *world) kill() {
	w.ledger = w.ledger.Clone()
	w.d.Stop()
	synctest.Wait()
	w.c = nil
}

func (w *world) end() { w.d.Stop() }
