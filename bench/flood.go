package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

const (
	// goodRate is how many requests a second each good client makes.
	goodRate = 100
	// newcomers is how many clients a second connect, log in and make one request, one after the other.
	newcomers = 5
)

// waits are how long clients waited, in milliseconds.
type waits struct {
	requests []float64 // of those that are in
	logins   []float64 // of newcomers, first answer included
}

// flood measures the requests of good clients alone, and while attackers keep thousands of connections that open, stall and
// reset, or guess passwords: first as these come, then when all are there. The attackers are a process of their own: what they compute is not what the clients wait for. Memory
// is the most that the server took meanwhile. With the URL of its metrics goroutines and heap are told, too.
//
// With another server the attackers have that one first, on the same machine: what the clients then wait longer for is the
// machine's doing, the rest that of the server.
func flood(ctx context.Context, t *target, o options, put sink) error {
	server, err := t.launch(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	t.find()
	topic, drop, err := freshTopic(ctx, t, 1)
	if err != nil {
		return err
	}
	defer drop()
	g := &goodClients{target: t, topic: topic}
	defer g.close()
	for range o.good {
		if err := g.add(); err != nil {
			return err
		}
	}
	if _, err := g.work(ctx, o.duration/5); err != nil { // to be warm
		return err
	}
	base := t.figures(ctx, o.metrics)
	alone, err := g.work(ctx, o.duration)
	if err != nil {
		return fmt.Errorf("alone: %w", err)
	}
	var foreign waits
	if o.beside != nil {
		if foreign, err = g.beside(ctx, o); err != nil {
			return fmt.Errorf("while another server is flooded: %w", err)
		}
	}
	most := t.watchMemory(ctx)
	cpu := t.cpu()
	stop, err := o.attackers(ctx, t, o)
	if err != nil {
		return err
	}
	begin := time.Now()
	arriving, err := g.work(ctx, o.duration)
	if err != nil {
		return fmt.Errorf("while %d connections come: %w", o.flood, err)
	}
	flooded, err := g.work(ctx, o.duration)
	spent := (t.cpu() - cpu).Seconds() / time.Since(begin).Seconds()
	counts := stop()
	if err != nil {
		return fmt.Errorf("beside %d connections: %w", o.flood, err)
	}
	peak := most()
	again, err := g.work(ctx, o.duration)
	if err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	name := fmt.Sprintf("%d clients ", o.good)
	show := func(when string, w waits) {
		put(name+when+" p50", "ms", percentile(w.requests, 0.5))
		put(name+when+" p99", "ms", percentile(w.requests, 0.99))
		put("newcomers "+when+" p50", "ms", percentile(w.logins, 0.5))
		put("newcomers "+when+" p99", "ms", percentile(w.logins, 0.99))
	}
	show("alone", alone)
	show("as the flood comes", arriving)
	show("in the flood", flooded)
	show("afterwards", again)
	p99 := percentile(flooded.requests, 0.99)
	put("p99 in the flood to p99 alone", "", p99/percentile(slices.Concat(alone.requests, again.requests), 0.99))
	if o.beside != nil {
		show("beside a flood", foreign)
		put("p99 in the flood to p99 beside one", "", p99/percentile(foreign.requests, 0.99))
	}
	for _, kind := range stalls() {
		put("connections: "+kind.name, "", float64(counts[kind.name]))
	}
	if t.pid != 0 {
		put("server CPU in the flood", "cores", spent)
		put("anonymous memory, most", "MiB", float64(peak)/(1<<20))
	}
	if o.metrics != "" {
		rest(ctx, 10*o.rest) // a gateway looks for what a peak has left every ten seconds
		now := t.figures(ctx, o.metrics)
		for _, f := range runtimeFigures {
			put(f+" before", "", base[f])
			put(f+" after", "", now[f])
		}
	}
	return nil
}

// beside has the good clients work while attackers have the other server.
func (g *goodClients) beside(ctx context.Context, o options) (waits, error) {
	other, err := o.beside.launch(ctx)
	if err != nil {
		return waits{}, err
	}
	defer other.stop()
	stop, err := o.attackers(ctx, o.beside, o)
	if err != nil {
		return waits{}, err
	}
	defer stop()
	return g.work(ctx, o.duration)
}

// goodClients are connections that have logged in.
type goodClients struct {
	*target
	topic string
	conns []*rawclient.Conn
}

func (g *goodClients) add() error {
	c, err := g.dial()
	if err == nil {
		g.conns = append(g.conns, c)
	}
	return err
}

func (g *goodClients) close() {
	for _, c := range g.conns {
		c.Close()
	}
}

// work has all make requests at their rate, and returns how long each took from the time at which it was due: a stall shows in
// every request that it delays. Then newcomers log in, one after the other: what their own logins cost this process must not be
// what the others wait for.
func (g *goodClients) work(ctx context.Context, d time.Duration) (w waits, err error) {
	var all sync.WaitGroup
	took, failed := make([][]float64, len(g.conns)), make([]error, len(g.conns))
	for i, c := range g.conns {
		offset := time.Second / goodRate * time.Duration(i) / time.Duration(len(g.conns))
		requests := g.requests()
		all.Go(func() {
			took[i], failed[i] = paced(ctx, goodRate, offset, d, func(n int) error { return g.ask(c, requests[n%len(requests)]) })
		})
	}
	all.Wait()
	w.requests, err = slices.Concat(took...), errors.Join(failed...)
	if err == nil {
		w.logins, err = paced(ctx, newcomers, 0, d, func(int) error { return g.comeAnew() })
	}
	if err == nil && (len(w.requests) == 0 || len(w.logins) == 0) {
		err = fmt.Errorf("no requests in %v at %d a second", d, goodRate)
	}
	return w, err
}

// paced does something so many times a second, and returns how long each took from when it was due, in milliseconds.
func paced(ctx context.Context, rate int, offset, d time.Duration, do func(n int) error) (ms []float64, err error) {
	gap := time.Second / time.Duration(rate)
	begin := time.Now().Add(offset)
	for n := 0; ctx.Err() == nil; n++ {
		due := begin.Add(time.Duration(n) * gap)
		if due.Sub(begin) >= d {
			return ms, nil
		}
		time.Sleep(time.Until(due))
		if err := do(n); err != nil {
			return nil, err
		}
		ms = append(ms, time.Since(due).Seconds()*1e3)
	}
	return nil, ctx.Err()
}

func (g *goodClients) ask(c *rawclient.Conn, req kmsg.Request) error {
	_ = c.SetDeadline(time.Now().Add(patience))
	answer, err := c.Call(req)
	if err != nil {
		return err
	}
	return failedPartition(answer)
}

// comeAnew connects, logs in and asks for something.
func (g *goodClients) comeAnew() error {
	c, err := g.dial()
	if err != nil {
		return fmt.Errorf("a newcomer: %w", err)
	}
	defer c.Close()
	return g.ask(c, g.requests()[0])
}

// requests are what clients make in turn.
func (g *goodClients) requests() []kmsg.Request {
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version, metadata.Topics = 12, []kmsg.MetadataRequestTopic{{Topic: &g.topic}}
	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks, produce.TimeoutMillis = 7, -1, 30_000
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: g.topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: recordtest.Values(strings.Repeat("x", 100)).Bytes()}}}}
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.MaxBytes, fetch.SessionEpoch = 11, 64<<10, -1
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: g.topic, Partitions: []kmsg.FetchRequestTopicPartition{{CurrentLeaderEpoch: -1, PartitionMaxBytes: 1 << 10}}}}
	return []kmsg.Request{metadata, produce, fetch}
}

func failedPartition(answer kmsg.Response) error {
	switch a := answer.(type) {
	case *kmsg.ProduceResponse:
		return kerr.ErrorForCode(a.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.FetchResponse:
		return kerr.ErrorForCode(a.Topics[0].Partitions[0].ErrorCode)
	}
	return nil
}

// attackersHere attacks from this process.
func attackersHere(ctx context.Context, t *target, o options) (stop func() map[string]int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	counts := make(chan map[string]int64, 1)
	go func() { counts <- attack(ctx, t, o.flood, o.stall) }()
	return func() map[string]int64 { cancel(); return <-counts }, nil
}

// attackersBeside attacks from a process of its own, which is this program with one more flag.
func attackersBeside(args []string) func(context.Context, *target, options) (func() map[string]int64, error) {
	return func(ctx context.Context, t *target, _ options) (func() map[string]int64, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command := append(behind(), self, "-attack="+t.name)
		command = append(command, args...)
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() map[string]int64 {
			in.Close()
			_ = cmd.Wait()
			var counts map[string]int64
			_ = json.Unmarshal([]byte(out.String()), &counts)
			return counts
		}, nil
	}
}

// behind is what runs a command at a priority below that of clients and server, if there is nice: attackers would be on other
// machines, and what they compute must not be missing here.
func behind() []string {
	if chrt, err := exec.LookPath("chrt"); err == nil { // SCHED_IDLE, of Linux: gives way at once
		return []string{chrt, "--idle", "0"}
	}
	if nice, err := exec.LookPath("nice"); err == nil {
		return []string{nice, "-n", "19"}
	}
	return nil
}

// watchMemory watches the server's anonymous memory until the returned function is called, which returns the most in bytes.
func (t *target) watchMemory(ctx context.Context) (most func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	peak := make(chan int64, 1)
	go func() {
		var high int64
		for ctx.Err() == nil {
			high = max(high, t.status("RssAnon:"))
			rest(ctx, 50*time.Millisecond)
		}
		peak <- high
	}()
	return func() int64 { cancel(); return <-peak }
}

// runtimeFigures are those of a Go program that flood reads of the server's metrics.
var runtimeFigures = []string{"go_goroutines", "go_memstats_heap_inuse_bytes", "kafka_gateway_connections"}

// figures reads them; none without a URL.
func (t *target) figures(ctx context.Context, url string) map[string]float64 {
	out := map[string]float64{}
	if url == "" {
		return out
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return out
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: metrics:", err)
		return out
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for s := bufio.NewScanner(io.LimitReader(resp.Body, 16<<20)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), " ")
		if slices.Contains(runtimeFigures, name) {
			out[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return out
}
