package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggykafka/gateway/internal/rawclient"
)

const (
	sessionMillis = 60_000
	readTimes     = 15 // answers of ListGroups and DescribeGroups; the median counts
)

// manyGroups creates groups of one member, then lists and describes them all.
func manyGroups(ctx context.Context, t *target, o options, put sink) error {
	ids := make([]string, o.groups)
	for i := range ids {
		ids[i] = fmt.Sprintf("bench-%d-%d", time.Now().Unix(), i)
	}
	members := make([]*member, len(ids))
	begin := time.Now()
	err := shared(ctx, t, len(ids), func(c *rawclient.Conn, i int) error {
		members[i] = &member{Conn: c, group: ids[i]}
		return members[i].settle()
	})
	if err != nil {
		return err
	}
	put(fmt.Sprintf("%d groups to Stable", o.groups), "s", time.Since(begin).Seconds())
	if err := readGroups(t, o, ids, put); err != nil {
		return err
	}
	// The next round must not find these groups.
	err = shared(ctx, t, len(ids), func(c *rawclient.Conn, i int) error {
		members[i].Conn = c
		return members[i].leave()
	})
	if err != nil {
		return err
	}
	return deleteGroups(ctx, t, ids)
}

// shared runs a step for 0..n−1 over a few connections.
func shared(ctx context.Context, t *target, n int, step func(c *rawclient.Conn, i int) error) error {
	work, _ := errgroup.WithContext(ctx)
	const connections = 16
	for first := range connections {
		work.Go(func() error {
			c, err := t.dial()
			if err != nil {
				return err
			}
			defer c.Close()
			for i := first; i < n; i += connections {
				if err := step(c, i); err != nil {
					return fmt.Errorf("%d of %d: %w", i, n, err)
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// readGroups measures ListGroups and DescribeGroups of all groups.
func readGroups(t *target, o options, ids []string, put sink) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	list := kmsg.NewPtrListGroupsRequest()
	list.Version = 4
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Version, describe.Groups = 5, ids
	for _, req := range []kmsg.Request{list, describe} {
		var ms []float64
		for round := range readTimes {
			begin := time.Now()
			if err := c.Send(req); err != nil {
				return err
			}
			frame, err := c.ReadFrame()
			if err != nil {
				return err
			}
			// Decoding is the client's work, and its garbage would be in the way
			// of what follows: only the first answer is looked at.
			if ms = append(ms, time.Since(begin).Seconds()*1e3); round > 0 {
				continue
			}
			resp, err := c.Decode(req, frame)
			if err != nil {
				return err
			}
			if n := groupsIn(resp); n < len(ids) {
				return fmt.Errorf("%s shows %d of %d groups", kmsg.NameForKey(req.Key()), n, len(ids))
			}
		}
		put(fmt.Sprintf("%s of %d groups", kmsg.NameForKey(req.Key()), o.groups), "ms", median(ms))
	}
	return nil
}

// deleteGroups removes groups without members where the server keeps them, which
// one that does not serve DeleteGroups does not.
func deleteGroups(ctx context.Context, t *target, ids []string) error {
	cl, err := t.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	versions, err := kadm.NewClient(cl).ApiVersions(ctx)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if _, _, served := v.KeyVersions(kmsg.DeleteGroups.Int16()); !served {
			return nil
		}
	}
	_, err = kadm.NewClient(cl).DeleteGroups(ctx, ids...)
	return err
}

// groupsIn counts the live groups in an answer.
func groupsIn(resp kmsg.Response) int {
	switch r := resp.(type) {
	case *kmsg.ListGroupsResponse:
		return len(r.Groups)
	case *kmsg.DescribeGroupsResponse:
		n := 0
		for _, g := range r.Groups {
			if g.State == "Stable" {
				n++
			}
		}
		return n
	}
	return 0
}

// rebalance measures the time from the first Join of a new group's members to
// the last one's assignment. It includes the server's initial rebalance delay.
func rebalance(ctx context.Context, t *target, o options, put sink) error {
	for _, n := range o.members {
		group := fmt.Sprintf("bench-rebalance-%d", time.Now().UnixNano())
		members := make([]*member, n)
		for i := range members {
			c, err := t.dial()
			if err != nil {
				return err
			}
			defer c.Close()
			members[i] = &member{Conn: c, group: group}
		}
		begin := time.Now()
		work, _ := errgroup.WithContext(ctx)
		for _, m := range members {
			work.Go(func() error { return m.settleAmong(n) })
		}
		if err := work.Wait(); err != nil {
			return fmt.Errorf("%d members: %w", n, err)
		}
		put(fmt.Sprintf("%d members to Stable", n), "s", time.Since(begin).Seconds())
	}
	return nil
}

// member is one consumer in its own words.
type member struct {
	*rawclient.Conn
	group, id  string
	generation int32 // that it is in
	session    int32 // timeout in ms; 0: sessionMillis
}

var errAgain = errors.New("join again")

// settle joins and syncs until the member is in a Stable group of any size.
func (m *member) settle() error { return m.settleAmong(1) }

// settleAmong joins and syncs until the group is Stable with n members at
// least. A rebalance in between is answered by joining again, as clients do.
func (m *member) settleAmong(n int) error {
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
		err := m.once(n)
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return errors.New("not Stable after two minutes")
}

func (m *member) once(n int) error {
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.MemberID = 5, m.group, m.id
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = cmp.Or(m.session, sessionMillis), sessionMillis
	join.ProtocolType = "consumer"
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription()}}
	resp, err := m.Call(join)
	if err != nil {
		return err
	}
	joined := resp.(*kmsg.JoinGroupResponse)
	switch joined.ErrorCode {
	case 0:
	case kerr.MemberIDRequired.Code:
		m.id = joined.MemberID
		return errAgain
	case kerr.RebalanceInProgress.Code:
		return errAgain
	default:
		return kerr.ErrorForCode(joined.ErrorCode)
	}
	m.id, m.generation = joined.MemberID, joined.Generation
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, m.group, m.id, joined.Generation
	for _, other := range joined.Members {
		sync.GroupAssignment = append(sync.GroupAssignment,
			kmsg.SyncGroupRequestGroupAssignment{MemberID: other.MemberID, MemberAssignment: assignmentFor(len(joined.Members))})
	}
	if resp, err = m.Call(sync); err != nil {
		return err
	}
	synced := resp.(*kmsg.SyncGroupResponse)
	switch {
	case synced.ErrorCode == kerr.RebalanceInProgress.Code:
		return errAgain
	case synced.ErrorCode != 0:
		return kerr.ErrorForCode(synced.ErrorCode)
	case sizeIn(synced.MemberAssignment) >= n:
		return nil
	}
	return m.awaitRebalance(joined.Generation)
}

// leave leaves the group.
func (m *member) leave() error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, m.id
	resp, err := m.Call(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.LeaveGroupResponse).ErrorCode)
}

// awaitRebalance heartbeats until somebody else joins.
func (m *member) awaitRebalance(generation int32) error {
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.Generation = 3, m.group, m.id, generation
	for {
		resp, err := m.Call(beat)
		if err != nil {
			return err
		}
		switch code := resp.(*kmsg.HeartbeatResponse).ErrorCode; code {
		case 0:
			time.Sleep(5 * time.Millisecond)
		case kerr.RebalanceInProgress.Code:
			return errAgain
		default:
			return kerr.ErrorForCode(code)
		}
	}
}

// The assignment tells each member how large the group is, which is all that a
// member of this measurement has to know. It is one that tools can read.
func assignmentFor(members int) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.UserData = []byte(strconv.Itoa(members))
	return a.AppendTo(nil)
}

func sizeIn(assignment []byte) int {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(assignment) != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(a.UserData))
	return n
}

// subscription is what members join with, to no topic.
func subscription() []byte {
	s := kmsg.NewConsumerMemberMetadata()
	return s.AppendTo(nil)
}
