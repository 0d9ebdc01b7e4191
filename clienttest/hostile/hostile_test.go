package hostile

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
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

// Whatever hostile clients send, good ones get the right answers, no handler panics, and in the end nothing is left.
func TestHostileClients(t *testing.T) {
	duration := setting(t, durationVar, 5*time.Second, time.ParseDuration)
	seed := setting(t, seedVar, uint64(time.Now().UnixNano()), func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	t.Logf("%s=%d", seedVar, seed)
	gate := Open(t, func(c *app.Config) {
		c.Groups.MaxSessionTimeout = time.Minute
		c.Server.MemoryBudget, c.Server.RequestMemory, c.Server.MaxFrameSize = 64<<20, 16<<20, 32<<20
		c.Topics.MaxNewPartitions = 200
	})
	handlers := handlersOf(t)
	var done Counts
	var rounds atomic.Int64
	attack(t, gate, handlers, seed+1, time.Second, new(Counts), new(atomic.Int64)) // what is made once is there
	goroutines, before := runtime.NumGoroutine(), tidy(t, gate)
	attack(t, gate, handlers, seed, duration, &done, &rounds)
	t.Logf("%v; %d rounds of good clients", &done, rounds.Load())
	require.Positive(t, rounds.Load())
	eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
	eventually(t, func() bool { return measured(t, gate, "memory_budget_used_bytes") == 0 }, "the memory budget is whole again")
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, "goroutines are back at their base")
	after := tidy(t, gate)
	t.Logf("heap %d KiB before, %d KiB after", before>>10, after>>10)
	require.Less(t, after-before, int64(32<<20), "memory is left")
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

// tidy deletes the topics, which attackers may make, and returns the size of the heap.
func tidy(t *testing.T, gate *Gate) int64 {
	t.Helper()
	client, err := gate.Inner()[0].client()
	require.NoError(t, err)
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	topics, err := admin.ListTopicsWithInternal(ctx)
	require.NoError(t, err)
	_, err = admin.DeleteTopics(ctx, topics.Names()...)
	require.NoError(t, err)
	groups, err := admin.ListGroups(ctx)
	require.NoError(t, err)
	_, _ = admin.DeleteGroups(ctx, groups.Groups()...) // some have members still
	t.Logf("%d topics and %d groups were there", len(topics), len(groups))
	admin.Close()
	http.DefaultClient.CloseIdleConnections()
	for range 2 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measured reads one of the gateway's figures.
func measured(t testing.TB, gate *Gate, name string) float64 {
	resp, err := http.Get(gate.Admin + "/metrics")
	if err != nil {
		t.Errorf("metrics: %v", err)
		return -1
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	found := regexp.MustCompile(`(?m)^kafka_gateway_` + name + ` (\S+)$`).FindSubmatch(text)
	if err != nil || found == nil {
		t.Errorf("no figure %s: %v", name, err)
		return -1
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return value
}

// eventually waits without a goroutine, which would be among those counted.
func eventually(t testing.TB, ok func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(2 * patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if !time.Now().Before(end) {
			buf := make([]byte, 1<<20)
			t.Logf("%s", buf[:runtime.Stack(buf, true)])
			require.Fail(t, "did not happen: "+what)
		}
	}
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
