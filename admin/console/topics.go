package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

type topicsPage struct {
	Name   string // the filter
	All    int    // topics there are
	Topics []topicRow
	Pager  pager
}

type topicRow struct {
	Name       string
	Partitions int32
	Bytes      int64
	Share      float64 // of the largest topic on the page
	Retention  string
	Cleanup    string
}

func (c *Console) topics(ctx context.Context, r *http.Request) (any, error) {
	all, err := c.Store.AllTopics(ctx)
	if err != nil {
		return nil, err
	}
	p := topicsPage{Name: strings.TrimSpace(r.URL.Query().Get("name")), All: len(all)}
	found := all
	if p.Name != "" {
		found = slices.DeleteFunc(slices.Clone(all), func(t backend.Topic) bool { return !contains(t.Name, p.Name) })
	}
	p.Pager = paged(r, "topics", "page", len(found), pageSize)
	found = found[p.Pager.From:p.Pager.To]
	ids := make([]uuid.UUID, len(found))
	for i, t := range found {
		ids[i] = t.ID
	}
	bytes, err := sizes(ctx, c.Store, ids)
	if err != nil {
		return nil, err
	}
	for i, t := range found {
		row := topicRow{Name: t.Name, Partitions: t.Partitions, Bytes: bytes[i], Retention: retention(t.Config), Cleanup: cleanup(t.Config)}
		row.Share = float64(bytes[i]) / float64(max(slices.Max(bytes), 1))
		p.Topics = append(p.Topics, row)
	}
	return p, nil
}

// contains is what a filter by name means.
func contains(name, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(name), strings.ToLower(part))
}

// retention writes how long, and how much, a topic keeps.
func retention(c topicconfig.Config) string {
	if !c.Delete {
		return "for ever"
	}
	var limits []string
	if c.RetentionMs >= 0 {
		limits = append(limits, days(time.Duration(min(c.RetentionMs, int64(1<<63-1)/int64(time.Millisecond)))*time.Millisecond))
	}
	if c.RetentionBytes >= 0 {
		limits = append(limits, size(c.RetentionBytes)+" a partition")
	}
	if limits == nil {
		return "for ever"
	}
	return strings.Join(limits, ", ")
}

// days writes a duration in its largest whole unit: "7 days", "90 minutes".
func days(d time.Duration) string {
	for _, u := range []struct {
		of        time.Duration
		one, many string
	}{{24 * time.Hour, "day", "days"}, {time.Hour, "hour", "hours"}, {time.Minute, "minute", "minutes"}, {time.Second, "second", "seconds"}} {
		if d >= u.of && d%u.of == 0 {
			return plural(int64(d/u.of), u.one, u.many)
		}
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func cleanup(c topicconfig.Config) string {
	switch {
	case c.Compact && c.Delete:
		return "compact, delete"
	case c.Compact:
		return "compact"
	}
	return "delete"
}

type topicPage struct {
	Name       string
	ID         string
	Partitions int32
	Bytes      int64
	Records    int64 // offsets between start and end, of the partitions shown
	Rows       []partitionRow
	Pager      pager
	Configs    []configRow
	// Groups that have committed on the partitions shown. Of AllGroups groups
	// Asked were looked at.
	Groups           []string
	MoreGroups       int // found, and not listed
	Asked, AllGroups int
}

type partitionRow struct {
	Index             int32
	Start, End, Bytes int64
	Gone              bool
	Share             float64 // of the largest shown
}

type configRow struct {
	Name, Value, Source, Documentation string
	Own                                bool // set on the topic
}

func (c *Console) topic(ctx context.Context, r *http.Request) (any, error) {
	t, err := c.Store.Topic(ctx, r.URL.Query().Get("name"))
	if err != nil {
		return nil, err
	}
	p := topicPage{Name: t.Name, ID: t.ID.String(), Partitions: t.Partitions, Configs: c.configs(t)}
	p.Pager = paged(r, "partitions", "page", int(t.Partitions), longPageSize)
	bytes, err := c.Store.Sizes(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	for _, n := range bytes {
		p.Bytes += n
	}
	var shown []backend.Partition
	for i := p.Pager.From; i < p.Pager.To; i++ {
		shown = append(shown, backend.Partition{Topic: t.ID, Index: int32(i)})
	}
	e := newEnds(c.Store)
	if err := e.learn(ctx, shown); err != nil {
		return nil, err
	}
	var largest int64 = 1
	for _, s := range shown {
		row := partitionRow{Index: s.Index, Bytes: -1, Gone: e.known[s] == nil}
		if b := e.known[s]; b != nil {
			row.Start, row.End = b.Start, b.End
			p.Records += b.End - b.Start
		}
		if int(s.Index) < len(bytes) {
			row.Bytes = bytes[s.Index]
		}
		largest = max(largest, row.Bytes)
		p.Rows = append(p.Rows, row)
	}
	for i := range p.Rows {
		p.Rows[i].Share = float64(p.Rows[i].Bytes) / float64(largest)
	}
	return p, c.committed(ctx, &p, shown)
}

// committed finds the groups that have committed on the partitions, as far as
// maxLookups goes.
func (c *Console) committed(ctx context.Context, p *topicPage, shown []backend.Partition) error {
	groups, err := c.Store.OffsetGroups(ctx)
	if err != nil {
		return err
	}
	p.AllGroups = len(groups)
	p.Asked = min(len(groups), maxLookups/max(len(shown), 1))
	has := make([]bool, p.Asked)
	err = each(ctx, p.Asked, func(ctx context.Context, i int) error {
		found, err := c.Store.FetchOffsets(ctx, groups[i], shown)
		has[i] = len(found) > 0
		return err
	})
	for i, ok := range has {
		switch {
		case ok && len(p.Groups) < shownGroups:
			p.Groups = append(p.Groups, groups[i])
		case ok:
			p.MoreGroups++
		}
	}
	return err
}

// configs returns what is set on the topic first, then the rest, by name.
func (c *Console) configs(t backend.Topic) []configRow {
	var rows []configRow
	for _, e := range c.Catalog.Entries(t.Overrides) {
		rows = append(rows, configRow{
			Name: e.Name, Value: e.Value, Source: source(e.Source), Documentation: e.Documentation,
			Own: e.Source == kmsg.ConfigSourceDynamicTopicConfig,
		})
	}
	slices.SortStableFunc(rows, func(a, b configRow) int {
		return cmp.Or(-cmp.Compare(strconv.FormatBool(a.Own), strconv.FormatBool(b.Own)), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

func source(s kmsg.ConfigSource) string {
	switch s {
	case kmsg.ConfigSourceDynamicTopicConfig:
		return "this topic"
	case kmsg.ConfigSourceStaticBrokerConfig:
		return "gateway's configuration"
	case kmsg.ConfigSourceDefaultConfig:
		return "default"
	}
	return strings.ToLower(s.String())
}
