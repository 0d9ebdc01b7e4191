package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

func groups(o *options) *cobra.Command {
	return family("groups", "list, describe, reset and delete consumer groups",
		groupsList(o), groupsDescribe(o), groupsReset(o), groupsDelete(o), groupsForget(o))
}

// groupRow is a group in a list.
type groupRow struct {
	Group        string `json:"group"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocol_type"`
	State        string `json:"state"`
}

type groupRows []groupRow

func (rows groupRows) table(t *table) {
	t.row("GROUP", "TYPE", "PROTOCOL", "STATE")
	for _, r := range rows {
		t.row(r.Group, r.Type, r.ProtocolType, r.State)
	}
}

func groupsList(o *options) *cobra.Command {
	var states []string
	c := &cobra.Command{Use: "list", Short: "list all groups", Args: none,
		RunE: o.does(func(ctx context.Context, admin cluster, _ []string) (result, error) {
			found, err := admin.ListGroups(ctx, states...)
			rows := groupRows{}
			for _, g := range found.Sorted() {
				rows = append(rows, groupRow{g.Group, g.GroupType, g.ProtocolType, g.State})
			}
			return rows, err
		})}
	c.Flags().StringSliceVar(&states, "state", nil, "only groups in these states, such as Stable,Empty")
	return c
}

// groupFull is a group in full.
type groupFull struct {
	Group        string      `json:"group"`
	State        string      `json:"state"`
	ProtocolType string      `json:"protocol_type"`
	Protocol     string      `json:"protocol"`
	Members      []memberRow `json:"members"`
	Offsets      []lagRow    `json:"offsets"`
	Lag          int64       `json:"lag"` // of all partitions where it is known
}

type memberRow struct {
	Member   string   `json:"member"`
	Instance string   `json:"instance,omitempty"`
	Client   string   `json:"client"`
	Host     string   `json:"host"`
	Assigned []string `json:"assigned"` // topic/partition
}

type lagRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"` // −1: nothing
	Start     int64  `json:"start"`     // −1: unknown
	End       int64  `json:"end"`       // −1: unknown
	Lag       int64  `json:"lag"`       // −1: unknown
	Member    string `json:"member,omitempty"`
	Error     string `json:"error,omitempty"`
}

type groupsFull []groupFull

func (all groupsFull) table(t *table) {
	for i, g := range all {
		if i > 0 {
			t.gap()
		}
		t.row("group", g.Group)
		t.row("state", g.State)
		t.row("protocol", strings.Trim(g.ProtocolType+"/"+g.Protocol, "/"))
		t.row("lag", g.Lag)
		if len(g.Members) > 0 {
			t.row("MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED")
			for _, m := range g.Members {
				t.row(m.Member, m.Instance, m.Client, m.Host, strings.Join(m.Assigned, " "))
			}
		}
		if len(g.Offsets) > 0 {
			t.row("TOPIC", "PARTITION", "COMMITTED", "START", "END", "LAG", "MEMBER")
			for _, l := range g.Offsets {
				t.row(l.Topic, l.Partition, number(l.Committed), number(l.Start), number(l.End), number(l.Lag), l.Member)
			}
		}
	}
}

func groupsDescribe(o *options) *cobra.Command {
	all := false
	c := &cobra.Command{Use: "describe GROUP...", Short: "show state, members, committed offsets and lag of groups"}
	c.Args = func(c *cobra.Command, args []string) error {
		if all {
			return none(c, args)
		}
		return named("group, or --all")(c, args)
	}
	c.RunE = o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
		if all {
			found, err := admin.ListGroups(ctx)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return groupsFull{}, nil
			}
			args = found.Groups()
		}
		lags, err := admin.Lag(ctx, args...)
		if err != nil {
			return nil, err
		}
		full, failed := groupsFull{}, error(nil)
		for _, g := range lags.Sorted() {
			if gone(g) {
				g = leftBehind(ctx, admin, g)
			}
			if err := cmp.Or(g.DescribeErr, g.FetchErr); err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", g.Group, plain(err)))
				continue
			}
			full = append(full, describe(g))
		}
		return full, failed
	})
	c.Flags().BoolVar(&all, "all", false, "all groups")
	return c
}

// gone tells that the coordinator does not know a group.
func gone(g kadm.DescribedGroupLag) bool {
	return errors.Is(g.DescribeErr, kerr.GroupIDNotFound) || g.DescribeErr == nil && g.State == "Dead"
}

// leftBehind adds to a group that the coordinator does not know what was committed
// in its name: that is all a stopped consumer leaves where groups go with their
// members. Without any the group is not found.
func leftBehind(ctx context.Context, admin cluster, g kadm.DescribedGroupLag) kadm.DescribedGroupLag {
	committed, err := admin.FetchOffsets(ctx, g.Group)
	if err != nil || len(committed) == 0 {
		g.DescribeErr, g.FetchErr = kerr.GroupIDNotFound, err
		return g
	}
	starts, ends, err := bounds(ctx, admin, committed.Partitions().Topics())
	if err != nil {
		g.DescribeErr = err
		return g
	}
	g.DescribeErr, g.State = nil, noMembers
	g.Lag = kadm.CalculateGroupLagWithStartOffsets(kadm.DescribedGroup{Group: g.Group, State: "Empty"}, committed, starts, ends)
	return g
}

// noMembers is the state of a group that only its offsets are left of.
const noMembers = "no members"

func describe(g kadm.DescribedGroupLag) groupFull {
	full := groupFull{
		Group: g.Group, State: g.State, ProtocolType: g.ProtocolType, Protocol: g.Protocol,
		Members: []memberRow{}, Offsets: []lagRow{},
	}
	for _, m := range g.Members {
		row := memberRow{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost, Assigned: []string{}}
		if m.InstanceID != nil {
			row.Instance = *m.InstanceID
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range assigned.Topics {
				for _, p := range topic.Partitions {
					row.Assigned = append(row.Assigned, fmt.Sprintf("%s/%d", topic.Topic, p))
				}
			}
		}
		full.Members = append(full.Members, row)
	}
	for _, l := range g.Lag.Sorted() {
		row := lagRow{Topic: l.Topic, Partition: l.Partition, Committed: l.Commit.At, Start: -1, End: -1, Lag: l.Lag}
		if l.Start.Err == nil {
			row.Start = l.Start.Offset
		}
		if l.End.Err == nil {
			row.End = l.End.Offset
		}
		if l.Member != nil {
			row.Member = l.Member.MemberID
		}
		if l.Err != nil {
			row.Error = plain(l.Err).Error()
		}
		full.Lag += max(l.Lag, 0)
		full.Offsets = append(full.Offsets, row)
	}
	return full
}

func groupsDelete(o *options) *cobra.Command {
	return &cobra.Command{Use: "delete GROUP...", Short: "delete groups without members, and what they committed", Args: named("group"),
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			answers, err := admin.DeleteGroups(ctx, args...)
			if err != nil {
				return nil, err
			}
			var d done
			for _, answer := range answers.Sorted() {
				d.note(answer.Group, "deleted", because(answer.Err, answer.ErrMessage))
			}
			return d.outcome()
		})}
}

func groupsForget(o *options) *cobra.Command {
	var from []string
	c := &cobra.Command{Use: "forget GROUP --topic TOPIC", Short: "delete what a group committed for topics", Args: one("group"),
		RunE: o.does(func(ctx context.Context, admin cluster, args []string) (result, error) {
			if len(from) == 0 {
				return nil, UsageError{errors.New("groups forget needs --topic")}
			}
			committed, err := admin.FetchOffsets(ctx, args[0])
			if err != nil {
				return nil, err
			}
			chosen, err := choose(from, func(topic string) (partitions []int32) {
				for p := range committed[topic] {
					partitions = append(partitions, p)
				}
				return partitions
			})
			if err != nil {
				return nil, err
			}
			answers, err := admin.DeleteOffsets(ctx, args[0], chosen)
			if err != nil {
				return nil, err
			}
			var d done
			for _, topic := range chosen.Sorted() {
				if len(topic.Partitions) == 0 {
					d.note(topic.Topic, "nothing was committed", nil)
				}
				for _, p := range topic.Partitions {
					failed, _ := answers.Lookup(topic.Topic, p)
					d.note(fmt.Sprintf("%s/%d", topic.Topic, p), "forgotten", failed)
				}
			}
			return d.outcome()
		})}
	c.Flags().StringArrayVarP(&from, "topic", "t", nil, "TOPIC, or TOPIC:0,1,2 for some partitions; may be repeated")
	return c
}
