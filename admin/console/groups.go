package console

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
)

type groupsPage struct {
	Name   string            // the filter
	State  coordinator.State // the filter; "" for all
	States []coordinator.State
	All    int
	Groups []groupRow
	Pager  pager
}

type groupRow struct {
	coordinator.Listing
	Type    string
	Members int
	Lag     lag
	Share   float64 // of the largest lag on the page
}

// lag is the sum of what a group has still to read.
type lag struct {
	Sum        int64
	Partitions int // with a committed offset
	// Left counts partitions that are not in the sum, because there are more of
	// them than a page looks at.
	Left int
}

func (c *Console) groups(ctx context.Context, r *http.Request) (any, error) {
	all, err := c.allGroups(ctx)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	p := groupsPage{
		Name: strings.TrimSpace(query.Get("name")), State: coordinator.State(query.Get("state")), States: states, All: len(all),
	}
	found := slices.DeleteFunc(all, func(l coordinator.Listing) bool {
		return !contains(l.Group, p.Name) || p.State != "" && l.State != p.State
	})
	p.Pager = paged(r, "groups", "page", len(found), pageSize)
	found = found[p.Pager.From:p.Pager.To]
	members, err := c.members(ctx, found)
	if err != nil {
		return nil, err
	}
	lags, err := c.lags(ctx, found)
	if err != nil {
		return nil, err
	}
	var largest int64 = 1
	for i, l := range found {
		row := groupRow{Listing: l, Members: members[l.Group], Lag: lags[i]}
		if l.State != offsetsOnly {
			row.Type = coordinator.TypeClassic
		}
		largest = max(largest, row.Lag.Sum)
		p.Groups = append(p.Groups, row)
	}
	for i := range p.Groups {
		p.Groups[i].Share = float64(p.Groups[i].Lag.Sum) / float64(largest)
	}
	return p, nil
}

// allGroups returns the groups that the coordinator has, and those that have only
// committed offsets, sorted by name.
func (c *Console) allGroups(ctx context.Context) ([]coordinator.Listing, error) {
	committed, err := c.Store.OffsetGroups(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(c.Groups.List(ctx, coordinator.Filter{}))
	known := make(map[string]bool, len(all))
	for _, l := range all {
		known[l.Group] = true
	}
	for _, name := range committed {
		if !known[name] {
			all = append(all, coordinator.Listing{Group: name, State: offsetsOnly})
		}
	}
	slices.SortFunc(all, func(a, b coordinator.Listing) int { return strings.Compare(a.Group, b.Group) })
	return all, nil
}

// errPriced ends a Describe after the prices, before anything is copied.
var errPriced = errors.New("priced")

// members counts the members of groups, by name. It asks for the price of their
// descriptions, not for the descriptions.
func (c *Console) members(ctx context.Context, groups []coordinator.Listing) (map[string]int, error) {
	var ids []string
	for _, l := range groups {
		if l.State != offsetsOnly {
			ids = append(ids, l.Group)
		}
	}
	counts := make(map[string]int, len(ids))
	if ids == nil {
		return counts, nil
	}
	_, err := c.Groups.Describe(ctx, ids, coordinator.Bill{
		Limit:   math.MaxInt64,
		Price:   func(l coordinator.Lengths) int64 { counts[l.Group] = l.Members; return 1 },
		Reserve: func(context.Context, int64) error { return errPriced },
	})
	if err != nil && !errors.Is(err, errPriced) {
		return nil, err
	}
	return counts, nil
}

// lags sums up the lag of each group, over maxBounds partitions in all. One group
// after the other, so that the offsets of one are held at a time.
func (c *Console) lags(ctx context.Context, groups []coordinator.Listing) ([]lag, error) {
	e := newEnds(c.Store)
	out := make([]lag, len(groups))
	for i, g := range groups {
		commits, err := c.Store.FetchOffsets(ctx, g.Group, nil)
		if err == nil {
			err = e.learn(ctx, slices.Collect(maps.Keys(commits)))
		}
		if err != nil {
			return nil, err
		}
		out[i] = sum(e, commits)
	}
	return out, nil
}

func sum(e *ends, commits map[backend.Partition]backend.CommittedOffset) lag {
	l := lag{Partitions: len(commits)}
	for p, commit := range commits {
		if n, ok := e.lag(p, commit.Offset); ok {
			l.Sum += n
		} else if !e.asked(p) {
			l.Left++
		}
	}
	return l
}
