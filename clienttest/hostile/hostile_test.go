package hostile

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/handler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// durationVar is how long the attack lasts.
	durationVar = "KAFKA_GATEWAY_HOSTILE"
	// seedVar makes the same attack again.
	seedVar = "KAFKA_GATEWAY_HOSTILE_SEED"

	attackers = 6
)

// handlersOf are those of the whole gateway.
func handlersOf(t testing.TB) (handlers []handler.Handler) {
	t.Helper()
	c := app.DefaultConfig()
	c.Storage.Backend = "memory"
	require.NoError(t, fx.New(app.Options(c, zap.NewNop()), gateway.Plugins(),
		fx.Invoke(func(in handler.In) { handlers = in.Handlers })).Err())
	slices.SortFunc(handlers, func(a, b handler.Handler) int { return cmp.Compare(a.Spec().Key, b.Spec().Key) }) // fx has no order
	return handlers
}

// setting reads a variable.
func setting[T any](t testing.TB, name string, otherwise T, parse func(string) (T, error)) T {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	require.NoError(t, err, name)
	return value
}

// Whatever hostile clients send, good ones get the right answers, no handler panics, and in the end nothing is left. Twice as many
// requests leave no more behind than half of them: what is remembered of clients is bounded.
func TestHostileClients(t *testing.T) {
	duration := setting(t, durationVar, 5*time.Second, time.ParseDuration)
	seed := setting(t, seedVar, uint64(1), func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	t.Logf("%s=%d", seedVar, seed)
	gate := Open(t, func(c *app.Config) {
		c.Groups.MaxSessionTimeout = time.Minute
		c.Server.MemoryBudget, c.Server.RequestMemory, c.Server.MaxFrameSize = 64<<20, 16<<20, 32<<20
		c.Topics.MaxNewPartitions = 200
		// On disk: the logs of records and of the metadata store would be most of the heap.
		c.Storage.Backend, c.Storage.Dir = "embedded", t.TempDir()
		c.Storage.RetentionInterval = time.Second
	})
	handlers := handlersOf(t)
	attack(t, gate, handlers, seed+1, time.Second, new(Counts), new(atomic.Int64)) // what is made once is there
	base := settled(t, gate, left{})
	profile(t, "before")
	var first, second Counts
	middle := siege(t, gate, handlers, seed, duration/2, &first, base)
	profile(t, "middle")
	end := siege(t, gate, handlers, seed+2, duration/2, &second, base)
	profile(t, "after")
	t.Logf("at first:      %v\nin the middle: %v\nat the end:    %v", base, middle, end)
	require.Less(t, end.heap-middle.heap, int64(heapAllowance), "memory is left of each request")
	require.Less(t, middle.heap-base.heap, int64(heapAllowance), "memory is left")
}

// siege attacks for a time, and returns what is left of it.
func siege(t *testing.T, gate *Gate, handlers []handler.Handler, seed uint64, duration time.Duration, done *Counts, base left) left {
	t.Helper()
	var rounds atomic.Int64
	attack(t, gate, handlers, seed, duration, done, &rounds)
	t.Logf("%v; %d rounds of good clients", done, rounds.Load())
	require.Positive(t, rounds.Load())
	return settled(t, gate, base)
}

// attack lets attackers and good clients loose, for a time.
func attack(t *testing.T, gate *Gate, handlers []handler.Handler, seed uint64, duration time.Duration, done *Counts, rounds *atomic.Int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var all sync.WaitGroup
	failed := func(err error) {
		t.Errorf("seed %d: %v", seed, err)
		cancel()
	}
	for i, door := range gate.Inner() {
		name := fmt.Sprintf("good-%d-%d", seed, i)
		all.Go(func() {
			if err := stockClients(ctx, door, name+"-library", rounds); err != nil {
				failed(err)
			}
		})
		all.Go(func() {
			g, err := newGood(door, name)
			if err != nil {
				failed(err)
				return
			}
			defer g.Close()
			for ctx.Err() == nil {
				if err := g.round(); err != nil {
					failed(err)
					return
				}
				rounds.Add(1)
			}
		})
	}
	for i := range attackers {
		a := newAttacker(seed, uint64(i), gate.Doors(), handlers, done)
		all.Go(func() {
			for ctx.Err() == nil {
				if err := a.connect(ctx); err != nil {
					failed(fmt.Errorf("%w\n%s", err, a.report()))
				}
				time.Sleep(pace)
			}
		})
	}
	all.Go(func() { // a panic is told with what was sent shortly before
		for ctx.Err() == nil {
			if n := measured(t, gate, "handler_panics_total"); n > 0 {
				failed(fmt.Errorf("%v handlers panicked; the log has the stack", n))
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	all.Wait()
	require.Zero(t, measured(t, gate, "handler_panics_total"))
}

// report are the last requests of an attacker.
func (a *attacker) report() string {
	out := []string{a.at}
	for _, frame := range a.last {
		out = append(out, hex.EncodeToString(frame))
	}
	return strings.Join(out, "\n")
}

// The same seed makes the same requests.
func TestSeed(t *testing.T) {
	t.Parallel()
	handlers := handlersOf(t)
	frames := func(seed uint64) (out [][]byte) {
		a := newAttacker(seed, 3, nil, handlers, new(Counts))
		for range 200 {
			out = append(out, a.mutate(a.stock.frame()))
		}
		return out
	}
	require.Equal(t, frames(7), frames(7))
	require.NotEqual(t, frames(8), frames(7))
}
