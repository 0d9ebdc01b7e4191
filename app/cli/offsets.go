package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func offsets(o *options) *cobra.Command {
	return family("offsets", "show the offsets of topics", offsetsList(o))
}

// offsetRow is an offset of a partition.
type offsetRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`    // −1: there is none
	Timestamp int64  `json:"timestamp"` // ms since the epoch; −1: not asked for
}

type offsetRows []offsetRow

func (rows offsetRows) table(t *table) {
	t.row("TOPIC", "PARTITION", "OFFSET", "TIMESTAMP")
	for _, r := range rows {
		t.row(r.Topic, r.Partition, number(r.Offset), number(r.Timestamp))
	}
}

// position is the flag --at: a word for one of Kafka's special timestamps, or a
// time.
type position struct {
	word string
	moment
}

// Set implements pflag.Value.
func (p *position) Set(text string) error {
	switch text {
	case "earliest", "latest", "max-timestamp":
		*p = position{word: text}
		return nil
	}
	p.word = ""
	if err := p.moment.Set(text); err != nil {
		return errors.New("write earliest, latest, max-timestamp, a time as 2026-01-31T12:00:00Z, or ms since the epoch")
	}
	return nil
}

func (p *position) String() string { return cmp.Or(p.word, p.moment.String()) }

func offsetsList(o *options) *cobra.Command {
	at := position{word: "latest"}
	c := &cobra.Command{Use: "list [TOPIC...]", Short: "list an offset of each partition of topics, of all without a name", Args: cobra.ArbitraryArgs,
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			found, err := existing(ctx, admin, args...)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return offsetRows{}, nil
			}
			listed, err := at.list(ctx, admin, found.Names())
			if err != nil {
				return nil, err
			}
			rows, failed := offsetRows{}, error(nil)
			listed.Each(func(l kadm.ListedOffset) {
				if l.Err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s/%d: %w", l.Topic, l.Partition, plain(l.Err)))
					return
				}
				rows = append(rows, offsetRow{l.Topic, l.Partition, l.Offset, l.Timestamp})
			})
			slices.SortFunc(rows, func(a, b offsetRow) int {
				return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
			})
			return rows, failed
		})}
	c.Flags().Var(&at, "at", "earliest, latest, max-timestamp, or a time as 2026-01-31T12:00:00Z or in ms since the epoch")
	return c
}

// list asks for the offsets at the position.
func (p *position) list(ctx context.Context, admin cluster, topics []string) (kadm.ListedOffsets, error) {
	switch p.word {
	case "earliest":
		return admin.ListStartOffsets(ctx, topics...)
	case "latest":
		return admin.ListEndOffsets(ctx, topics...)
	case "max-timestamp":
		return admin.ListMaxTimestampOffsets(ctx, topics...)
	}
	return admin.ListOffsetsAfterMilli(ctx, p.UnixMilli(), topics...)
}

// existing returns the named topics, or all; one that is not there is an error.
func existing(ctx context.Context, admin cluster, names ...string) (kadm.TopicDetails, error) {
	list := admin.ListTopics // without the internal ones
	if len(names) > 0 {
		list = admin.ListTopicsWithInternal
	}
	found, err := list(ctx, names...)
	for _, topic := range found.Sorted() {
		if topic.Err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", topic.Topic, plain(topic.Err)))
		}
	}
	return found, err
}
