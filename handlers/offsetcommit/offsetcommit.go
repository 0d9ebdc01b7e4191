// Package offsetcommit answers OffsetCommit (key 8), versions 2 to 10: it
// stores how far a group has read.
//
// KIP-211 (v5 drops the retention time, which is ignored below), KIP-320 (v6:
// leader epoch, stored), KIP-345 (v7: instance ids), KIP-848 (v10: topics by
// id). Members of classic groups are checked against the coordinator; a commit
// with a negative generation comes from outside the group and is accepted as
// long as the group has no members. Offsets stay until their topic, their group
// or they themselves are deleted; whether they expire is the coordinator's choice.
//
// # Atomicity
//
// The accepted partitions of a request are stored in one step, so after a
// failure there are all of them or none, and all get the same code.
package offsetcommit

import (
	"context"
	"math"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// partitionMemory is what a partition takes while it is worked on, beside its
// request and texts, in bytes.
const partitionMemory = 128

// textCopies is how often the group's name, for each partition, and metadata are in
// memory while a commit is stored: in what is written, as it grows, and in the log and
// the table that it is written to.
const textCopies = 4

// Store is the part of a backend that the handler needs.
type Store interface {
	backend.Topics
	backend.Offsets
}

// New returns the handler over the given coordinator and store. A body that
// does not decode closes the connection: codes are per partition, and one that
// is left out reads as committed.
func New(groups coordinator.CommitChecker, store Store, limits settings.Offsets) handler.Handler {
	return handler.New(2, 10, shape, handler.CloseConnection, committer{groups, store, limits}.commit, handler.Authorizes(
		handler.Check{
			Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeGroup, Of: "the group",
			Code: kerr.GroupAuthorizationFailed.Code,
		},
		topicadmin.TopicCheck(kmsg.ACLOperationRead),
	))
}

type committer struct {
	groups coordinator.CommitChecker
	store  Store
	limits settings.Offsets
}

// commit makes the checks in this order: group id, topic and partition, each with the right to it, group
// membership, metadata. Each refuses what it finds and leaves the rest.
func (c committer) commit(ctx context.Context, call handler.Call, req *kmsg.OffsetCommitRequest) (*kmsg.OffsetCommitResponse, error) {
	resp, partitions := outline(req)
	if err := call.Reserve(ctx, cost(req, partitions)); err != nil {
		return nil, err
	}
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup, req.Group) {
		refuseAll(resp, kerr.GroupAuthorizationFailed.Code)
		return resp, nil
	}
	if len(req.Group) > math.MaxInt16 {
		refuseAll(resp, kerr.InvalidGroupID.Code)
		return resp, nil
	}
	b := c.resolve(ctx, call, req, resp, partitions)
	if len(b.commits) == 0 {
		return resp, nil // as Kafka, which does not ask the group either
	}
	if code := c.groups.CheckCommit(ctx, coordinator.HeartbeatRequest{
		Group:      req.Group,
		MemberID:   req.MemberID,
		InstanceID: req.InstanceID,
		Generation: req.Generation,
	}); code != coordinator.None {
		b.refuse(int16(code))
		return resp, nil
	}
	b.keep(func(commit *backend.Commit) bool { return fits(commit.Metadata, c.limits.MetadataMax) },
		kerr.OffsetMetadataTooLarge.Code)
	if len(b.commits) > 0 {
		if err := c.store.CommitOffsets(ctx, req.Group, b.commits); err != nil {
			b.refuse(errcode.Offsets(err))
		}
	}
	return resp, nil
}

// fits reports whether metadata may be stored: at most max UTF-16 units, which
// is how Kafka counts, and short enough to be read back at OffsetFetch v1–5,
// whose strings have a length of 16 bits.
func fits(metadata string, max int) bool {
	switch {
	case len(metadata) > math.MaxInt16:
		return false
	case len(metadata) <= max: // no rune has more units than bytes
		return true
	}
	units := 0
	for _, r := range metadata {
		units += utf16.RuneLen(r)
	}
	return units <= max
}
