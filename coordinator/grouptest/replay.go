package grouptest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Replay drives a coordinator in a bubble of testing/synctest.
type Replay struct {
	t      *testing.T
	c      coordinator.Coordinator
	start  time.Time
	lines  chan string
	cancel map[string]context.CancelFunc
}

// NewReplay returns a driver whose time 0s is now.
func NewReplay(t *testing.T, c coordinator.Coordinator) *Replay {
	return &Replay{t: t, c: c, start: time.Now(), lines: make(chan string, 1<<16), cancel: map[string]context.CancelFunc{}}
}

// Restart goes on with another coordinator.
func (d *Replay) Restart(c coordinator.Coordinator) { d.c = c }

// Until waits until a time.
func (d *Replay) Until(at time.Duration) []string {
	if wait := at - time.Since(d.start); wait > 0 {
		time.Sleep(wait)
	}
	synctest.Wait()
	return d.collect()
}

// Submit makes a call in a goroutine of its own.
func (d *Replay) Submit(at time.Duration, name, id string, ev any) []string {
	before := d.Until(at)
	if e, ok := ev.(Disconnect); ok {
		d.cancel[e.Call]()
		synctest.Wait()
		return append(before, d.collect()...)
	}
	ctx, cancel := context.WithCancel(d.t.Context())
	d.cancel[name] = cancel
	go func() {
		for _, line := range d.call(ctx, id, ev) {
			d.lines <- time.Since(d.start).String() + " " + name + " " + line
		}
	}()
	synctest.Wait()
	return append(before, d.collect()...)
}

// call makes one call. What answers a call that was disconnected goes nowhere.
func (d *Replay) call(ctx context.Context, id string, ev any) []string {
	switch e := ev.(type) {
	case Tick: // a request that names the group and changes nothing
		d.c.Leave(ctx, id, nil)
	case Describe:
		described, err := d.c.Describe(ctx, e.Groups, coordinator.Bill{Limit: 1, Price: func(coordinator.Lengths) int64 { return 0 }})
		require.NoError(d.t, err)
		return DescriptionLines(described)
	case List:
		return ListingLines(d.c.List(ctx, coordinator.Filter{}))
	case group.Join:
		if r := d.c.Join(ctx, e.Request); ctx.Err() == nil {
			return []string{JoinLine(r)}
		}
	case group.Sync:
		if r := d.c.Sync(ctx, e.Request); ctx.Err() == nil {
			return []string{SyncLine(r)}
		}
	case group.Heartbeat:
		return []string{d.c.Heartbeat(ctx, e.Request).String()}
	case group.CheckCommit:
		return []string{d.c.CheckCommit(ctx, e.Request).String()}
	case group.Leave:
		return []string{LeaveLine(d.c.Leave(ctx, id, e.Identities))}
	}
	return nil
}

func (d *Replay) collect() []string {
	var out []string
	for {
		select {
		case line := <-d.lines:
			out = append(out, line)
		default:
			slices.SortStableFunc(out, byTimeAndCall) // goroutines have no order
			return out
		}
	}
}

// byTimeAndCall compares answers: <time> <call> ...
func byTimeAndCall(a, b string) int {
	x, y := strings.Fields(a), strings.Fields(b)
	at, _ := time.ParseDuration(x[0])
	bt, _ := time.ParseDuration(y[0])
	return cmp.Or(cmp.Compare(at, bt), strings.Compare(x[1], y[1]))
}

// Stop disconnects whoever still waits.
func (d *Replay) Stop() {
	if d == nil {
		return
	}
	for _, cancel := range d.cancel {
		cancel()
	}
}

// State prints nothing: it is not to be seen from outside.
func (d *Replay) State() string { return "" }

// Answers sorts the answers of one directive, and leaves the state out. What
// happens at one time has no order between goroutines.
func Answers(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		if line[0] >= '0' && line[0] <= '9' {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
