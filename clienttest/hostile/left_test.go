package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

const (
	// profilesVar is a folder for heap profiles: before the attack, in its middle, and after it.
	profilesVar = "KAFKA_GATEWAY_HOSTILE_PROFILES"

	// heapAllowance is by how many bytes the heap may be larger at the end than in the middle of the attack, however many
	// requests came between: what the gateway remembers of clients is bounded, and was there after the first half. What is left
	// for is what fills slowly: the metadata store's table for writes and its cache, and metrics of what had not happened yet.
	heapAllowance = 6 << 20
	// goroutineAllowance is for those that the runtime and the metadata store start when they like.
	goroutineAllowance = 2
	// fileAllowance is how many files beside sockets may be open that were not at first: the metadata store has up to 100 tables.
	fileAllowance = 100
)

// left is what a gateway holds when its clients have gone.
type left struct {
	heap       int64 // bytes in use, once the garbage is collected
	goroutines int
	sockets    int // -1 where the system does not tell
	files      int // beside sockets
}

// String says it in a line.
func (l left) String() string {
	return fmt.Sprintf("%d KiB of heap, %d goroutines, %d sockets, %d files", l.heap>>10, l.goroutines, l.sockets, l.files)
}

// settled waits until the gateway has no connections any more and everything else than the heap is back at a base, and returns
// what is left then. The zero base holds nothing up.
func settled(t *testing.T, gate *Gate, base left) left {
	t.Helper()
	tidy(t, gate)
	eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
	eventually(t, func() bool { return measured(t, gate, "memory_budget_used_bytes") == 0 }, "the memory budget is whole again")
	if base != (left{}) {
		eventually(t, func() bool { return runtime.NumGoroutine() <= base.goroutines+goroutineAllowance }, "goroutines are back at their base")
		eventually(t, func() bool {
			sockets, files := opened(t)
			return sockets <= base.sockets && files <= base.files+fileAllowance
		}, "sockets and files are back at their base")
	}
	sockets, files := opened(t)
	return left{heap: heap(), goroutines: runtime.NumGoroutine(), sockets: sockets, files: files}
}

// opened counts the descriptors of the process, where there is /proc.
func opened(t *testing.T) (sockets, files int) {
	const folder = "/proc/self/fd"
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) {
		return -1, -1
	}
	require.NoError(t, err)
	for _, e := range entries {
		switch to, err := os.Readlink(filepath.Join(folder, e.Name())); {
		case err != nil: // the one that the folder was read by
		case strings.HasPrefix(to, "socket:"):
			sockets++
		default:
			files++
		}
	}
	return sockets, files
}

// heap returns the bytes in use. The first collection empties pools, the second has what was in them.
func heap() int64 {
	for range 2 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// profile writes a heap profile, if it is wanted.
func profile(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv(profilesVar)
	if folder == "" {
		return
	}
	f, err := os.Create(filepath.Join(folder, name+".pb.gz"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, pprof.Lookup("heap").WriteTo(f, 0))
}

// tidy deletes the topics and groups, which attackers may make.
func tidy(t *testing.T, gate *Gate) {
	t.Helper()
	client, err := gate.Inner()[0].client()
	require.NoError(t, err)
	admin := kadm.NewClient(client)
	defer admin.Close()
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
}

// measured reads one of the gateway's figures.
func measured(t testing.TB, gate *Gate, name string) float64 {
	resp, err := http.Get(gate.Admin + "/metrics")
	if err != nil {
		t.Errorf("metrics: %v", err)
		return -1
	}
	defer http.DefaultClient.CloseIdleConnections()
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
