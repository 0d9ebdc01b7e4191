package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
)

type groupPage struct {
	Name                   string
	State                  coordinator.State
	Type                   string
	ProtocolType, Protocol string
	Members                int
	MemberRows             []memberRow
	MemberPager            pager
	Lag                    lag
	Offsets                []offsetRow
	OffsetPager            pager
	History                []coordinator.Rebalance // newest first
}

type memberRow struct {
	ID, Client, Host string
	Instance         *string
	Topics           []string // subscribed to
	Assigned         assigned
}

type offsetRow struct {
	Topic     string // "" when it is gone
	Partition int32
	Offset    int64
	End       int64
	Lag       int64
	Known     bool // End and Lag are
	Share     float64
	Metadata  string
	At        time.Time
}

// describeLimit is how many members and bytes of one group are held while its
// page is made, in bytes.
const describeLimit = 64 << 20

func (c *Console) group(ctx context.Context, r *http.Request) (any, error) {
	if !r.URL.Query().Has("name") {
		return nil, &missing{"The address names no group."}
	}
	name := r.URL.Query().Get("name")
	commits, err := c.Store.FetchOffsets(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	found, err := c.Groups.Describe(ctx, []string{name}, coordinator.Bill{Limit: describeLimit, Price: heldBytes})
	if err != nil {
		return nil, err
	}
	p := groupPage{Name: name, State: coordinator.Dead}
	if len(found) > 0 {
		d := found[0]
		p.State, p.ProtocolType, p.Protocol, p.Members = d.State, d.ProtocolType, d.Protocol, len(d.Members)
		p.MemberPager = paged(r, "members", "members", len(d.Members), longPageSize)
		p.MemberRows = memberRows(d, p.MemberPager)
	}
	switch {
	case p.State != coordinator.Dead:
		p.Type = coordinator.TypeClassic
	case len(commits) == 0:
		return nil, &missing{"There is no such group, and nothing was committed in its name."}
	default:
		p.State = offsetsOnly
	}
	p.History = slices.Clone(c.Groups.History(ctx, name))
	slices.Reverse(p.History)
	return p, c.offsets(ctx, r, &p, commits)
}

// heldBytes prices what a description holds on to: slices of the group's own bytes
// and the structures around them.
func heldBytes(l coordinator.Lengths) int64 { return int64(l.Members) * 256 }

func memberRows(d coordinator.Description, p pager) []memberRow {
	members := slices.Clone(d.Members)
	slices.SortFunc(members, func(a, b coordinator.MemberDescription) int {
		return cmp.Or(cmp.Compare(a.ClientID, b.ClientID), cmp.Compare(a.MemberID, b.MemberID))
	})
	var rows []memberRow
	for _, m := range members[p.From:p.To] {
		rows = append(rows, memberRow{
			ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost, Instance: m.InstanceID,
			Topics: subscribed(d.ProtocolType, m.Metadata), Assigned: decode(d.ProtocolType, m.Assignment),
		})
	}
	return rows
}

// place is a partition with the name of its topic.
type place struct {
	topic     string
	partition backend.Partition
}

// offsets adds what the group has committed.
func (c *Console) offsets(ctx context.Context, r *http.Request, p *groupPage, commits map[backend.Partition]backend.CommittedOffset) error {
	topics, err := c.Store.AllTopics(ctx)
	if err != nil {
		return err
	}
	names := make(map[uuid.UUID]string, len(topics))
	for _, t := range topics {
		names[t.ID] = t.Name
	}
	places := make([]place, 0, len(commits))
	for partition := range commits {
		places = append(places, place{names[partition.Topic], partition})
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition.Index, b.partition.Index))
	})
	p.OffsetPager = paged(r, "partitions", "offsets", len(places), longPageSize)
	e := newEnds(c.Store)
	shown := places[p.OffsetPager.From:p.OffsetPager.To]
	for _, ps := range [][]place{shown, places} { // those shown come first
		asked := make([]backend.Partition, len(ps))
		for i, at := range ps {
			asked[i] = at.partition
		}
		if err := e.learn(ctx, asked); err != nil {
			return err
		}
	}
	p.Lag = sum(e, commits)
	var largest int64 = 1
	for _, at := range shown {
		commit := commits[at.partition]
		row := offsetRow{Topic: at.topic, Partition: at.partition.Index, Offset: commit.Offset, Metadata: commit.Metadata, At: commit.CommitTime}
		if row.Lag, row.Known = e.lag(at.partition, commit.Offset); row.Known {
			row.End = e.known[at.partition].End
		}
		largest = max(largest, row.Lag)
		p.Offsets = append(p.Offsets, row)
	}
	for i := range p.Offsets {
		p.Offsets[i].Share = float64(p.Offsets[i].Lag) / float64(largest)
	}
	return nil
}
