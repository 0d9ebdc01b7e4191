package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/internal/rawclient"
)

const (
	listTimes      = 50 // answers of ListGroups
	describeTimes  = 5  // of requests about all groups at once
	keptMillis     = 20 * 60_000
	keptPartitions = 1 // that each group commits an offset of
)

// keptGroups fills a server with groups that committed an offset and were left by
// their member, and some whose member stays, and reads them as tools do. With a
// command the server is started here, and again with all groups.
func keptGroups(ctx context.Context, t *target, o options, put sink) error {
	server, err := t.launch(ctx)
	if err != nil {
		return err
	}
	defer func() { server.stop() }()
	t.find()
	topic, drop, err := freshTopic(ctx, t, keptPartitions)
	if err != nil {
		return err
	}
	defer drop()
	k := &kept{target: t, rest: o.rest, topic: topic, empty: o.groups, ids: make([]string, o.groups+o.live)}
	stamp := time.Now().Unix()
	for i := range k.ids {
		k.ids[i] = fmt.Sprintf("bench-%d-%05d", stamp, i)
	}
	k.members = make([]*member, len(k.ids))
	if err := k.fill(ctx, put); err != nil {
		return err
	}
	if err := k.read(ctx, put); err != nil {
		return err
	}
	if server != nil {
		server.stop()
		begin := time.Now()
		if server, err = t.launch(ctx); err != nil {
			return err
		}
		t.find()
		if err := k.await(ctx); err != nil {
			return err
		}
		put(fmt.Sprintf("start to ListGroups of %d groups", len(k.ids)), "s", time.Since(begin).Seconds())
		k.forgot = k.shown < len(k.ids)
		put("resident after the start", "MB", float64(t.settled(o.rest))/1e6)
	}
	return k.remove(ctx, put)
}

// kept is what the measurement of that name has made.
type kept struct {
	*target
	rest    time.Duration
	topic   string
	ids     []string // the empty groups, then the live ones
	empty   int
	members []*member
	shown   int  // by ListGroups; a server that keeps no empty groups shows the live ones
	forgot  bool // the live ones are gone with their server
}

// fill makes the groups: each joins, syncs and commits; the empty ones are left.
func (k *kept) fill(ctx context.Context, put sink) error {
	before, begin := k.settled(k.rest), time.Now()
	fresh := func(first, n int) error {
		return shared(ctx, k.target, n, func(c *rawclient.Conn, i int) error {
			i += first
			m := &member{Conn: c, group: k.ids[i], session: keptMillis}
			k.members[i] = m
			if err := errors.Join(m.settle(), m.commit(k.topic, int64(i))); err != nil || i >= k.empty {
				return err
			}
			return m.leave()
		})
	}
	if err := fresh(0, k.empty); err != nil {
		return err
	}
	put(fmt.Sprintf("%d groups to Empty", k.empty), "s", time.Since(begin).Seconds())
	if k.pid != 0 && k.empty > 0 {
		put("resident for each empty group", "B", float64(k.settled(k.rest)-before)/float64(k.empty))
	}
	return fresh(k.empty, len(k.ids)-k.empty)
}

// read measures what tools ask.
func (k *kept) read(ctx context.Context, put sink) error {
	list := kmsg.NewPtrListGroupsRequest()
	list.Version = 5
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Version, describe.Groups = 5, k.ids
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version = 8
	for _, id := range k.ids {
		fetch.Groups = append(fetch.Groups, kmsg.OffsetFetchRequestGroup{Group: id})
	}
	for _, r := range []struct {
		req   kmsg.Request
		times int
		check func(kmsg.Response) error
	}{
		{list, listTimes, k.listed},
		{describe, describeTimes, k.described},
		{fetch, describeTimes, k.fetched},
	} {
		if err := k.ask(ctx, r.req, r.times, r.check, put); err != nil {
			return fmt.Errorf("%s: %w", kmsg.NameForKey(r.req.Key()), err)
		}
	}
	return nil
}

// ask measures answers to a request until their last byte. The first one warms
// up, and is checked.
func (k *kept) ask(ctx context.Context, req kmsg.Request, times int, check func(kmsg.Response) error, put sink) error {
	c, err := k.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	resp, err := c.Call(req)
	if err != nil {
		return err
	}
	if err := check(resp); err != nil {
		return err
	}
	cpu := k.cpu()
	var ms []float64
	for range times {
		begin := time.Now()
		if err := c.Send(req); err != nil {
			return err
		}
		if _, err := c.ReadFrame(); err != nil {
			return err
		}
		ms = append(ms, time.Since(begin).Seconds()*1e3)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	label := fmt.Sprintf("%s of %d groups", kmsg.NameForKey(req.Key()), len(k.ids))
	put(label+" p50", "ms", median(ms))
	put(label+" p99", "ms", percentile(ms, 0.99))
	if k.pid != 0 {
		put(label+" server CPU", "ms", float64((k.cpu()-cpu).Milliseconds())/float64(times))
	}
	return nil
}

// listed accepts an answer that shows every group, or all that are live.
func (k *kept) listed(resp kmsg.Response) error {
	states := map[string]int{}
	for _, g := range resp.(*kmsg.ListGroupsResponse).Groups {
		states[g.GroupState]++
	}
	if live := len(k.ids) - k.empty; states["Stable"] < live || states["Empty"] > 0 && states["Empty"] < k.empty {
		return fmt.Errorf("it shows %v of %d empty and %d live groups", states, k.empty, live)
	}
	k.shown = states["Stable"] + states["Empty"]
	return nil
}

func (k *kept) described(resp kmsg.Response) error {
	groups := resp.(*kmsg.DescribeGroupsResponse).Groups
	if len(groups) != len(k.ids) {
		return fmt.Errorf("it shows %d of %d groups", len(groups), len(k.ids))
	}
	for _, g := range groups {
		if g.ErrorCode != 0 {
			return fmt.Errorf("group %q: %w", g.Group, kerr.ErrorForCode(g.ErrorCode))
		}
	}
	return nil
}

// fetched accepts an answer that has the offset which each group committed.
func (k *kept) fetched(resp kmsg.Response) error {
	groups := resp.(*kmsg.OffsetFetchResponse).Groups
	if len(groups) != len(k.ids) {
		return fmt.Errorf("it shows %d of %d groups", len(groups), len(k.ids))
	}
	for i, g := range groups {
		if len(g.Topics) != 1 || len(g.Topics[0].Partitions) != 1 || g.Topics[0].Partitions[0].Offset != int64(i) {
			return fmt.Errorf("group %q: not the offset that it committed", g.Group)
		}
	}
	return nil
}

// await waits until a server that started lists what it listed before, as far as
// it keeps groups.
func (k *kept) await(ctx context.Context) error {
	c, err := k.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	list := kmsg.NewPtrListGroupsRequest()
	list.Version = 5
	want := k.shown
	if want < len(k.ids) {
		want = 0 // it forgets the live ones as well
	}
	for ctx.Err() == nil {
		resp, err := c.Call(list)
		if err != nil {
			return err
		}
		if len(resp.(*kmsg.ListGroupsResponse).Groups) >= want {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// remove deletes the groups: the next round must not find them.
func (k *kept) remove(ctx context.Context, put sink) error {
	if !k.forgot {
		err := shared(ctx, k.target, len(k.ids)-k.empty, func(c *rawclient.Conn, i int) error {
			m := k.members[k.empty+i]
			m.Conn = c
			return m.leave()
		})
		if err != nil {
			return err
		}
	}
	begin := time.Now()
	if err := deleteGroups(ctx, k.target, k.ids); err != nil {
		return err
	}
	put(fmt.Sprintf("DeleteGroups of %d groups", len(k.ids)), "s", time.Since(begin).Seconds())
	return nil
}

// commit commits an offset of partition 0, as a member does.
func (m *member) commit(topic string, offset int64) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 7, m.group, m.id, m.generation
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	resp, err := m.Call(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}
