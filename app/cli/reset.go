package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// moveRow is what a reset does to a partition.
type moveRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Before    int64  `json:"before"` // −1: nothing was committed
	After     int64  `json:"after"`
	Done      bool   `json:"done"`
}

type moveRows []moveRow

func (rows moveRows) table(t *table) {
	t.row("TOPIC", "PARTITION", "COMMITTED", "NEW", "STATE")
	for _, r := range rows {
		state := "would be reset"
		if r.Done {
			state = "reset"
		}
		t.row(r.Topic, r.Partition, number(r.Before), r.After, state)
	}
}

// target says where a reset goes to: exactly one of them is set.
type target struct {
	earliest, latest bool
	offset, shift    int64
	at               moment
	by               time.Duration
}

func groupsReset(o *options) *cobra.Command {
	var (
		to      target
		from    []string
		execute bool
	)
	c := &cobra.Command{
		Use:   "reset GROUP [--topic TOPIC] --to-earliest|--to-latest|--to-offset N|--to-time T|--by-duration D|--shift-by N",
		Short: "move what a group without members has committed; without --execute only show how",
		Args:  one("group"),
	}
	c.RunE = o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
		moves, err := plan(ctx, admin, c, args[0], from, to)
		if err != nil {
			return nil, err
		}
		if !execute {
			return moves, nil
		}
		return moves, commit(ctx, admin, args[0], moves)
	})
	f := c.Flags()
	f.StringArrayVarP(&from, "topic", "t", nil, "TOPIC, or TOPIC:0,1,2 for some partitions; may be repeated; without it all that was committed")
	f.BoolVar(&to.earliest, "to-earliest", false, "to the start of each partition")
	f.BoolVar(&to.latest, "to-latest", false, "to the end of each partition")
	f.Int64Var(&to.offset, "to-offset", 0, "to an offset, or the nearest that there is")
	f.Var(&to.at, "to-time", "to the first record of a time, as 2026-01-31T12:00:00Z or in ms since the epoch")
	f.DurationVar(&to.by, "by-duration", 0, "to the first record that is no older than this, such as 90m")
	f.Int64Var(&to.shift, "shift-by", 0, "forwards, or backwards when negative, by so many offsets")
	f.BoolVar(&execute, "execute", false, "do it")
	goals := []string{"to-earliest", "to-latest", "to-offset", "to-time", "by-duration", "shift-by"}
	c.MarkFlagsMutuallyExclusive(goals...)
	c.MarkFlagsOneRequired(goals...)
	return c
}

// plan says where each partition goes.
func plan(ctx context.Context, admin cluster, c *cobra.Command, group string, from []string, to target) (moveRows, error) {
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	topics, err := concerned(ctx, admin, group, committed, from)
	if err != nil {
		return nil, err
	}
	starts, ends, err := bounds(ctx, admin, topics.Topics())
	if err != nil {
		return nil, err
	}
	goal, err := to.resolve(ctx, admin, c, topics.Topics(), starts, ends)
	if err != nil {
		return nil, err
	}
	moves := moveRows{}
	for _, topic := range topics.Sorted() {
		for _, p := range topic.Partitions {
			start, end := starts[topic.Topic][p], ends[topic.Topic][p]
			if err := cmp.Or(start.Err, end.Err); err != nil {
				return nil, fmt.Errorf("%s/%d: %w", topic.Topic, p, plain(err))
			}
			move := moveRow{Topic: topic.Topic, Partition: p, Before: -1}
			if at, ok := committed.Lookup(topic.Topic, p); ok {
				move.Before = at.At
			}
			if move.After, err = goal(move); err != nil {
				return nil, err
			}
			move.After = min(max(move.After, start.Offset), end.Offset)
			moves = append(moves, move)
		}
	}
	return moves, nil
}

// concerned returns the partitions that are to be reset.
func concerned(ctx context.Context, admin cluster, group string, committed kadm.OffsetResponses, from []string) (kadm.TopicsSet, error) {
	if len(from) == 0 {
		all := committed.Offsets().TopicsSet()
		if len(all) == 0 {
			return nil, fmt.Errorf("group %s has committed nothing; --topic says what to reset", group)
		}
		return all, nil
	}
	found, err := existing(ctx, admin, topicsOf(from)...)
	if err != nil {
		return nil, err
	}
	return choose(from, func(topic string) []int32 { return found[topic].Partitions.Numbers() })
}

// resolve returns the function that says where a partition goes to.
func (to target) resolve(ctx context.Context, admin cluster, c *cobra.Command, topics []string, starts, ends kadm.ListedOffsets) (func(moveRow) (int64, error), error) {
	listed := func(offsets kadm.ListedOffsets) func(moveRow) (int64, error) {
		return func(m moveRow) (int64, error) { return offsets[m.Topic][m.Partition].Offset, nil }
	}
	switch flags := c.Flags(); {
	case flags.Changed("to-earliest"):
		return listed(starts), nil
	case flags.Changed("to-latest"):
		return listed(ends), nil
	case flags.Changed("to-offset"):
		return func(moveRow) (int64, error) { return to.offset, nil }, nil
	case flags.Changed("shift-by"):
		return func(m moveRow) (int64, error) {
			if m.Before < 0 {
				return 0, fmt.Errorf("%s/%d: the group has committed nothing that could be shifted", m.Topic, m.Partition)
			}
			return m.Before + to.shift, nil
		}, nil
	}
	at := to.at.Time
	if at.IsZero() {
		at = time.Now().Add(-to.by)
	}
	// Where no record is as young, this is the end, as with Kafka's own tool.
	offsets, err := admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
	return listed(offsets), err
}

// moment is a flag for a time: of RFC 3339, or ms since the epoch.
type moment struct{ time.Time }

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		m.Time = time.UnixMilli(ms)
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("it is no time; write 2026-01-31T12:00:00Z, or ms since the epoch")
	}
	m.Time = at
	return nil
}

// Type implements pflag.Value.
func (m *moment) Type() string { return "time" }

func (m *moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339)
}

// commit does what was planned. All or nothing: a group that has got members
// meanwhile refuses all.
func commit(ctx context.Context, admin cluster, group string, moves moveRows) error {
	described, err := admin.DescribeGroups(ctx, group)
	if err != nil {
		return err
	}
	if g := described[group]; len(g.Members) > 0 {
		return fmt.Errorf("group %s has members and is %s: stop them first, as they would go on from where they are", group, g.State)
	}
	offsets := kadm.Offsets{}
	for _, m := range moves {
		offsets.AddOffset(m.Topic, m.Partition, m.After, -1)
	}
	answers, err := admin.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return err
	}
	var failed error
	for i, m := range moves {
		switch answer, ok := answers.Lookup(m.Topic, m.Partition); {
		case !ok:
			failed = errors.Join(failed, fmt.Errorf("%s/%d: no answer", m.Topic, m.Partition))
		case answer.Err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s/%d: %w", m.Topic, m.Partition, plain(answer.Err)))
		default:
			moves[i].Done = true
		}
	}
	return failed
}

// choose reads TOPIC and TOPIC:0,1,2; all names the partitions of the former.
func choose(from []string, all func(topic string) []int32) (kadm.TopicsSet, error) {
	chosen := kadm.TopicsSet{}
	for _, entry := range from {
		topic, list, some := strings.Cut(entry, ":")
		partitions := all(topic)
		if !some {
			chosen.Add(topic, partitions...)
			continue
		}
		for _, word := range strings.Split(list, ",") {
			p, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, UsageError{fmt.Errorf("--topic %q: write TOPIC, or TOPIC:0,1,2", entry)}
			}
			if !slices.Contains(partitions, int32(p)) {
				return nil, fmt.Errorf("%s has no partition %d", topic, p)
			}
			chosen.Add(topic, int32(p))
		}
	}
	return chosen, nil
}

// topicsOf returns the topics that are named.
func topicsOf(from []string) []string {
	names := make([]string, len(from))
	for i, entry := range from {
		names[i], _, _ = strings.Cut(entry, ":")
	}
	return names
}
