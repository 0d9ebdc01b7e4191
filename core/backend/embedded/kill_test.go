package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// The environment of a child process that is going to be killed.
const (
	victimDir  = "EMBEDDED_TEST_VICTIM_DIR"
	victimSync = "EMBEDDED_TEST_VICTIM_SYNC"
)

const victimWriters = 3

// TestKill kills a process under load again and again, and looks for every
// record and commit that it had acknowledged: once, in order, at its offset.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, rounds := range map[string]int{"sync off": 12, "sync on": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := embedded.DefaultConfig()
			cfg.Dir, cfg.Sync = t.TempDir(), name == "sync on"
			acks := &acknowledged{records: map[string]int64{}}
			for round := range rounds {
				lines := 20 + rand.IntN(400)
				if cfg.Sync {
					lines /= 4
				}
				acks.collect(t, cfg, lines)
				if round%3 < 2 { // else the next child finds what this one left
					acks.verify(t, cfg)
				}
			}
			acks.verify(t, cfg)
		})
	}
}

// acknowledged is what children have been told is safe.
type acknowledged struct {
	records map[string]int64 // "writer-number" → offset
	commits [victimWriters]int64
	starts  [victimWriters]int64 // of the logs
	states  [victimWriters]int64 // what was saved of groups
}

// collect runs a child, kills it after it has written that many lines, and
// takes in all that it said.
func (a *acknowledged) collect(t *testing.T, cfg embedded.Config, lines int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+cfg.Dir, fmt.Sprintf("%s=%v", victimSync, cfg.Sync))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewScanner(out)
	n := 0
	for in.Scan() {
		var w, number, offset int64
		switch line := in.Text(); {
		case strings.HasPrefix(line, "a "):
			_, err = fmt.Sscanf(line, "a %d %d %d", &w, &number, &offset)
			a.records[fmt.Sprintf("%d-%d", w, number)] = offset
		case strings.HasPrefix(line, "c "):
			_, err = fmt.Sscanf(line, "c %d %d", &w, &offset)
			a.commits[w] = offset
		case strings.HasPrefix(line, "d "):
			_, err = fmt.Sscanf(line, "d %d %d", &w, &offset)
			a.starts[w] = offset
		case strings.HasPrefix(line, "g "):
			_, err = fmt.Sscanf(line, "g %d %d", &w, &offset)
			a.states[w] = offset
		default:
			err = fmt.Errorf("the child says %q", line)
		}
		// The last line may be cut.
		if n++; n <= lines {
			require.NoError(t, err)
		}
		if n == lines {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.GreaterOrEqual(t, n, lines, "the child ended by itself")
	require.Error(t, cmd.Wait())
}

func (a *acknowledged) verify(t *testing.T, cfg embedded.Config) {
	b := newBox(t, vfs.Default, cfg)
	b.opts.BootID = nil
	defer b.close()
	topic, err := b.store.Topic(t.Context(), "t")
	require.NoError(t, err)
	for w := range victimWriters {
		p := backend.Partition{Topic: topic.ID, Index: int32(w)}
		bounds, err := b.store.Bounds(t.Context(), p)
		require.NoError(t, err)
		require.GreaterOrEqual(t, bounds.Start, a.starts[w], "a start that was acknowledged")
		require.LessOrEqual(t, bounds.Start, bounds.End)
		seen, want := 0, 0
		for number, offset := range a.records {
			if strings.HasPrefix(number, fmt.Sprint(w, "-")) && offset >= bounds.Start {
				want++
			}
		}
		all := readLog(t, b.store, p)
		for _, r := range all {
			if r.Offset < bounds.Start {
				continue // in the batch that holds the start
			}
			i := r.Offset
			number, _, _ := strings.Cut(string(r.Value), " ")
			require.Equal(t, fmt.Sprintf("%d-%d", w, i), number, "once, and in order")
			if offset, ok := a.records[number]; ok {
				require.Equal(t, offset, r.Offset, "where it was acknowledged")
				seen++
			}
		}
		require.Equal(t, want, seen, "every acknowledged record is there")
		require.Equal(t, bounds.End, all[len(all)-1].Offset+1)
		got, err := b.store.FetchOffsets(t.Context(), fmt.Sprint("g", w), nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, got[p].Offset, a.commits[w], "a commit that was acknowledged")
	}
	missing := a.states
	require.NoError(t, b.store.EachGroup(t.Context(), func(group string, state []byte) error {
		var w, n int64
		if _, err := fmt.Sscanf(group, "g%d", &w); err != nil || state == nil {
			return err
		}
		_, err := fmt.Sscanf(string(state), "%d", &n)
		require.GreaterOrEqual(t, n, a.states[w], "a state that was acknowledged")
		missing[w] = 0
		return err
	}))
	require.Zero(t, missing, "and every group")
}

// readLog reads a whole log.
func readLog(t testing.TB, s *embedded.Store, p backend.Partition) []backendtest.Record {
	t.Helper()
	bounds, err := s.Bounds(t.Context(), p)
	require.NoError(t, err)
	var all []backendtest.Record
	for at := bounds.Start; at < bounds.End; {
		b, _, err := s.Read(t.Context(), backend.Read{Partition: p, Offset: at, MaxBytes: 256 << 10, AtLeastOne: true})
		require.NoError(t, err)
		batch := backendtest.Records(t, b)
		require.NotEmpty(t, batch)
		all = append(all, batch...)
		at = batch[len(batch)-1].Offset + 1
	}
	return all
}

// victim is the child: it writes until it is killed.
func victim(dir string) {
	cfg := embedded.DefaultConfig()
	cfg.Dir, cfg.Sync = dir, os.Getenv(victimSync) == "true"
	catalog, err := topicconfig.NewCatalog(nil)
	die(err)
	s := embedded.New(cfg, catalog, embedded.Options{})
	ctx := context.Background()
	die(s.Start(ctx))
	topic, err := s.Topic(ctx, "t")
	if err != nil {
		topic, err = s.CreateTopic(ctx, backend.NewTopic{
			Name: "t", Partitions: victimWriters, Overrides: map[string]string{"segment.bytes": "1048576"},
		})
	}
	die(err)
	for w := range int32(victimWriters) {
		go write(s, backend.Partition{Topic: topic.ID, Index: w})
	}
	select {}
}

// write appends numbered records, one or more to a batch, and says so when they
// are acknowledged. It begins by sending the last batch again, as a producer
// does that got no answer.
func write(s *embedded.Store, p backend.Partition) {
	ctx, w := context.Background(), p.Index
	bounds, err := s.Bounds(ctx, p)
	die(err)
	next := int32(bounds.End)
	if next > 0 {
		b, _, err := s.Read(ctx, backend.Read{Partition: p, Offset: bounds.End - 1, MaxBytes: 1, AtLeastOne: true})
		die(err)
		last, _, err := record.Parse(b)
		die(err)
		again := recordtest.Values(make([]string, last.Count)...).From(int64(w), 0, last.BaseSequence)
		out := appendOne(s, p, again)
		if !out.Duplicate || out.BaseOffset != last.BaseOffset {
			die(fmt.Errorf("a batch sent again: %+v, was at %d", out, last.BaseOffset))
		}
	}
	rng := rand.New(rand.NewPCG(uint64(next), uint64(w)))
	for {
		b, first := recordtest.New(), next
		for range 1 + rng.IntN(3) {
			v := fmt.Sprintf("%d-%d %s", w, next, strings.Repeat("x", rng.IntN(20_000)))
			b.Records = append(b.Records, recordtest.Record{Value: []byte(v)})
			next++
		}
		out := appendOne(s, p, b.From(int64(w), 0, first))
		die(out.Err)
		var said strings.Builder
		for n := first; n < next; n++ {
			fmt.Fprintf(&said, "a %d %d %d\n", w, n, out.BaseOffset+int64(n-first))
		}
		if rng.IntN(4) == 0 {
			die(s.CommitOffsets(ctx, fmt.Sprint("g", w), []backend.Commit{{
				Partition: p, CommittedOffset: backend.CommittedOffset{Offset: int64(next)},
			}}))
			fmt.Fprintf(&said, "c %d %d\n", w, next)
		}
		if rng.IntN(8) == 0 {
			start := out.LogStart + rng.Int64N(int64(first)-out.LogStart+1)
			got, err := s.DeleteRecords(ctx, p, start)
			die(err)
			fmt.Fprintf(&said, "d %d %d\n", w, got)
		}
		if rng.IntN(8) == 0 {
			die(s.SaveGroup(ctx, fmt.Sprint("g", w), fmt.Append(nil, next)))
			fmt.Fprintf(&said, "g %d %d\n", w, next)
		}
		os.Stdout.WriteString(said.String())
	}
}

func appendOne(s *embedded.Store, p backend.Partition, b recordtest.Batch) backend.Appended {
	batch, _, err := record.Parse(b.Bytes())
	die(err)
	return s.Append(context.Background(), []backend.Append{{Partition: p, Batch: batch}})[0]
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
		os.Exit(1)
	}
}

// split parses whole batches one after another.
func split(t testing.TB, b []byte) (all []record.Batch) {
	for len(b) > 0 {
		one, rest, err := record.Parse(b)
		if err != nil {
			t.Error(err)
			return all
		}
		all, b = append(all, one), rest
	}
	return all
}
