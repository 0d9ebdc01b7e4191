package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// running is the program inside the test's process.
type running struct {
	ready   string // its first line
	signals chan os.Signal
	ended   chan int
	err     *bytes.Buffer
}

// serveWith runs a gateway in memory until it is ready.
func serveWith(t *testing.T, modules []fx.Option, args ...string) running {
	t.Helper()
	r := running{signals: make(chan os.Signal, 2), ended: make(chan int, 1), err: &bytes.Buffer{}}
	reader, writer := io.Pipe()
	go func() {
		defer writer.Close()
		r.ended <- program{
			args:    append([]string{"--admin.listen="}, append(args, "--listen=127.0.0.1:0", "--storage.backend=memory", "--log.level=warn")...),
			out:     writer,
			err:     r.err,
			signals: r.signals,
			modules: modules,
		}.run(context.Background())
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		require.NoError(t, err, "exit code %d: %s", <-r.ended, r.err)
	}
	r.ready = line
	return r
}

// The runtime is tuned by the memory budget for as long as the gateway runs.
func TestServeTunes(t *testing.T) {
	t.Parallel()
	signals, ready := make(chan os.Signal, 1), &bytes.Buffer{}
	var heap []int64
	undone := false
	signals <- syscall.SIGTERM // either before it is ready or after
	program{
		args:    []string{"--admin.listen=", "--listen=127.0.0.1:0", "--storage.backend=memory", "--log.level=error", "--memory_budget=800MiB"},
		out:     ready,
		err:     &bytes.Buffer{},
		signals: signals,
		modules: []fx.Option{gateway.Plugins()},
		tune: func(bytes int64) func() {
			heap = append(heap, bytes)
			return func() { undone = true }
		},
	}.run(t.Context())
	require.Equal(t, []int64{700 << 20}, heap)
	require.True(t, undone)
}

func TestServe(t *testing.T) {
	r := serveWith(t, []fx.Option{gateway.Plugins()})
	require.Regexp(t, `^kafka-gateway is ready on 127\.0\.0\.1:[1-9][0-9]*\n$`, r.ready)
	r.signals <- syscall.SIGTERM
	require.Equal(t, exitOK, <-r.ended)
	require.Empty(t, r.err.String())
}

// What a module cannot go on after ends the program, in order, with a failure.
func TestModuleEndsTheProgram(t *testing.T) {
	stop := make(chan struct{})
	r := serveWith(t, []fx.Option{gateway.Plugins(), fx.Invoke(func(s fx.Shutdowner) {
		go func() { <-stop; _ = s.Shutdown() }()
	})})
	close(stop)
	require.Equal(t, exitFailed, <-r.ended)
	require.Equal(t, "kafka-gateway: the gateway cannot go on; the log says why\n", r.err.String())
}

func TestFailuresAtStartAndStopAreOneLine(t *testing.T) {
	hook := func(h fx.Hook) []fx.Option {
		return []fx.Option{gateway.Plugins(), fx.Invoke(func(life fx.Lifecycle) { life.Append(h) })}
	}
	var out, errs bytes.Buffer
	p := program{out: &out, err: &errs, args: []string{"--admin.listen=", "--listen=127.0.0.1:0", "--storage.backend=memory", "--log.level=warn"}}

	p.modules = hook(fx.StartHook(func() error { return errors.New("storage.dir: /data: read-only") }))
	require.Equal(t, exitFailed, p.run(t.Context()))
	require.Equal(t, "kafka-gateway: storage.dir: /data: read-only\n", errs.String())
	require.Empty(t, out.String())

	errs.Reset()
	p.modules = []fx.Option{gateway.Plugins(), fx.Invoke(func() error { return errors.New("no such luck") })}
	require.Equal(t, exitFailed, p.run(t.Context()))
	require.Equal(t, "kafka-gateway: no such luck\n", errs.String())

	r := serveWith(t, hook(fx.StopHook(func() error { return errors.New("disk full") })))
	r.signals <- os.Interrupt
	require.Equal(t, exitFailed, <-r.ended)
	require.Equal(t, "kafka-gateway: stopped, but not in order: disk full\n", r.err.String())
}

// What is wrong with a composition is one line for those who composed it.
func TestModulesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		modules []fx.Option
		fault   string
	}{
		{nil, `missing type: \*server\.Server; add a module that provides it`},
		{
			[]fx.Option{gateway.Core(), gateway.Handlers(), gateway.Backend()},
			`missing type: coordinator\.Coordinator; add a module that provides it`,
		},
		{
			[]fx.Option{gateway.Plugins(), coordinatortest.Module(&coordinatortest.Fake{})},
			`cannot provide function "[^"]*/coordinatortest"\..*: already provided by "[^"]*/coordinator/chosen"\..*`,
		},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, exitFailed, program{out: &out, err: &errs, modules: c.modules}.run(t.Context()))
		require.Empty(t, out.String())
		require.Regexp(t, `^kafka-gateway: the modules do not fit together: `+c.fault+`\n$`, errs.String())
	}
}

func TestMetricsAreServed(t *testing.T) {
	core, lines := observer.New(zapcore.InfoLevel)
	r := serveWith(t, []fx.Option{gateway.Plugins(), fx.Decorate(func() *zap.Logger { return zap.New(core) })}, "--admin.listen=127.0.0.1:0")
	url := lines.FilterMessage("the admin listener takes connections").All()[0].ContextMap()["url"].(string)
	resp, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	for _, metric := range []string{"go_goroutines", "process_resident_memory_bytes", "kafka_gateway_requests_in_flight", "kafka_gateway_unknown_key_requests_total"} {
		require.Contains(t, string(body), "\n"+metric+" ")
	}
	http.DefaultClient.CloseIdleConnections()
	r.signals <- syscall.SIGTERM
	require.Equal(t, exitOK, <-r.ended)
}

func TestAPIs(t *testing.T) {
	var out, errs bytes.Buffer
	p := program{args: []string{"apis"}, out: &out, err: &errs, modules: []fx.Option{gateway.Plugins()}}
	require.Equal(t, exitOK, p.run(t.Context()), errs.String())
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	require.Equal(t, "KEY NAME VERSIONS ADVERTISED BAD REQUEST ANSWERED BY", rows[0])
	require.Contains(t, rows, "0 Produce 3-13 0-13 close handlers/produce.producer.produce")
	require.Contains(t, rows, "15 DescribeGroups 0-6 0-6 close handlers/describegroups.describer.describe")
	require.NoDirExists(t, "data", "nothing was started")
	require.Contains(t, rows, "16 ListGroups 0-5 0-5 INVALID_REQUEST handlers/listgroups.lister.list")
}

func TestBrokerConfigs(t *testing.T) {
	t.Parallel()
	l, err := load("", []string{"KAFKA_GATEWAY_MAX_FRAME_SIZE=1MiB", "KAFKA_GATEWAY_MEMORY_BUDGET=128MiB"}, map[string]string{"node_id": "3"})
	require.NoError(t, err)
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	require.Equal(t, settings.Broker{
		Values: map[string]string{
			"broker.id":                        "3",
			"node.id":                          "3",
			"num.partitions":                   "1",
			"default.replication.factor":       "1",
			"auto.create.topics.enable":        "true",
			"delete.topic.enable":              "true",
			"message.max.bytes":                "1048588",
			"log.retention.ms":                 "604800000",
			"log.retention.bytes":              "-1",
			"log.cleanup.policy":               "delete",
			"log.message.timestamp.type":       "CreateTime",
			"socket.request.max.bytes":         "1048576",
			"connections.max.idle.ms":          "600000",
			"fetch.max.bytes":                  "57671680",
			"offset.metadata.max.bytes":        "4096",
			"group.min.session.timeout.ms":     "6000",
			"group.max.session.timeout.ms":     "1800000",
			"group.initial.rebalance.delay.ms": "3000",
			"group.max.size":                   "5000",
			"producer.id.expiration.ms":        "86400000",
		},
		Set: map[string]bool{"broker.id": true, "node.id": true, "socket.request.max.bytes": true},
	}, l.broker(catalog))
}
