package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topics(o *options) *cobra.Command {
	return family("topics", "list, describe, create, change and delete topics",
		topicsList(o), topicsDescribe(o), topicsCreate(o), topicsAlter(o), topicsDelete(o), topicsTrim(o))
}

// topicRow is a topic in a list.
type topicRow struct {
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Records    int64  `json:"records"` // end − start, over all partitions; −1 unknown
	Bytes      int64  `json:"bytes"`   // on the disks of all brokers; −1 unknown
}

type topicRows []topicRow

func (rows topicRows) table(t *table) {
	t.row("TOPIC", "PARTITIONS", "REPLICAS", "RECORDS", "SIZE")
	for _, r := range rows {
		t.row(r.Topic, r.Partitions, r.Replicas, number(r.Records), size(r.Bytes))
	}
}

// number writes a count that may be unknown.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// size writes bytes for people.
func size(n int64) string {
	if n < 0 {
		return "-"
	}
	return humanize.IBytes(uint64(n))
}

// recordsMeaning explains two columns: no request tells how many records there are, and sizes
// take a right of their own.
const recordsMeaning = "RECORDS counts offsets, of which compaction leaves some without a record; SIZE is told to who may DESCRIBE the cluster, and is - for others"

func topicsList(o *options) *cobra.Command {
	internal := false
	c := &cobra.Command{Use: "list", Short: "list all topics", Long: "list all topics; " + recordsMeaning, Args: none,
		RunE: o.does(func(ctx context.Context, admin cluster, _ []string) (result, error) {
			list := admin.ListTopics
			if internal {
				list = admin.ListTopicsWithInternal
			}
			found, err := list(ctx)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return topicRows{}, nil
			}
			return summarize(ctx, admin, found)
		})}
	c.Flags().BoolVar(&internal, "internal", false, "internal topics, too")
	return c
}

// summarize asks how much the topics hold.
func summarize(ctx context.Context, admin cluster, found kadm.TopicDetails) (topicRows, error) {
	starts, ends, err := bounds(ctx, admin, found.Names())
	if err != nil {
		return nil, err
	}
	sizes := diskSizes(ctx, admin, found)
	rows := topicRows{}
	for _, topic := range found.Sorted() {
		row := topicRow{Topic: topic.Topic, Partitions: len(topic.Partitions), Bytes: -1}
		for _, p := range topic.Partitions {
			row.Replicas = max(row.Replicas, len(p.Replicas))
			start, known := starts.Lookup(topic.Topic, p.Partition)
			end, alsoKnown := ends.Lookup(topic.Topic, p.Partition)
			if !known || !alsoKnown || start.Err != nil || end.Err != nil || row.Records < 0 {
				row.Records = -1
				continue
			}
			row.Records += end.Offset - start.Offset
		}
		if bytes, known := sizes[topic.Topic]; known {
			row.Bytes = sum(bytes)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func sum(bytes map[int32]int64) (total int64) {
	for _, n := range bytes {
		total += n
	}
	return total
}

// bounds asks for the ends of all partitions of the topics.
func bounds(ctx context.Context, admin cluster, topics []string) (starts, ends kadm.ListedOffsets, err error) {
	if starts, err = admin.ListStartOffsets(ctx, topics...); err != nil {
		return nil, nil, err
	}
	ends, err = admin.ListEndOffsets(ctx, topics...)
	return starts, ends, err
}

// diskSizes asks how much the partitions take. A cluster that does not tell is no
// reason to fail: nothing is known then.
func diskSizes(ctx context.Context, admin cluster, found kadm.TopicDetails) map[string]map[int32]int64 {
	sizes := map[string]map[int32]int64{}
	dirs, err := admin.DescribeAllLogDirs(ctx, found.TopicsSet())
	if err != nil {
		return sizes
	}
	dirs.Each(func(dir kadm.DescribedLogDir) {
		dir.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if sizes[p.Topic] == nil {
				sizes[p.Topic] = map[int32]int64{}
			}
			sizes[p.Topic][p.Partition] += p.Size
		})
	})
	return sizes
}

// topicFull is a topic in full.
type topicFull struct {
	Topic      string            `json:"topic"`
	ID         string            `json:"id"` // as Kafka's tools write it
	Partitions []partitionRow    `json:"partitions"`
	Configs    map[string]string `json:"configs"` // those that were set on it; null: the caller may not see them
}

type partitionRow struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	Start     int64   `json:"start"`
	End       int64   `json:"end"`
	Bytes     int64   `json:"bytes"`
}

type topicsFull []topicFull

func (all topicsFull) table(t *table) {
	for i, topic := range all {
		if i > 0 {
			t.gap()
		}
		t.row("topic", topic.Topic)
		t.row("id", topic.ID)
		if topic.Configs == nil {
			t.row("config", "")
		}
		for _, name := range slices.Sorted(maps.Keys(topic.Configs)) {
			t.row("config", name+"="+topic.Configs[name])
		}
		t.row("PARTITION", "LEADER", "REPLICAS", "START", "END", "RECORDS", "SIZE")
		for _, p := range topic.Partitions {
			t.row(p.Partition, p.Leader, strings.Trim(fmt.Sprint(p.Replicas), "[]"), p.Start, p.End, p.End-p.Start, size(p.Bytes))
		}
	}
}

// unseen implements partial: configs take a right of their own.
func (all topicsFull) unseen() string {
	var topics []string
	for _, topic := range all {
		if topic.Configs == nil {
			topics = append(topics, topic.Topic)
		}
	}
	if topics == nil {
		return ""
	}
	return fmt.Sprintf("configs of %s are not shown, which takes DESCRIBE_CONFIGS on the topic", list(topics))
}

func topicsDescribe(o *options) *cobra.Command {
	return &cobra.Command{Use: "describe TOPIC...", Short: "show partitions, offsets, sizes and configs of topics",
		Long: "show partitions, offsets, sizes and configs of topics; " + recordsMeaning, Args: named("topic"),
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			found, err := admin.ListTopicsWithInternal(ctx, args...)
			if err != nil {
				return nil, err
			}
			var missing error
			for _, topic := range found.Sorted() {
				if topic.Err != nil {
					missing = errors.Join(missing, fmt.Errorf("%s: %w", topic.Topic, plain(topic.Err)))
					delete(found, topic.Topic)
				}
			}
			if len(found) == 0 {
				return nil, missing
			}
			full, err := inFull(ctx, admin, found)
			return full, errors.Join(missing, err)
		})}
}

func inFull(ctx context.Context, admin cluster, found kadm.TopicDetails) (topicsFull, error) {
	starts, ends, err := bounds(ctx, admin, found.Names())
	if err != nil {
		return nil, err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, found.Names()...)
	if err != nil {
		return nil, err
	}
	sizes := diskSizes(ctx, admin, found)
	all, failed := topicsFull{}, error(nil)
	for _, topic := range found.Sorted() {
		full := topicFull{Topic: topic.Topic, ID: base64.RawURLEncoding.EncodeToString(topic.ID[:]), Configs: map[string]string{}}
		for _, p := range topic.Partitions.Sorted() {
			row := partitionRow{Partition: p.Partition, Leader: p.Leader, Replicas: p.Replicas, Start: -1, End: -1, Bytes: -1}
			if start, ok := starts.Lookup(topic.Topic, p.Partition); ok && start.Err == nil {
				row.Start = start.Offset
			}
			if end, ok := ends.Lookup(topic.Topic, p.Partition); ok && end.Err == nil {
				row.End = end.Offset
			}
			if bytes, ok := sizes[topic.Topic][p.Partition]; ok {
				row.Bytes = bytes
			}
			full.Partitions = append(full.Partitions, row)
		}
		switch set, err := configs.On(topic.Topic, nil); {
		case err == nil && denied(set.Err):
			full.Configs = nil
		case err != nil || set.Err != nil:
			failed = errors.Join(failed, fmt.Errorf("configs of %s: %w", topic.Topic, cmp.Or(err, because(set.Err, set.ErrMessage))))
		default:
			for _, config := range set.Configs {
				if config.Source == kmsg.ConfigSourceDynamicTopicConfig {
					full.Configs[config.Key] = config.MaybeValue()
				}
			}
		}
		all = append(all, full)
	}
	return all, failed
}

// settings reads --set flags.
func settings(set []string) (map[string]*string, error) {
	configs := map[string]*string{}
	for _, entry := range set {
		name, value, found := strings.Cut(entry, "=")
		if !found || name == "" {
			return nil, UsageError{fmt.Errorf("--set %q: write NAME=VALUE", entry)}
		}
		configs[name] = &value
	}
	return configs, nil
}

func topicsCreate(o *options) *cobra.Command {
	var (
		partitions int32
		replicas   int16
		set        []string
		dryRun     bool
	)
	c := &cobra.Command{Use: "create TOPIC...", Short: "create topics", Args: named("topic"),
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			configs, err := settings(set)
			if err != nil {
				return nil, err
			}
			create, word := admin.CreateTopics, "created"
			if dryRun {
				create, word = admin.ValidateCreateTopics, "could be created"
			}
			made, err := create(ctx, partitions, replicas, configs, args...)
			if err != nil {
				return nil, err
			}
			var d done
			for _, topic := range made.Sorted() {
				d.note(topic.Topic, word, because(topic.Err, topic.ErrMessage))
			}
			return d.outcome()
		})}
	c.Flags().Int32VarP(&partitions, "partitions", "p", -1, "number of partitions; -1: the cluster's default")
	c.Flags().Int16VarP(&replicas, "replicas", "r", -1, "replicas of each; -1: the cluster's default")
	c.Flags().StringArrayVar(&set, "set", nil, "a config as NAME=VALUE; may be repeated")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check only")
	return c
}

func topicsAlter(o *options) *cobra.Command {
	var (
		partitions int32
		set, unset []string
	)
	c := &cobra.Command{Use: "alter TOPIC...", Short: "change configs of topics, or give them more partitions", Args: named("topic")}
	c.RunE = o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
		values, err := settings(set)
		if err != nil {
			return nil, err
		}
		if len(values)+len(unset) == 0 && !c.Flags().Changed("partitions") {
			return nil, UsageError{errors.New("topics alter needs --set, --unset or --partitions")}
		}
		var changes []kadm.AlterConfig
		for _, name := range slices.Sorted(maps.Keys(values)) {
			changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: values[name]})
		}
		for _, name := range unset {
			changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
		}
		var d done
		if len(changes) > 0 {
			answers, err := admin.AlterTopicConfigs(ctx, changes, args...)
			if err != nil {
				return nil, err
			}
			for _, answer := range answers {
				d.note(answer.Name, "configs changed", because(answer.Err, answer.ErrMessage))
			}
		}
		if c.Flags().Changed("partitions") {
			answers, err := admin.UpdatePartitions(ctx, int(partitions), args...)
			if err != nil {
				return nil, err
			}
			for _, answer := range answers.Sorted() {
				d.note(answer.Topic, fmt.Sprintf("has %d partitions", partitions), because(answer.Err, answer.ErrMessage))
			}
		}
		return d.outcome()
	})
	c.Flags().Int32VarP(&partitions, "partitions", "p", 0, "number of partitions that the topics shall have")
	c.Flags().StringArrayVar(&set, "set", nil, "a config as NAME=VALUE; may be repeated")
	c.Flags().StringArrayVar(&unset, "unset", nil, "a config that shall return to its default; may be repeated")
	return c
}

func topicsDelete(o *options) *cobra.Command {
	return &cobra.Command{Use: "delete TOPIC...", Short: "delete topics with their records and committed offsets", Args: named("topic"),
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			answers, err := admin.DeleteTopics(ctx, args...)
			if err != nil {
				return nil, err
			}
			var d done
			for _, answer := range answers.Sorted() {
				d.note(answer.Topic, "deleted", because(answer.Err, answer.ErrMessage))
			}
			return d.outcome()
		})}
}

func topicsTrim(o *options) *cobra.Command {
	var (
		partitions []int32
		before     int64
	)
	c := &cobra.Command{Use: "trim TOPIC --before OFFSET", Short: "delete the records below an offset", Args: one("topic")}
	c.RunE = o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
		if !c.Flags().Changed("before") {
			return nil, UsageError{errors.New("topics trim needs --before")}
		}
		if len(partitions) == 0 {
			found, err := existing(ctx, admin, args...)
			if err != nil {
				return nil, err
			}
			partitions = found[args[0]].Partitions.Numbers()
		}
		trim := kadm.Offsets{}
		for _, p := range partitions {
			trim.AddOffset(args[0], p, before, -1)
		}
		answers, err := admin.DeleteRecords(ctx, trim)
		if err != nil {
			return nil, err
		}
		var ends kadm.ListedOffsets
		if answers.Error() != nil {
			ends, _ = admin.ListEndOffsets(ctx, args...) // they explain, and no more
		}
		var d done
		for _, answer := range answers.Sorted() {
			end, _ := ends.Lookup(answer.Topic, answer.Partition)
			d.note(fmt.Sprintf("%s/%d", answer.Topic, answer.Partition), fmt.Sprintf("starts at offset %d", answer.LowWatermark), untrimmed(answer.Err, end))
		}
		return d.outcome()
	})
	c.Flags().Int32SliceVarP(&partitions, "partitions", "p", nil, "partitions; without it all of the topic")
	c.Flags().Int64Var(&before, "before", 0, "first offset that stays; -1: none stays")
	return c
}

// untrimmed says why a partition was not trimmed, where the code does not.
func untrimmed(err error, end kadm.ListedOffset) error {
	switch {
	case errors.Is(err, kerr.PolicyViolation):
		return because(err, "a topic that is only compacted keeps its records; cleanup.policy must have delete")
	case errors.Is(err, kerr.OffsetOutOfRange) && end.Topic != "" && end.Err == nil:
		return because(err, fmt.Sprintf("not trimmed, since it ends at offset %d; -p names the partitions to trim, --before -1 is the end of each", end.Offset))
	}
	return err
}
