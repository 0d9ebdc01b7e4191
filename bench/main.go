// Command bench loads a Kafka-compatible server and prints what it measured:
//
//	go run ./bench 127.0.0.1:9092
//	go run ./bench -rounds 5 127.0.0.1:9092 127.0.0.1:19092
//	go run ./bench -only throughput -acks all 127.0.0.1:9092 iggy://iggy:iggy@127.0.0.1:8090
//	go run ./bench -only throughput -ca ca.pem -user u -password-file p 127.0.0.1:9092 ssl://127.0.0.1:9093 sasl_ssl://127.0.0.1:9094
//	go run ./bench -only throughput -scrape http://127.0.0.1:9644/metrics 127.0.0.1:9092
//
// With two or three addresses every measurement alternates between them, round by
// round, and the table shows the medians and the median of the ratios A/B and A/C taken
// round by round, so that a machine whose speed drifts treats both alike. Where the
// server's process runs on this machine its CPU time and resident memory are
// measured too.
//
// The load is bounded: by bytes for throughput, by requests or by time
// elsewhere. Topics are created under the name "bench-…" and deleted again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iggykafka/gateway/app/cli"
)

// letters name the targets.
var letters = []string{"A", "B", "C"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options says how much load a run makes.
type options struct {
	rounds    int
	bytes     int64
	rate      int
	duration  time.Duration
	requests  int
	groups    int
	live      int
	idle      int
	members   []int
	sizes     []int
	partition int
	clients   int
	acks      []string
	batch     int           // bytes
	rest      time.Duration // before memory is read
	native    string        // the Iggy server behind the gateway
	stream    string        // and the stream of its topics
	good      int           // clients of the measurement flood
	flood     int           // connections of its attackers
	stall     time.Duration // how long each of those stalls, at most
	metrics   string        // URL
	beside    *target       // takes the flood before the server does; nil: none
	attackers func(context.Context, *target, options) (stop func() map[string]int64, err error)
}

func defaults() options {
	return options{
		rounds: 1, bytes: 256 << 20, rate: 2000, duration: 5 * time.Second, requests: 20_000,
		groups: 10_000, live: 1000, idle: 10_000, members: []int{10, 100, 1000}, sizes: []int{100, 1 << 10, 64 << 10}, partition: 3, clients: 1,
		acks: []string{"0", "1", "all"}, batch: 1_000_012, stream: "kafka", rest: 2 * time.Second,
		good: 20, flood: 10_000, stall: 20 * time.Second,
	}
}

func run(ctx context.Context, args []string) error {
	o := defaults()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: bench [flags] ADDRESS [ADDRESS [ADDRESS]]\n\nmeasurements: %s\n\n", strings.Join(names(), " "))
		flags.PrintDefaults()
	}
	only := flags.String("only", "", "comma-separated measurements; all but flood, native and startup when empty")
	jsonFile := flags.String("json", "", "also write the figures to this file")
	startA := flags.String("start-a", "", "command that starts server A, for the measurements startup, kept and flood")
	startB := flags.String("start-b", "", "command that starts server B")
	flags.IntVar(&o.rounds, "rounds", o.rounds, "how often each measurement runs against each address")
	flags.Int64Var(&o.bytes, "bytes", o.bytes, "bytes of record values a throughput measurement writes and reads")
	flags.IntVar(&o.rate, "rate", o.rate, "records a second of the latency measurement")
	flags.DurationVar(&o.duration, "duration", o.duration, "length of the latency measurement, and of each part of flood")
	flags.IntVar(&o.requests, "requests", o.requests, "requests of the round-trip measurement")
	flags.IntVar(&o.groups, "groups", o.groups, "groups of the measurements groups and kept")
	flags.IntVar(&o.live, "live", o.live, "groups with a member of the measurement kept, beside the empty ones")
	flags.IntVar(&o.idle, "idle", o.idle, "connections of the idle measurement")
	flags.IntVar(&o.partition, "partitions", o.partition, "partitions of the throughput topics")
	flags.IntVar(&o.clients, "clients", o.clients, "producers, and then consumers, of the throughput measurement, each with a connection of its own")
	acks := flags.String("acks", strings.Join(o.acks, ","), "comma-separated acks of the throughput measurement")
	flags.Func("sizes", "comma-separated bytes of a record of the throughput measurement (default 100,1024,65536)", o.setSizes)
	flags.IntVar(&o.batch, "batch", o.batch, "bytes of records in a batch, and in a request of the Iggy SDK, of the throughput measurement")
	flags.StringVar(&o.native, "native", "", "iggy://user:password@host:port behind the gateway, for the measurement native")
	flags.StringVar(&o.stream, "stream", o.stream, "the Iggy stream that the gateway keeps its topics in")
	scrapeURL := flags.String("scrape", "", "with one ADDRESS: measure it with (A) and without (B) its metrics at this URL being read every second")
	flags.IntVar(&o.good, "good", o.good, "good clients of the measurement flood")
	flags.IntVar(&o.flood, "flood", o.flood, "connections of its attackers")
	flags.DurationVar(&o.stall, "stall", o.stall, "how long each of those stalls, at most")
	flags.StringVar(&o.metrics, "metrics", "", "URL of the server's metrics, for flood to tell its goroutines and heap")
	beside := flags.String("beside", "", "address of another server on this machine that the attackers of flood have first, which tells what they do to the machine alone")
	startBeside := flags.String("start-beside", "", "command that starts it")
	attacks := flags.String("attack", "", "be the attackers of flood against the address of this letter, or that of -beside if this is beside, until the input ends")
	o.attackers = attackersBeside(args)
	var login cli.Connection
	flags.StringVar(&login.CA, "ca", "", "PEM file with the authorities to trust, of addresses as ssl://host:port")
	flags.StringVar(&login.Certificate, "cert", "", "PEM file with a certificate to show there")
	flags.StringVar(&login.Key, "key", "", "PEM file with its key, if that is another file")
	flags.StringVar(&login.User, "user", "", "who to log in as, at addresses as sasl_ssl://host:port")
	flags.StringVar(&login.PasswordFile, "password-file", "", "file with the password alone")
	flags.StringVar(&login.Mechanism, "mechanism", "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default SCRAM-SHA-512)")
	flags.StringVar(&login.TokenFile, "token-file", "", "file with a token, to log in by OAUTHBEARER")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp): // the usage has been written
		return nil
	case err != nil:
		return err
	}
	if n := flags.NArg(); n < 1 || n > len(letters) {
		flags.Usage()
		return fmt.Errorf("one to three addresses, not %d", n)
	}
	if o.clients < 1 || o.clients > o.partition {
		return fmt.Errorf("-clients: from 1 to the number of partitions, %d", o.partition)
	}
	o.acks = strings.Split(*acks, ",")
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	targets := make([]*target, flags.NArg())
	for i, addr := range flags.Args() {
		if targets[i], err = newTarget(letters[i], addr, []string{*startA, *startB, ""}[i], login); err != nil {
			return err
		}
		if targets[i].iggy != nil && *only != "throughput" {
			return errors.New("an Iggy server takes part in -only throughput alone")
		}
	}
	if *beside != "" {
		if o.beside, err = newTarget("beside", *beside, *startBeside, login); err != nil {
			return fmt.Errorf("-beside: %w", err)
		}
		if *attacks == o.beside.name {
			return attacking(ctx, o.beside, o)
		}
	}
	if i := slices.Index(letters, *attacks); i >= 0 && i < len(targets) {
		return attacking(ctx, targets[i], o)
	}
	if *scrapeURL != "" {
		if len(targets) != 1 {
			return errors.New("-scrape: compares one address with itself")
		}
		if err := scrape(ctx, *scrapeURL); err != nil {
			return fmt.Errorf("-scrape: %w", err)
		}
		targets = scraped(targets[0], *scrapeURL)
	}
	quietSDK()

	rep := newReport(targets, o.rounds)
	for _, m := range chosen {
		for round := range o.rounds {
			for _, t := range targets {
				t.find()
				fmt.Fprintf(os.Stderr, "%s, round %d, %s (%s)\n", m.name, round+1, t.name, t.shown)
				stop := t.scraping(ctx)
				err := m.run(ctx, t, o, rep.sink(t, round))
				stop()
				if err != nil {
					return fmt.Errorf("%s against %s: %w", m.name, t.shown, err)
				}
			}
		}
	}
	rep.print(os.Stdout)
	if *jsonFile == "" {
		return nil
	}
	out, err := json.MarshalIndent(rep.rows(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*jsonFile, append(out, '\n'), 0o644)
}

// setSizes reads the flag of that name.
func (o *options) setSizes(text string) error {
	o.sizes = nil
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of bytes", word)
		}
		o.sizes = append(o.sizes, n)
	}
	return nil
}

// measurement is one thing that bench can measure.
type measurement struct {
	name string
	run  func(ctx context.Context, t *target, o options, put sink) error
}

func measurements() []measurement {
	return []measurement{
		{"throughput", throughput},
		{"latency", latency},
		{"cleaning", cleaning},
		{"roundtrip", roundTrip},
		{"groups", manyGroups},
		{"kept", keptGroups},
		{"rebalance", rebalance},
		{"idle", idleConnections},
		{"flood", flood},
		{"native", native},
		{"startup", startup},
	}
}

func names() []string {
	var out []string
	for _, m := range measurements() {
		out = append(out, m.name)
	}
	return out
}

func choose(only string) ([]measurement, error) {
	all := measurements()
	if only == "" {
		return all[:len(all)-3], nil // these need to be told of more
	}
	var out []measurement
	for _, want := range strings.Split(only, ",") {
		found := false
		for _, m := range all {
			if m.name == want {
				out, found = append(out, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no measurement %q; there are %s", want, strings.Join(names(), ", "))
		}
	}
	return out, nil
}
